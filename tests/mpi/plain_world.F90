! plain_world.cpp, in Fortran, with each of the ways to reach MPI: WORLD_F08, WORLD_MPI, else mpif.h. All communication is
! on MPI_COMM_WORLD and what is made from there.
!
!   plain_world_f08 CONFIG OUTPUT STEPS PAUSE_MS
!   plain_world_f08 calls RANKS    looks at MPI_COMM_WORLD in other ways, and opens no session
#ifdef WORLD_F08
#define HANDLE(kind) type(kind)
#else
#define HANDLE(kind) integer
#endif
! The callbacks of the program below, and its MPI.
module plain_world_callbacks
#if defined WORLD_F08
  use mpi_f08
#elif defined WORLD_MPI
  use mpi
#endif
  implicit none
#if !defined WORLD_F08 && !defined WORLD_MPI
  include 'mpif.h'
#endif
  integer :: errors = 0, copies = 0

contains

  subroutine on_error(comm, code)
    HANDLE(MPI_Comm) :: comm
    integer :: code
    if (comm /= MPI_COMM_NULL .and. code /= MPI_SUCCESS) errors = errors + 1
  end subroutine

  subroutine on_copy(comm, keyval, extra, value, copy, flag, code)
    HANDLE(MPI_Comm) :: comm
    integer :: keyval, code
    integer(MPI_ADDRESS_KIND) :: extra, value, copy
    logical :: flag
    copies = copies + 1
    copy = value + extra
    flag = comm /= MPI_COMM_NULL .and. keyval /= MPI_KEYVAL_INVALID
    code = MPI_SUCCESS
  end subroutine

  subroutine on_delete(comm, keyval, value, extra, code)
    HANDLE(MPI_Comm) :: comm
    integer :: keyval, code, ranks
    integer(MPI_ADDRESS_KIND) :: value, extra
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
    if (comm /= MPI_COMM_NULL .and. keyval /= MPI_KEYVAL_INVALID) &
      print '(a, i0, a, i0)', 'attribute ', value + extra, ' ends among ', ranks
    flush (6)
  end subroutine

end module

program plain_world
  use, intrinsic :: iso_fortran_env, only: int32, real64
  use, intrinsic :: iso_c_binding, only: c_f_pointer, c_ptr, c_null_ptr
  use plain_world_callbacks
  use cairn
  implicit none

  integer, parameter :: kCells = 64
  type(cairn_session) :: session
  real(real64), target :: cells(kCells)
  real(real64), pointer :: inbox(:)
  integer(int32), target :: step = 0
  HANDLE(MPI_Comm) :: grid, row
  HANDLE(MPI_Win) :: window
  character(512) :: argument(4)
  integer :: ranks, rank, steps, pause_ms, code, i

  call MPI_Init(code)
  do i = 1, 4
    call get_command_argument(i, argument(i))
  end do
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  if (argument(1) == 'calls') then
    call look_at_world()
  else if (command_argument_count() < 4) then
    print '(a)', 'plain_world CONFIG OUTPUT STEPS PAUSE_MS'
  else
    call compute()
  end if
  call MPI_Finalize(code)

contains

  subroutine compute()
    read (argument(3), *) steps
    read (argument(4), *) pause_ms
    call make_world()
    cells = [(1.0_real64 / (i + rank), i=1, kCells)]
    call cairn_init(MPI_COMM_WORLD, trim(argument(1)), session, code)
    call must(code == CAIRN_OK)
    call cairn_protect(session, 'cells', cells, code)
    call cairn_protect(session, 'step', step, code)
    call cairn_restore(session, code)
    call must(code == CAIRN_OK)
    if (rank == 0) print '(i0, a, i0)', ranks, ' ranks begin at step ', step
    do while (step < steps)
      call relax()
      step = step + 1
      call cairn_snapshot(session, code)
      call must(code == CAIRN_OK)
      call pause()
      if (rank == 0 .and. mod(step, 10) == 0) print '(a, i0, a, i0)', 'step ', step, ' of ', steps
      flush (6)
    end do
    call write_cells()
    call cairn_finalize(session, code)
    call must(code == CAIRN_OK)
    call MPI_Win_free(window, code)
    call MPI_Comm_free(row, code)
    call MPI_Comm_free(grid, code)
  end subroutine

  subroutine must(good)
    logical, intent(in) :: good
    if (.not. good) call MPI_Abort(MPI_COMM_WORLD, 1, code)
  end subroutine

  subroutine pause()
    interface
      function usleep(microseconds) bind(c) result(code)
        use, intrinsic :: iso_c_binding, only: c_int
        integer(c_int), value :: microseconds
        integer(c_int) :: code
      end function
    end interface
    if (usleep(1000 * pause_ms) /= 0) return
  end subroutine

  subroutine make_world()
    integer :: lengths(2)
    integer(MPI_ADDRESS_KIND) :: bytes
#ifdef WORLD_F08
    type(c_ptr) :: base
#else
    integer(MPI_ADDRESS_KIND) :: base
#endif
    lengths = 0
    call MPI_Dims_create(ranks, 2, lengths, code)
    call MPI_Cart_create(MPI_COMM_WORLD, 2, lengths, [.true., .true.], .false., grid, code)
    call MPI_Comm_split(MPI_COMM_WORLD, rank / lengths(2), rank, row, code)
    bytes = 8 * kCells
    call MPI_Win_allocate(bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, base, window, code)
