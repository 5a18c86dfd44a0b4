! A collective on MPI_COMM_WORLD inside a session, in Fortran; the configuration comes from the environment.
program world_fortran
  use mpi
  use cairn
  implicit none
  type(cairn_session) :: session
  integer :: code, ierror, one, all

  call MPI_Init(ierror)
  call cairn_init_world(session, code)
  if (code == CAIRN_OK) then
    one = 1
    call MPI_Allreduce(one, all, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    call cairn_finalize(session, code)
  end if
  print '(a)', 'world: came to its end'
  call MPI_Finalize(ierror)

contains

  ! The module takes the communicators of mpi_f08.
  subroutine cairn_init_world(session, code)
    use mpi_f08, only: f08_comm => MPI_Comm
    type(cairn_session), intent(out) :: session
    integer, intent(out) :: code
    call cairn_init(f08_comm(MPI_COMM_WORLD), '', session, code)
  end subroutine
end program
