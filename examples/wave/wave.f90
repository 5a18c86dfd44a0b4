! A string that swings, kept safe by Cairn, in Fortran. Kill it and start it again: it continues from its newest snapshot.
!
!   ckpt-run -n 4 -- ./wave wave.ini 20000
!
! Each rank has a piece of the string, and sends its ends to its neighbours at each step. The next run may have
! another number of ranks, and ends with the same bits. With [recovery] mode = spares no restart is needed: when a
! process dies, a spare replaces it, and all ranks roll back to their newest snapshot.
program wave
  use, intrinsic :: iso_fortran_env, only: int64, real64, error_unit
  use mpi_f08
  use cairn
  implicit none

  integer, parameter :: kPoints = 400000  ! of the whole string
  real(real64), parameter :: kCourant = 0.5_real64
  type(cairn_session) :: session
  character(256) :: config, argument
  integer :: steps, code
  logical :: done = .false.

  call MPI_Init()
  if (command_argument_count() /= 2) call give_up('usage: wave CONFIG STEPS')
  call get_command_argument(1, config)
  call get_command_argument(2, argument)
  read (argument, *, iostat=code) steps
  if (code /= 0) call give_up(trim(argument)//' is not a number of steps')
  call cairn_init(MPI_COMM_WORLD, config, session, code)
  if (code < CAIRN_OK) then  ! all ranks have this error, and Cairn has logged it
    call MPI_Finalize()
    stop 1
  end if
  do while (code == CAIRN_OK .and. .not. done)
    call swing(code)
    if (code == CAIRN_ROLLBACK) call cairn_recover(session, code)
  end do
  if (code < CAIRN_OK) call MPI_Abort(MPI_COMM_WORLD, 1)  ! other ranks may not have this one
  call MPI_Finalize()

contains

  ! Computes from the newest snapshot, or from the beginning, to the end. The first code that is not CAIRN_OK ends it.
  ! MPI calls need no check: after a failure the next Cairn call returns an error, so their results are not used.
  subroutine swing(code)
    integer, intent(out) :: code
    ! Displacement now and one step ago, with a neighbour's point at either end.
    real(real64), target, allocatable :: now(:), before(:)
    integer, target :: step
    type(MPI_Comm) :: comm
    integer :: rank, ranks, first, count  ! first: points before the piece, count: of the piece

    comm = cairn_comm(session)
    call MPI_Comm_rank(comm, rank)
    call MPI_Comm_size(comm, ranks)
    first = points_before(rank, ranks)
    count = points_before(rank + 1, ranks) - first
    allocate (now(0:count + 1), before(0:count + 1))
    call pluck(now, first)
    before = now
    step = 0

    call protect_arrays(now, before, first, code)
    if (code == CAIRN_OK) call cairn_protect(session, 'step', step, code, kind=cairn_same)
    if (code == CAIRN_OK) call cairn_restore(session, code)
    if (code == CAIRN_OK .and. rank == 0) print '(a, i0)', 'wave: starts at step ', step
    do while (code == CAIRN_OK .and. step < steps)
      call move(now, before, count, comm, rank, ranks)
      step = step + 1
      call protect_arrays(now, before, first, code)  ! since move() has swapped them, they are at other addresses
      if (code == CAIRN_OK) call cairn_snapshot(session, code)
    end do
    if (code == CAIRN_OK) call report(now, count, comm, rank, ranks, step)
    if (code == CAIRN_OK) call cairn_finalize(session, code)
    done = code == CAIRN_OK
  end subroutine

  ! Pieces differ by one point at most.
  integer function points_before(rank, ranks)
    integer, intent(in) :: rank, ranks
    points_before = int(int(kPoints, int64) * rank / ranks)
  end function

  ! Each array is a part of the string, with a ghost at each end.
  subroutine protect_arrays(now, before, first, code)
    real(real64), target, allocatable, intent(inout) :: now(:), before(:)
    integer, intent(in) :: first
    integer, intent(out) :: code
    integer(int64) :: whole(1), offset(1), one(1)
    whole = kPoints
    offset = first
    one = 1
    call cairn_protect(session, 'now', now, code, whole, offset, one, one)
    if (code == CAIRN_OK) call cairn_protect(session, 'before', before, code, whole, offset, one, one)
  end subroutine

  subroutine pluck(points, first)
    real(real64), intent(out) :: points(0:)
    integer, intent(in) :: first
    integer :: i
    real(real64) :: x
    do i = 0, ubound(points, 1)
      x = real(first + i, real64) / real(kPoints + 1, real64)
      points(i) = min(x, 1 - x)
    end do
  end subroutine

  ! One step of the wave equation; the ends of the string are held. The new points take the place of the oldest ones, so
  ! that nothing is copied: the two arrays are swapped.
  subroutine move(now, before, count, comm, rank, ranks)
    real(real64), allocatable, intent(inout) :: now(:), before(:)
    integer, intent(in) :: count, rank, ranks
    type(MPI_Comm), intent(in) :: comm
    real(real64), allocatable :: next(:)
    integer :: left, right
    left = merge(rank - 1, MPI_PROC_NULL, rank > 0)
    right = merge(rank + 1, MPI_PROC_NULL, rank < ranks - 1)
    call MPI_Sendrecv(now(count), 1, MPI_DOUBLE_PRECISION, right, 0, now(0), 1, MPI_DOUBLE_PRECISION, left, 0, comm, &
      MPI_STATUS_IGNORE)
    call MPI_Sendrecv(now(1), 1, MPI_DOUBLE_PRECISION, left, 1, now(count + 1), 1, MPI_DOUBLE_PRECISION, right, 1, &
      comm, MPI_STATUS_IGNORE)
    before(1:count) = 2 * now(1:count) - before(1:count) &
      + kCourant**2 * (now(0:count - 1) - 2 * now(1:count) + now(2:count + 1))
    before(0) = now(0)
    before(count + 1) = now(count + 1)
    call move_alloc(before, next)
    call move_alloc(now, before)
    call move_alloc(next, now)
  end subroutine

  ! Rank 0 adds all points, in their order, so that the sum does not depend on the number of ranks.
  subroutine report(now, count, comm, rank, ranks, step)
    real(real64), intent(in) :: now(0:)
    integer, intent(in) :: count, rank, ranks, step
    type(MPI_Comm), intent(in) :: comm
    real(real64), allocatable :: string(:)
    integer :: counts(ranks), firsts(ranks), i, failure
    firsts = [(points_before(i, ranks), i=0, ranks - 1)]
    counts = [(points_before(i, ranks), i=1, ranks)] - firsts
    allocate (string(merge(kPoints, 0, rank == 0)))
    ! After a failure there is no string; the next Cairn call says so.
    call MPI_Gatherv(now(1:count), count, MPI_DOUBLE_PRECISION, string, counts, firsts, MPI_DOUBLE_PRECISION, 0, comm, &
      failure)
    if (rank == 0 .and. failure == MPI_SUCCESS) &
      print '(a, i0, a, z16.16)', 'wave: after ', step, ' steps the sum is ', transfer(sum(string), 0_int64)
  end subroutine

  subroutine give_up(text)
    character(*), intent(in) :: text
    write (error_unit, '(2a)') 'wave: ', text
    call MPI_Abort(MPI_COMM_WORLD, 1)
    stop 1
  end subroutine

end program
