! The same as one_error.cpp, in Fortran.
program one_error
  use, intrinsic :: iso_fortran_env, only: real64
  use mpi_f08
  use cairn
  implicit none

  type(cairn_session) :: session
  real(real64), target :: state(1000) = 0
  character(len=8) :: mistake
  integer :: code, step

  call MPI_Init()
  call get_command_argument(1, mistake)
  call cairn_init(MPI_COMM_WORLD, 'job.ini', session, code)
  if (code /= CAIRN_OK) then
    call MPI_Finalize()
    if (code == CAIRN_HEAD) stop
    stop 1
  end if
  if (mistake == 'region') then
    call cairn_protect(session, 'other', state, code)
  else
    call cairn_protect(session, 'state', state, code)
  end if
  call check()
  call cairn_restore(session, code)
  call check()
  if (mistake == 'usage') call cairn_unprotect(session, 'nothing', code)
  call check()
  do step = 1, 5
    call cairn_snapshot(session, code)
    call check()
  end do
  call cairn_wait(session, CAIRN_L1, code)
  call check()
  if (mistake == 'die') call abort()
  call cairn_finalize(session, code)
  call check()
  call MPI_Finalize()

contains

  subroutine check()
    if (code /= CAIRN_OK) call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine
end program
