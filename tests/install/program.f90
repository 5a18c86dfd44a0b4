! What a user of the installed library writes in Fortran: counts to ten. With "die" it dies at five.
program count_to_ten
  use, intrinsic :: iso_fortran_env, only: int32, real64
  use mpi_f08
  use cairn
  implicit none

  type(cairn_session) :: session
  type(MPI_Comm) :: comm
  real(real64), target :: state(1000) = 0
  integer(int32), target :: step = 0
  integer :: code, rank, ranks, start, total
  character(len=8) :: word

  call MPI_Init()
  call get_command_argument(1, word)
  call cairn_init(MPI_COMM_WORLD, 'program.ini', session, code)
  if (code /= CAIRN_HEAD) then
    call check(code)
    call cairn_protect(session, 'state', state, code)
    call check(code)
    call cairn_protect(session, 'step', step, code)
    call check(code)
    call cairn_restore(session, code)
    call check(code)
    comm = cairn_comm(session)
    call MPI_Comm_rank(comm, rank)
    call MPI_Comm_size(comm, ranks)
    start = step
    do while (step < 10)
      call MPI_Allreduce(step, total, 1, MPI_INTEGER, MPI_SUM, comm)
      step = step + 1
      call cairn_snapshot(session, code)
      call check(code)
      call cairn_wait(session, CAIRN_L1, code)
      call check(code)
      if (word == 'die' .and. step == 5) call abort()
    end do
    if (rank == 0) print '(3(a, i0), a)', 'from ', start, ' to ', step, ' on ', ranks, ' ranks'
    call cairn_finalize(session, code)
    call check(code)
  end if
  call MPI_Finalize()

contains

  subroutine check(code)
    integer, intent(in) :: code
    if (code == CAIRN_OK) return
    print '(a)', cairn_error_text()
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine
end program
