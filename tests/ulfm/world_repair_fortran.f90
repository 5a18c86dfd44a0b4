! world_repair.cpp, in Fortran:
!
!   world_repair_fortran --steps N --config FILE --output FILE --pause-ms N
program world_repair
  use, intrinsic :: iso_fortran_env, only: int32, real64, error_unit
  use mpi_f08
  use arguments, only: argument_after
  use cairn
  implicit none

  integer, parameter :: kCells = 64, kRanks = 4
  type(cairn_session) :: session
  character(512) :: config, output, text
  integer :: code, steps, pause_ms
  logical :: done = .false.

  call MPI_Init()
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL)
  config = argument_after('--config')
  output = argument_after('--output')
  text = argument_after('--steps', '0')
  read (text, *) steps
  text = argument_after('--pause-ms', '0')
  read (text, *) pause_ms
  call look_at_world()
  call cairn_init(MPI_COMM_WORLD, trim(config), session, code)
  do while (code == CAIRN_OK .and. .not. done)
    call compute(code)
    if (code == CAIRN_ROLLBACK) call cairn_recover(session, code)
  end do
  if (code < CAIRN_OK) then
    write (error_unit, '(2a)') 'world: ', cairn_error_text()
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end if
  call MPI_Finalize()

contains

  subroutine look_at_world()
    integer :: ranks, rank
    type(MPI_Errhandler) :: handler
    logical :: is_fatal
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_get_errhandler(MPI_COMM_WORLD, handler)
    is_fatal = handler == MPI_ERRORS_ARE_FATAL
    call MPI_Errhandler_free(handler)
    if (ranks == kRanks .and. rank >= 0 .and. rank < kRanks .and. is_fatal) return
    print '(a, i0, a, i0)', 'world: rank ', rank, ' of ', ranks
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine

  subroutine compute(code)
    integer, intent(out) :: code
    real(real64), target, save :: cells(kCells)
    integer(int32), target, save :: step
    type(MPI_Comm) :: grid, row
    integer :: rank, i
    call look_at_world()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Cart_create(MPI_COMM_WORLD, 2, [2, 2], [.true., .true.], .false., grid, code)
    if (code == MPI_SUCCESS) call MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, row, code)
    cells = [(1.0_real64 / (i + rank), i=1, kCells)]
    step = 0
    call cairn_protect(session, 'cells', cells, code)
    if (code == CAIRN_OK) call cairn_protect(session, 'step', step, code)
    if (code == CAIRN_OK) call cairn_restore(session, code)
    if (code /= CAIRN_OK) return
    if (rank == 0 .and. step == 0) print '(a)', 'world: starts at step 0'
    if (rank == 0 .and. step > 0) print '(a, i0, a)', 'world: continues at step ', step, ':'
    flush (6)
    do while (step < steps)
      call relax(cells, grid, row)
      step = step + 1
      call pause()
      call cairn_snapshot(session, code)
      if (code /= CAIRN_OK) return
    end do
    call write_cells(cells, rank)
    call cairn_finalize(session, code)
    done = code == CAIRN_OK
  end subroutine

  subroutine relax(cells, grid, row)
    real(real64), intent(inout) :: cells(kCells)
    type(MPI_Comm), intent(in) :: grid, row
    real(real64) :: from(kCells), sums(2)
    integer :: direction, source, target, code
    from = 0
    sums = 0
    do direction = 0, 1
      call MPI_Cart_shift(grid, direction, 1, source, target)
      call MPI_Sendrecv(cells, kCells, MPI_DOUBLE_PRECISION, target, direction, from, kCells, MPI_DOUBLE_PRECISION, &
        source, direction, grid, MPI_STATUS_IGNORE, code)
      cells = cells + 0.25_real64 * (from - cshift(cells, 1))
    end do
    call MPI_Allreduce(cells(1), sums(1), 1, MPI_DOUBLE_PRECISION, MPI_SUM, row, code)
    call MPI_Allreduce(cells(2), sums(2), 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, code)
    cells = cells + 0.001_real64 * (sums(1) - sums(2))
  end subroutine

  subroutine write_cells(cells, rank)
    real(real64), intent(in) :: cells(kCells)
    integer, intent(in) :: rank
    type(MPI_File) :: file
    integer(MPI_OFFSET_KIND) :: place
    place = 8 * kCells * rank
    call MPI_File_open(MPI_COMM_WORLD, trim(output), ior(MPI_MODE_CREATE, MPI_MODE_WRONLY), MPI_INFO_NULL, file)
    call MPI_File_write_at_all(file, place, cells, kCells, MPI_DOUBLE_PRECISION, MPI_STATUS_IGNORE)
    call MPI_File_close(file)
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

end program
