! The Fortran module with communicators of the module mpi, which are integers: fortran_mpi DIRECTORY, on 2 ranks. Started
! twice: the second run goes on from the first.
program fortran_mpi_test
  use, intrinsic :: iso_fortran_env, only: int64, real64, error_unit
  use mpi
  use cairn
  implicit none

  type(cairn_session) :: session
  character(512) :: directory
  real(real64), target, allocatable :: cells(:)
  integer, target :: runs = 0
  integer :: world_rank, rank, ranks, comm, code, unit
  integer(int64) :: count
  logical :: due

  call MPI_Init(code)
  call get_command_argument(1, directory)
  call MPI_Comm_rank(MPI_COMM_WORLD, world_rank, code)
  if (world_rank == 0) then
    open (newunit=unit, file=trim(directory)//'/mpi.ini', action='write')
    write (unit, '(a)') '[storage]', 'local = '//trim(directory)//'/local', 'global = '//trim(directory)//'/global', &
      '[levels]', 'l1 = every 1', '[head]', 'mode = inline', '[restart]', 'at_end = continue'
    close (unit)
  end if
  call MPI_Barrier(MPI_COMM_WORLD, code)

  call cairn_init(MPI_COMM_WORLD, trim(directory)//'/mpi.ini', session, code)
  call check(code == CAIRN_OK, 'init')
  call cairn_get_comm(session, comm, code)
  call check(code == CAIRN_OK, 'get_comm')
  call cairn_watch(session, comm, code)
  call check(code == CAIRN_OK, 'watch')
  call MPI_Comm_rank(comm, rank, code)
  call MPI_Comm_size(comm, ranks, code)
  call check(ranks == 2, 'two ranks')

  ! What has grown in the first run gets its size before it is protected.
  call cairn_stored_elements(session, 'cells', count, code)
  call check(code == CAIRN_OK .and. (count == 0 .or. count == 10 + rank), 'stored elements')
  if (count == 0) count = 10 + rank
  allocate (cells(count))
  cells = -1
  call cairn_protect(session, 'cells', cells, code, global_shape=[21_int64], offset=[10_int64 * rank])
  call check(code == CAIRN_OK, 'protect a part')
  call cairn_protect(session, 'cells', cells, code, global_shape=[21_int64])
  call check(code == CAIRN_ERR_USAGE .and. index(cairn_error_text(), 'offset') > 0, 'a part without offset')
  call cairn_protect(session, 'cells', cells, code, global_shape=[21_int64, 1_int64], offset=[0_int64, 0_int64])
  call check(code == CAIRN_ERR_USAGE .and. index(cairn_error_text(), 'dimensions') > 0, 'a part of another shape')
  call cairn_protect(session, 'runs', runs, code)
  call cairn_restore(session, code)
  call check(code == CAIRN_OK, 'restore')
  if (runs > 0) call check(all(cells == rank), 'cells')
  runs = runs + 1
  cells = rank
  call cairn_due(session, due, code)
  call check(code == CAIRN_OK .and. due, 'due')
  call cairn_snapshot(session, code)
  call check(code == CAIRN_OK, 'snapshot')
  call cairn_finalize(session, code)
  call check(code == CAIRN_OK, 'finalize')
  if (rank == 0) print '(a, i0)', 'run ', runs
  call MPI_Finalize(code)

contains

  subroutine check(good, what)
    logical, intent(in) :: good
    character(*), intent(in) :: what
    integer :: code
    if (good) return
    write (error_unit, '(4a)') 'fortran_mpi: ', what, '; last error: ', cairn_error_text()
    call MPI_Abort(MPI_COMM_WORLD, 1, code)
  end subroutine
end program