#ifdef WORLD_F08
    call c_f_pointer(base, inbox, [kCells])
#else
    call c_f_pointer(transfer(base, c_null_ptr), inbox, [kCells])
#endif
    inbox = 0
  end subroutine

  ! One step: from the neighbours on the grid, the mean of a row and of all, and what the next rank puts here.
  subroutine relax()
    real(real64) :: from(kCells), sums(2)
    integer(MPI_ADDRESS_KIND) :: place
    integer :: direction, source, target
    do direction = 0, 1
      call MPI_Cart_shift(grid, direction, 1, source, target, code)
      call MPI_Sendrecv(cells, kCells, MPI_DOUBLE_PRECISION, target, direction, from, kCells, MPI_DOUBLE_PRECISION, &
        source, direction, grid, MPI_STATUS_IGNORE, code)
      cells = cells + 0.25_real64 * (from - cshift(cells, 1))
    end do
    call MPI_Allreduce(cells(1), sums(1), 1, MPI_DOUBLE_PRECISION, MPI_SUM, row, code)
    call MPI_Allreduce(cells(2), sums(2), 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, code)
    place = 0
    call MPI_Win_fence(0, window, code)
    call MPI_Put(cells, kCells, MPI_DOUBLE_PRECISION, mod(rank + step, ranks), place, kCells, MPI_DOUBLE_PRECISION, &
      window, code)
    call MPI_Win_fence(0, window, code)
    cells = cells + 0.001_real64 * (inbox + sums(1) - sums(2))
  end subroutine

  subroutine write_cells()
    HANDLE(MPI_File) :: file
    integer(MPI_OFFSET_KIND) :: place
    place = 8 * kCells * rank
    call MPI_File_open(MPI_COMM_WORLD, trim(argument(2)), ior(MPI_MODE_CREATE, MPI_MODE_WRONLY), MPI_INFO_NULL, file, code)
    call MPI_File_write_at_all(file, place, cells, kCells, MPI_DOUBLE_PRECISION, MPI_STATUS_IGNORE, code)
    call MPI_File_close(file, code)
  end subroutine

  subroutine expect(good, what)
    logical, intent(in) :: good
    character(*), intent(in) :: what
    if (good) return
    print '(2a)', 'plain_world: not so: ', what
    call MPI_Abort(MPI_COMM_WORLD, 1, code)
  end subroutine

  subroutine look_at_world()
    integer :: expected
    read (argument(2), *) expected
    call expect(ranks == expected, 'the world has the application ranks')
    call look_at_group()
    call look_at_attributes()
    call look_at_errors(expected)
    print '(a)', 'all as it should be'
  end subroutine

  subroutine look_at_group()
    HANDLE(MPI_Group) :: group, half_group
    HANDLE(MPI_Comm) :: half
    integer :: members, result, translated(1)
    call MPI_Comm_group(MPI_COMM_WORLD, group, code)
    call MPI_Group_size(group, members, code)
    call expect(members == ranks, 'the group of the world has the application ranks')
    call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, half, code)
    call MPI_Comm_group(half, half_group, code)
    call MPI_Group_translate_ranks(half_group, 1, [1], group, translated, code)
    call expect(translated(1) == 2 + mod(rank, 2), 'ranks are translated into those of the application')
    call MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_WORLD, result, code)
    call expect(result == MPI_IDENT, 'the world is itself')
    call MPI_Group_free(half_group, code)
    call MPI_Group_free(group, code)
    call MPI_Comm_free(half, code)
  end subroutine

  subroutine look_at_attributes()
    HANDLE(MPI_Comm) :: copy
    integer(MPI_ADDRESS_KIND), save :: extra = 1  ! MPICH keeps its address
    integer(MPI_ADDRESS_KIND) :: value, found
    integer :: keyval
    logical :: flag
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, found, flag, code)
    call expect(flag .and. found >= 32767, 'an attribute of MPI is found')
    call MPI_Comm_create_keyval(on_copy, on_delete, keyval, extra, code)
    value = 7
    call MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, value, code)
    call MPI_Comm_get_attr(MPI_COMM_WORLD, keyval, found, flag, code)
    call expect(flag .and. found == 7, 'an attribute is found where it was set')
    call MPI_Comm_dup(MPI_COMM_WORLD, copy, code)
    call MPI_Comm_get_attr(copy, keyval, found, flag, code)
    call expect(copies == 1 .and. flag .and. found == 8, 'a duplicate gets the attribute')
    call MPI_Comm_free(copy, code)
    call MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval, code)
    call MPI_Comm_get_attr(MPI_COMM_WORLD, keyval, found, flag, code)
    call expect(.not. flag, 'a deleted attribute is not found')
    value = 40
    call MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, value, code)
  end subroutine

  subroutine look_at_errors(expected)
    integer, intent(in) :: expected
    HANDLE(MPI_Errhandler) :: handler
    integer :: nothing(1)
    nothing = 0
    call MPI_Comm_create_errhandler(on_error, handler, code)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler, code)
    call MPI_Send(nothing, 0, MPI_INTEGER, expected, 0, MPI_COMM_WORLD, code)
    call expect(errors == 1, 'the error handler is called for a rank that only the world of MPI has')
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL, code)
    call MPI_Errhandler_free(handler, code)
  end subroutine

end program
