! residual.c with the way `run`, in Fortran: its steps are loops that end by what MPI brings, and test no codes.
!
!   residual_fortran --steps N --config FILE --output FILE --pause-ms N
module residual_program
  use, intrinsic :: iso_fortran_env, only: int64, real64, output_unit
  use mpi_f08
  use cairn
  implicit none
  private
  public :: compute, steps, pause_ms, output

  integer :: steps, pause_ms
  character(512) :: output
  integer(int64), allocatable, target :: state(:)  ! the step, and turns so far

contains

  subroutine compute(session, code)
    type(cairn_session), intent(inout) :: session
    integer, intent(out) :: code
    type(MPI_Comm) :: comm
    integer :: rank, unit
    comm = cairn_comm(session)
    call MPI_Comm_rank(comm, rank)
    if (.not. allocated(state)) allocate (state(2))
    state = 0
    call cairn_protect(session, 'state', state, code)
    if (code == CAIRN_OK) call cairn_restore(session, code)
    if (code /= CAIRN_OK) return
    if (rank == 0) then
      if (state(1) > 0) then
        write (output_unit, '(a, i0, a)') 'residual: continues at step ', state(1), ':'
      else
        write (output_unit, '(a, i0)') 'residual: starts at step ', state(1)
      end if
      flush (output_unit)
    end if
    do while (state(1) < steps)
      state(2) = state(2) + turns(comm)
      state(1) = state(1) + 1
      call cairn_snapshot(session, code)
      if (code /= CAIRN_OK) return
    end do
    if (rank /= 0) return
    open (newunit=unit, file=output, status='replace')
    write (unit, '(i0)') state(2)
    close (unit)
  end subroutine

  ! Halves its number until the sum of all is small. Makes no Cairn call.
  function turns(comm)
    type(MPI_Comm), intent(in) :: comm
    integer(int64) :: turns
    real(real64) :: mine, residual
    mine = 1
    residual = 1
    turns = 0
    do while (residual > 0.5_real64)
      mine = mine / 2
      call MPI_Allreduce(mine, residual, 1, MPI_DOUBLE_PRECISION, MPI_SUM, comm)
      turns = turns + 1
      call pause_a_moment()
    end do
  end function

  subroutine pause_a_moment()
    real(real64) :: until
    until = MPI_Wtime() + pause_ms / 1000.0_real64
    do while (MPI_Wtime() < until)
    end do
  end subroutine
end module

program residual_fortran
  use mpi_f08
  use arguments, only: argument_after
  use cairn
  use residual_program
  implicit none

  character(512) :: config, text
  integer :: code

  call MPI_Init()
  config = argument_after('--config')
  output = argument_after('--output')
  text = argument_after('--steps', '0')
  read (text, *) steps
  text = argument_after('--pause-ms', '0')
  read (text, *) pause_ms
  call cairn_run(MPI_COMM_WORLD, trim(config), compute, code)
  call MPI_Finalize()
  if (code /= CAIRN_OK) stop 1
end program
