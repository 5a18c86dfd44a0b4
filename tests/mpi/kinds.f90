! The kinds of the Fortran module over real ranks. Each run, on another number of ranks than the one before, restores
! what that has written, and writes the next step:
!
!   kinds CONFIG STEP     STEP: of the snapshot, 0 for none; -1: the restore must be refused
program kinds
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64, error_unit
  use mpi_f08
  use cairn
  implicit none

  integer(int64), parameter :: kIds = 11, kTable = 13, kRows = 4, kColumns = 9
  type(cairn_session) :: session
  type(cairn_restore_status) :: status
  integer :: rank, ranks, code, wanted
  integer(int32), target :: step
  integer(int64) :: ids_count, table_first, table_count, first, columns
  integer(int64), target, allocatable :: ids(:)
  real(real64), target, allocatable :: x(:, :)  ! two for each id
  integer(int32), target, allocatable :: table(:)
  real(real64), target, allocatable :: plate(:, :)  ! with a column of ghosts at the left and at the right, and a row below
  complex(real32), target :: notes(2)
  integer(int32), target :: other = 0
  character(512) :: config, argument

  call MPI_Init()
  call get_command_argument(1, config)
  call get_command_argument(2, argument)
  read (argument, *) wanted
  call cairn_init(MPI_COMM_WORLD, config, session, code)
  call check(code == CAIRN_OK, 'init')
  call MPI_Comm_rank(cairn_comm(session), rank)
  call MPI_Comm_size(cairn_comm(session), ranks)
  call find_count()
  call make_arrays()
  call protect_all()
  if (wanted < 0) then
    call cairn_restore(session, code)
    call check_error(CAIRN_ERR_MISMATCH, 'set [restart] elastic = on')
  else
    call check_mistakes()
    call cairn_restore(session, code)
    call check(code == CAIRN_OK, 'restore')
    call cairn_restore_info(session, status, code)
    call check(code == CAIRN_OK .and. (status%old_ranks > 0) .eqv. (wanted > 0), 'the ranks of the snapshot')
    call check((status%bytes_moved > 0) .eqv. (wanted > 0 .and. ranks > 2), 'the bytes between nodes')
    if (wanted > 0) call check_step(wanted)
    call fill(wanted + 1)
    call cairn_snapshot(session, code)
    call check(code == CAIRN_OK, 'snapshot')
  end if
  call cairn_finalize(session, code)
  call check(code == CAIRN_OK, 'finalize')
  call MPI_Finalize()

