! A string that swings, kept safe by Cairn, in Fortran. Kill it and start it again: it continues from its newest snapshot.
!
!   ckpt-run -n 4 -- ./wave wave.ini 20000
!
! Each rank has a piece of the string, and sends its ends to its neighbours at each step. With [recovery] mode = spares
! no restart is needed: when a process dies, a spare replaces it, and all ranks roll back to their newest snapshot.
program wave
  use, intrinsic :: iso_fortran_env, only: real64, error_unit
  use mpi_f08
  use cairn
  implicit none

  integer, parameter :: kPoints = 100000  ! of a rank
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
    integer :: rank, ranks

    comm = cairn_comm(session)
    call MPI_Comm_rank(comm, rank)
    call MPI_Comm_size(comm, ranks)
    allocate (now(0:kPoints + 1), before(0:kPoints + 1))
    call pluck(now, rank, ranks)
    before = now
    step = 0

    call protect_arrays(now, before, code)
    if (code == CAIRN_OK) call cairn_protect(session, 'step', step, code)
    if (code == CAIRN_OK) call cairn_restore(session, code)
    if (code == CAIRN_OK .and. rank == 0) print '(a, i0)', 'wave: starts at step ', step
    do while (code == CAIRN_OK .and. step < steps)
      call move(now, before, comm, rank, ranks)
      step = step + 1
      call protect_arrays(now, before, code)  ! since move() has swapped them, they are at other addresses
      if (code == CAIRN_OK) call cairn_snapshot(session, code)
    end do
    if (code == CAIRN_OK) call report(now, comm, rank, step)
    if (code == CAIRN_OK) call cairn_finalize(session, code)
    done = code == CAIRN_OK
  end subroutine

  subroutine protect_arrays(now, before, code)
    real(real64), target, allocatable, intent(inout) :: now(:), before(:)
    integer, intent(out) :: code
    call cairn_protect(session, 'now', now, code)
    if (code == CAIRN_OK) call cairn_protect(session, 'before', before, code)
  end subroutine

  subroutine pluck(points, rank, ranks)
    real(real64), intent(out) :: points(0:)
    integer, intent(in) :: rank, ranks
    integer :: i
    real(real64) :: x
    do i = 0, kPoints + 1
      x = real(rank * kPoints + i, real64) / real(ranks * kPoints + 1, real64)
      points(i) = min(x, 1 - x)
    end do
  end subroutine

  ! One step of the wave equation; the ends of the string are held. The new points take the place of the oldest ones, so
  ! that nothing is copied: the two arrays are swapped.
  subroutine move(now, before, comm, rank, ranks)
    real(real64), allocatable, intent(inout) :: now(:), before(:)
    type(MPI_Comm), intent(in) :: comm
    integer, intent(in) :: rank, ranks
    real(real64), allocatable :: next(:)
    integer :: left, right
    left = merge(rank - 1, MPI_PROC_NULL, rank > 0)
    right = merge(rank + 1, MPI_PROC_NULL, rank < ranks - 1)
    call MPI_Sendrecv(now(kPoints), 1, MPI_DOUBLE_PRECISION, right, 0, now(0), 1, MPI_DOUBLE_PRECISION, left, 0, comm, &
      MPI_STATUS_IGNORE)
    call MPI_Sendrecv(now(1), 1, MPI_DOUBLE_PRECISION, left, 1, now(kPoints + 1), 1, MPI_DOUBLE_PRECISION, right, 1, &
      comm, MPI_STATUS_IGNORE)
    before(1:kPoints) = 2 * now(1:kPoints) - before(1:kPoints) &
      + kCourant**2 * (now(0:kPoints - 1) - 2 * now(1:kPoints) + now(2:kPoints + 1))
    before(0) = now(0)
    before(kPoints + 1) = now(kPoints + 1)
    call move_alloc(before, next)
    call move_alloc(now, before)
    call move_alloc(next, now)
  end subroutine

  subroutine report(now, comm, rank, step)
    real(real64), intent(in) :: now(0:)
    type(MPI_Comm), intent(in) :: comm
    integer, intent(in) :: rank, step
    real(real64) :: mine, all
    integer :: failure
    mine = sum(now(1:kPoints))
    ! After a failure there is no sum; the next Cairn call says so.
    call MPI_Reduce(mine, all, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, comm, failure)
    if (rank == 0 .and. failure == MPI_SUCCESS) &
      print '(a, i0, a, z16.16)', 'wave: after ', step, ' steps the sum is ', transfer(all, 0_8)
  end subroutine

  subroutine give_up(text)
    character(*), intent(in) :: text
    write (error_unit, '(2a)') 'wave: ', text
    call MPI_Abort(MPI_COMM_WORLD, 1)
    stop 1
  end subroutine

end program
