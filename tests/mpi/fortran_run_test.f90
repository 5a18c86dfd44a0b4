! cairn_run of the Fortran module over real ranks: `fortran_run DIRECTORY` starts anew, `fortran_run DIRECTORY again` goes
! on from its snapshots, and then fails.
module fortran_run_parts
  use mpi_f08
  use cairn
  implicit none
  private
  public :: succeeds, fails, must_go_on

  logical :: must_go_on
  integer, target :: step

contains

  subroutine succeeds(session, code)
    type(cairn_session), intent(inout) :: session
    integer, intent(out) :: code
    integer :: size
    call MPI_Comm_size(cairn_comm(session), size)
    step = 0
    call cairn_protect(session, 'step', step, code)
    if (code == CAIRN_OK) call cairn_restore(session, code)
    if (must_go_on .neqv. step == 3) code = 40
    if (size /= 2) code = 41
    if (code /= CAIRN_OK .or. must_go_on) return
    do while (step < 3 .and. code == CAIRN_OK)
      step = step + 1
      call cairn_snapshot(session, code)
    end do
  end subroutine

  subroutine fails(session, code)
    type(cairn_session), intent(inout) :: session
    integer, intent(out) :: code
    call cairn_protect(session, 'step', step, code)
    if (code == CAIRN_OK) code = 3
  end subroutine
end module

program fortran_run_test
  use mpi_f08
  use cairn
  use fortran_run_parts
  implicit none

  character(512) :: directory, again, config
  integer :: code, rank, unit

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call get_command_argument(1, directory)
  call get_command_argument(2, again)
  must_go_on = again == 'again'
  config = trim(directory)//'/run.ini'
  if (rank == 0) then
    open (newunit=unit, file=trim(config), status='replace')
    write (unit, '(a)') '[job]', 'name = fortran-run', '[storage]', 'local = '//trim(directory)//'/local', &
      'global = '//trim(directory)//'/global', '[head]', 'mode = inline', '[restart]', 'at_end = continue'
    close (unit)
  end if
  call MPI_Barrier(MPI_COMM_WORLD)
  call cairn_run(MPI_COMM_WORLD, config, succeeds, code)
  call check(code == CAIRN_OK, 'it does what it is given')
  if (must_go_on) then
    call cairn_run(MPI_COMM_WORLD%MPI_VAL, config, fails, code)
    call check(code == 1, 'a failure of all ranks is the code 1')
    call check(index(cairn_error_text(), 'returned 3') > 0, 'its text has the code')
  end if
  call MPI_Finalize()

contains

  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (holds) return
    print '(2a)', 'not so: ', what
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine
end program