contains

  ! On a fresh start the last rank has all ids but one of each other rank.
  subroutine find_count()
    integer(int64) :: total
    ids_count = merge(1_int64, kIds - ranks + 1, rank + 1 < ranks)
    if (wanted < 0) return
    call cairn_stored_total(session, 'ids', total, code)
    call check(code == CAIRN_OK .and. total == merge(kIds, 0_int64, wanted > 0), 'the total of ids')
    if (total > 0) call cairn_stored_elements(session, 'ids', ids_count, code)
    call check(code == CAIRN_OK, 'the number of ids')
  end subroutine

  subroutine make_arrays()
    table_first = kTable * rank**2 / ranks**2  ! not an equal share: the last rank gets most
    table_count = kTable * (rank + 1)**2 / ranks**2 - table_first
    first = kColumns * rank / ranks
    columns = kColumns * (rank + 1) / ranks - first
    allocate (ids(ids_count), source=0_int64)
    allocate (x(2, ids_count), source=0._real64)
    allocate (table(table_count), source=0_int32)
    allocate (plate(0:kRows, 0:columns + 1), source=0._real64)
  end subroutine

  subroutine protect_all()
    integer :: codes(6)
    codes = CAIRN_OK
    call cairn_protect(session, 'step', step, codes(1), kind=cairn_same)
    call cairn_protect(session, 'ids', ids, codes(2), kind=cairn_sequence)
    call cairn_protect(session, 'x', x, codes(3), kind=cairn_like('ids'))
    call cairn_protect(session, 'table', table, codes(4), kind=cairn_sequence_part(table_first, table_count))
    call cairn_protect(session, 'plate', plate, codes(5), global_shape=[kRows, kColumns], offset=[0_int64, first], &
      ghosts_before=[1_int64, 1_int64], ghosts_after=[0_int64, 1_int64])
    if (rank == 0) call cairn_protect(session, 'notes', notes, codes(6), kind=cairn_of_rank(0))
    call check(all(codes == CAIRN_OK), 'protect')
    ! It keeps its kind.
    call cairn_protect(session, 'ids', ids, code)
    call check(code == CAIRN_OK, 'protect again')
  end subroutine

  subroutine check_mistakes()
    call cairn_protect(session, 'one', other, code, kind=cairn_sequence)
    call check_error(CAIRN_ERR_USAGE, '"one"')
    call cairn_unprotect(session, 'one', code)
    call cairn_protect(session, 'plate', plate, code, global_shape=[kRows, kColumns], offset=[0_int64, first], &
      ghosts_before=[1_int64, 1_int64], ghosts_after=[0_int64, 1_int64], kind=cairn_same)
    call check_error(CAIRN_ERR_USAGE, '"plate" is a part of a global array')
    call cairn_protect(session, 'plate', plate, code, ghosts_before=[1_int64, 1_int64])
    call check_error(CAIRN_ERR_USAGE, '"plate": global_shape, offset and ghosts')
    call cairn_protect(session, 'plate', plate, code, global_shape=[kRows, kColumns], offset=[0_int64, first], &
      ghosts_before=[1_int64])
    call check_error(CAIRN_ERR_USAGE, '"plate": global_shape, offset and ghosts')
  end subroutine

  subroutine check_step(of_step)
    integer, intent(in) :: of_step
    integer(int64) :: before
    call count_before(before)
    call check(step == of_step, 'step')
    call check(all(ids == numbers(before, ids_count, of_step)), 'ids')
    call check(all(x == reshape(real(numbers(2 * before, 2 * ids_count, of_step), real64), shape(x))), 'x')
    call check(all(table == numbers(table_first, table_count, of_step)), 'table')
    call check(all(plate(1:, 1:columns) == own_columns(of_step)), 'own elements of the plate')
    call check(all(plate(0, :) == 0), 'ghosts outside the plate stay as they are')
    if (rank == 0) call check(all(plate(:, 0) == 0), 'ghosts at the left of the plate stay as they are')
    if (columns > 0 .and. rank > 0) call check(plate(1, 0) == real(1000 * of_step + kRows * (first - 1), real64), 'ghosts')
    if (rank == 0) call check(all(notes == cmplx(of_step, 1, real32)), 'notes')
  end subroutine

  ! Ghosts are rubbish, which no restore may take for numbers of their owners.
  subroutine fill(of_step)
    integer, intent(in) :: of_step
    integer(int64) :: before
    call count_before(before)
    step = of_step
    ids = numbers(before, ids_count, of_step)
    x = reshape(real(numbers(2 * before, 2 * ids_count, of_step), real64), shape(x))
    table = int(numbers(table_first, table_count, of_step), int32)
    plate = -1
    plate(1:, 1:columns) = own_columns(of_step)
    notes = cmplx(of_step, 1, real32)
  end subroutine

  subroutine count_before(before)
    integer(int64), intent(out) :: before
    before = 0
    call MPI_Exscan(ids_count, before, 1, MPI_INTEGER8, MPI_SUM, cairn_comm(session))
    if (rank == 0) before = 0
  end subroutine

  function numbers(begin, many, of_step)
    integer(int64), intent(in) :: begin, many
    integer, intent(in) :: of_step
    integer(int64) :: numbers(many)
    integer(int64) :: i
    numbers = [(1000 * of_step + begin + i, i=0, many - 1)]
  end function

  function own_columns(of_step)
    integer, intent(in) :: of_step
    real(real64) :: own_columns(kRows, columns)
    own_columns = reshape(real(numbers(kRows * first, kRows * columns, of_step), real64), [kRows, columns])
  end function

  subroutine check(good, what)
    logical, intent(in) :: good
    character(*), intent(in) :: what
    if (good) return
    write (error_unit, '(4a)') 'kinds: ', what, '; last error: ', cairn_error_text()
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine

  subroutine check_error(expected, part)
    integer, intent(in) :: expected
    character(*), intent(in) :: part
    call check(code == expected .and. index(cairn_error_text(), part) > 0, 'expected an error that says '//part)
  end subroutine

end program
