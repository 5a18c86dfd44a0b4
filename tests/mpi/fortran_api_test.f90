! The Fortran module over real ranks. Two runs on 4 ranks: `fortran_api first DIRECTORY VERSION` starts anew and takes
! snapshots, `fortran_api second DIRECTORY VERSION` goes on from them. VERSION: the one number that Cairn's is to be.
program fortran_api_test
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64, error_unit
  use mpi_f08
  use, intrinsic :: iso_c_binding, only: c_int, c_long, c_intptr_t
  use cairn
  implicit none

  ! Of Linux.
  integer(c_int), parameter :: kRlimitFsize = 1, kSigxfsz = 25
  interface
    function setrlimit(resource, limits) bind(c) result(code)
      import :: c_int, c_long
      integer(c_int), value :: resource
      integer(c_long), intent(in) :: limits(2)
      integer(c_int) :: code
    end function
    function c_signal(number, handler) bind(c, name='signal') result(before)
      import :: c_int, c_intptr_t
      integer(c_int), value :: number
      integer(c_intptr_t), value :: handler
      integer(c_intptr_t) :: before
    end function
  end interface

  integer, parameter :: kSnapshots = 3
  type(cairn_session) :: session, none
  integer(int8), target :: tiny(5)
  integer(int16), target :: small(2, 2)
  integer(int32), target :: step, scratch
  integer(int64), target :: count
  real(real32), target :: coarse(4)
  real(real64), target, allocatable :: plate(:, :, :)
  real(real64), allocatable :: points(:)
  logical :: reads_too_much = .false.
  complex(real32), target :: wave(3)
  complex(real64), target :: phase
  logical, target :: flags(2)
  character(16) :: life, version_wanted
  character(512) :: directory, lines_path, out_path
  character(:), allocatable :: scratch_path  ! of a file that each snapshot removes
  integer :: rank, code, world_rank
  integer :: lines = 0, errors = 0  ! of the log

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, world_rank)
  call get_command_argument(1, life)
  call get_command_argument(2, directory)
  call write_configuration()
  call check_version()
  call check(MPI_COMM_NULL == cairn_comm(none), 'no session has no communicator')
  call cairn_snapshot(none, code)
  call check_error(CAIRN_ERR_USAGE, 'the session is NULL')
  call cairn_set_log(hear)
  call cairn_init(MPI_COMM_WORLD, trim(directory)//'/fortran.ini', session, code)
  ! The first head tells what the job is.
  if (code == CAIRN_HEAD) call check(world_rank /= 1 .or. lines > 0, 'the log is passed on')
  call cairn_set_log()
  if (code /= CAIRN_HEAD) call compute()
  call MPI_Finalize()

contains

  subroutine hear(level, line)
    integer, intent(in) :: level
    character(*), intent(in) :: line
    call check(len(line) > 0, 'a line of the log')
    lines = lines + 1
    if (level == CAIRN_LOG_ERROR) errors = errors + 1
  end subroutine

  subroutine check_version()
    integer :: wanted
    call get_command_argument(3, version_wanted)
    read (version_wanted, *) wanted
    call check(cairn_version() == wanted, 'version')
    call check(index(cairn_build_info(), 'Cairn ') == 1, 'build info')
  end subroutine

  subroutine compute()
    type(cairn_restore_status) :: status
    integer(int32) :: version
    type(MPI_Comm) :: comm
    integer :: first, ranks, members
    character(512) :: there
    call check(code == CAIRN_OK, 'init')
    call MPI_Comm_rank(cairn_comm(session), rank)
    call cairn_watch(session, cairn_comm(session), code)
    call check(code == CAIRN_OK, 'watch')
    allocate (plate(3, 4, 5))
    call check_mistakes()
    call fill(0)
    call protect_all()
    call cairn_restore(session, code)
    call check(code == CAIRN_OK, 'restore')
    call cairn_restore_info(session, status, code)
    first = merge(kSnapshots, 0, life == 'second')
    call check(code == CAIRN_OK .and. status%restored == min(first, 1), 'the report of the restore')
    call check(is_of_step(first), 'what came back')
    if (life == 'second') then
      ! The first run has put it there at its end.
      write (there, '(2a, i0)') trim(directory), '/there', rank
      call check(lines_in_file(there) == first, 'a destination')
      reads_too_much = .true.
      call cairn_restore(session, code)
      call check_error(CAIRN_ERR_MISMATCH, 'object "points"')
      reads_too_much = .false.
      call cairn_restore(session, code)
      call check(code == CAIRN_OK .and. is_of_step(first), 'what came back again')
    end if
    do first = first + 1, first + kSnapshots
      call fill(first)
      call cairn_snapshot(session, code, version)
      ! The first run took two more.
      call check(code == CAIRN_OK .and. version == first + merge(2, 0, life == 'second'), 'snapshot')
    end do
    call cairn_label(session, '5', code)
    call check(code == CAIRN_ERR_USAGE, 'a label that is a version')
    call cairn_label(session, 'from Fortran', code)
    call check(code == CAIRN_OK, 'label')
    call cairn_attribute(session, 'time', 0.5d0, code)
    call check(code == CAIRN_OK, 'attribute: number')
    call cairn_attribute(session, 'cells', 4096, code)
    call check(code == CAIRN_OK, 'attribute: whole number')
    call cairn_attribute(session, 'units', 'K', code, region='plate')
    call check(code == CAIRN_OK, 'attribute of a region')
    call cairn_attribute(session, '', 1.0, code)
    call check(code == CAIRN_ERR_USAGE, 'attribute without a name')
    call cairn_restore_label(session, '', code)
    call check(code == CAIRN_ERR_USAGE, 'restore without a label')
    call cairn_suspect(session, 'this is a test', code)
    call check(code == CAIRN_OK, 'suspect')
    call cairn_suspect(session, '', code)
    call check(code == CAIRN_ERR_USAGE, 'suspect without a text')
    call fill(0)
    call cairn_restore_version(session, 0, code)
    call check(code == CAIRN_ERR_USAGE, 'restore of version 0')
    call cairn_restore_region(session, 'plate', code)
    call check(code == CAIRN_OK .and. step == 0, 'restore of one region')
    call check(all(plate == expected_plate(first - 1)), 'the region that came back')
    call fill(first)
    call cairn_label(session, 'from Fortran', code)
    call cairn_snapshot_to(session, CAIRN_L2, code, version)
    call check(code == CAIRN_OK, 'snapshot to L2')
    call cairn_wait(session, CAIRN_L2, code)
    call check(code == CAIRN_OK .and. .not. cairn_should_stop(session), 'wait')
    call read_snapshots(version, first)
    ! What the second run is to find.
    call fill(kSnapshots)
    call cairn_snapshot(session, code)
    call check(code == CAIRN_OK, 'last snapshot')
    if (life == 'second') call run_out_of_space()
    comm = cairn_comm(session)
    call MPI_Comm_size(comm, members)
    call cairn_finalize(session, code)
    ! The communicator is still there.
    ranks = 1
    call MPI_Allreduce(MPI_IN_PLACE, ranks, 1, MPI_INTEGER, MPI_SUM, comm)
    call check(ranks == members, 'a sum after finalize')
    if (life == 'second') then
      call check_error(CAIRN_ERR_STORAGE, 'is abandoned')
    else
      call check(code == CAIRN_OK, 'finalize')
    end if
  end subroutine

  ! `newest` has the label "from Fortran", and what fill(of_step) makes; the version before it, what fill(of_step - 1)
  ! makes.
  subroutine read_snapshots(newest, of_step)
    integer(int32), intent(in) :: newest
    integer, intent(in) :: of_step
    type(cairn_reader) :: old
    type(cairn_reader_status) :: status
    type(cairn_region_info) :: region
    real(real64), allocatable :: copy(:, :, :)
    integer(int8), allocatable :: text(:)
    real(real32) :: wrong(60)
    integer(int16) :: four(2, 2)
    integer(int64) :: bytes
    complex(real32) :: three(3)
    complex(real64) :: one
    logical :: two(2), all_good
    character(512) :: copied
    integer :: number
    call cairn_open_snapshot(session, old, code, version=int(newest), label='from Fortran')
    call check_error(CAIRN_ERR_USAGE, 'not both')
    call cairn_reader_info(old, status, code)
    call check_error(CAIRN_ERR_USAGE, 'the reader is NULL')
    call cairn_open_snapshot(session, old, code, label='nowhere')
    call check_error(CAIRN_ERR_UNRECOVERABLE, '"from Fortran" (version ')
    call cairn_open_snapshot(session, old, code, version=int(newest - 1))
    call check(code == CAIRN_OK, 'open a version')
    call cairn_reader_info(old, status, code)
    call check(code == CAIRN_OK .and. status%version == newest - 1, 'which version is open')
    call check(status%regions == 14 .and. len(status%label) == 0, 'what is open')

    call cairn_reader_region(old, 'plate', region, code)
    call check(code == CAIRN_OK .and. region%name == 'plate' .and. region%type_text == 'float64[5][4][3]', 'a region')
    call check(region%elements == 60 .and. region%element_bytes == 8 .and. region%bytes == 480, 'the size of a region')
    call check(all(region%shape == [3, 4, 5]), 'the shape of a region')
    allocate (copy(region%shape(1), region%shape(2), region%shape(3)))
    call cairn_reader_read(old, 'plate', copy, code, bytes)
    call check(code == CAIRN_OK .and. bytes == 480 .and. all(copy == expected_plate(of_step - 1)), 'read a region')
    call check(all(plate == expected_plate(of_step)), 'what is protected stays as it is')
    call cairn_reader_region(old, 3, region, code)
    call check(code == CAIRN_OK .and. region%name == 'step' .and. size(region%shape) == 0, 'the third region')
    call cairn_reader_read(old, 'step', number, code)
    call check(code == CAIRN_OK .and. number == of_step - 1, 'read a number')
    call cairn_reader_read(old, 'small', four, code)
    call check(code == CAIRN_OK .and. four(2, 1) == 2 * of_step, 'read short integers')
    call cairn_reader_read(old, 'wave', three, code)
    call check(code == CAIRN_OK .and. all(three == cmplx(rank, of_step - 1, real32)), 'read complex numbers')
    call cairn_reader_read(old, 'phase', one, code)
    call check(code == CAIRN_OK .and. one == cmplx(of_step - 1, rank, real64), 'read a complex number')
    call cairn_reader_read(old, 'flags', two, code)
    call check(code == CAIRN_OK .and. two(2) .and. (two(1) .eqv. mod(of_step - 1, 2) == 1), 'read logical values')
    ! A part of an array that is not contiguous.
    copy = 0
    call cairn_reader_read(old, 'small', four(2:1:-1, :), code)
    call check(code == CAIRN_OK .and. four(2, 1) == of_step .and. four(1, 1) == 2 * of_step, 'read into a section')
    ! The contents of a file.
    call cairn_reader_region(old, 'lines', region, code)
    call check(code == CAIRN_OK .and. region%bytes >= 2 * (of_step - 1), 'a file')
    allocate (text(region%bytes))
    call cairn_reader_read(old, 'lines', text, code)
    call check(code == CAIRN_OK .and. text(1) == ichar('1') .and. text(size(text)) == 10, 'read a file')

    ! The same beside it, and a directory.
    write (copied, '(2a, i0)') trim(directory), '/copied', rank
    call cairn_reader_extract(old, 'lines', copied, code)
    call check(code == CAIRN_OK .and. lines_in_file(copied) == of_step - 1, 'extract a file')
    call execute_command_line('rm '//trim(copied))
    call cairn_reader_extract(old, 'out', copied, code)
    call check(code == CAIRN_OK .and. lines_in_file(trim(copied)//'/lines') == of_step - 1, 'extract a directory')
    call execute_command_line('rm -r '//trim(copied))
    call cairn_reader_extract(old, 'plate', copied, code)
    call check_error(CAIRN_ERR_USAGE, 'it is no file')
    call cairn_reader_region(old, 15, region, code)
    call check_error(CAIRN_ERR_USAGE, 'there are 14 regions')
    call cairn_reader_region(old, 0, region, code)
    call check_error(CAIRN_ERR_USAGE, 'there are 14 regions')
    call cairn_reader_region(old, 'nothing', region, code)
    call check_error(CAIRN_ERR_USAGE, 'it has: tiny')
    call cairn_reader_read(old, 'nothing', wrong, code)
    call check_error(CAIRN_ERR_USAGE, 'it has: tiny')
    call cairn_reader_read(old, 'plate', wrong, code)
    call check_error(CAIRN_ERR_MISMATCH, 'is float64[5][4][3], and is read as float32')
    call cairn_reader_read(old, 'wave', one, code)
    call check_error(CAIRN_ERR_MISMATCH, 'complex(real64)')
    call cairn_reader_read(old, 'plate', copy(:, :, 1), code)
    call check_error(CAIRN_ERR_USAGE, '480 bytes, but the buffer has 96')
    call cairn_finalize(session, code)
    call check_error(CAIRN_ERR_USAGE, 'a reader is open')
    call cairn_reader_close(old, code, all_good=all_good)
    call check(code == CAIRN_OK .and. all_good, 'close')
    call cairn_reader_close(old, code)
    call check_error(CAIRN_ERR_USAGE, 'the reader is NULL')

    call cairn_open_snapshot(session, old, code, label='from Fortran')
    call check(code == CAIRN_OK, 'open a label')
    call cairn_reader_info(old, status, code)
    call check(status%version == newest .and. status%label == 'from Fortran' .and. status%incarnation > 0, 'a label is open')
    call cairn_reader_close(old, code, good=rank /= 0, all_good=all_good)
    call check(code == CAIRN_OK .and. .not. all_good, 'reject')
    call cairn_open_snapshot(session, old, code)
    call check(code == CAIRN_OK, 'open the newest')
    call cairn_reader_info(old, status, code)
    call check(status%version == newest - 1, 'the newest that is not rejected')
    call cairn_reader_drop(old)
    call cairn_reader_drop(old)
  end subroutine

  ! A snapshot that does not fit is an error of wait and finalize, and of no other call. The limit stays.
  subroutine run_out_of_space()
    real(real64), target, save :: large(100000)
    integer(c_intptr_t) :: before
    call check(len(cairn_storage_error(session)) == 0, 'no storage error yet')
    large = 0
    call cairn_unprotect(session, 'lines.dat', code)  ! nobody writes it here
    call cairn_protect(session, 'large', large, code)
    before = c_signal(kSigxfsz, 1_c_intptr_t)
    call check(setrlimit(kRlimitFsize, [100000_c_long, -1_c_long]) == 0, 'a limit for files')
    call cairn_snapshot_to(session, CAIRN_L1, code)
    call check(code == CAIRN_OK, 'a snapshot that does not fit')
    call cairn_wait(session, CAIRN_L1, code)
    call check_error(CAIRN_ERR_STORAGE, 'is abandoned')
    call check(index(cairn_storage_error(session), 'File too large') > 0, 'the storage error')
  end subroutine

  subroutine check_mistakes()
    call cairn_protect(session, 'part', plate(1:2, :, :), code)
    call check_error(CAIRN_ERR_USAGE, 'array section')
    call cairn_protect(session, 'a/b', scratch, code)
    call check_error(CAIRN_ERR_USAGE, 'a/b')
    call cairn_scratch_file(session, '../lines', scratch_path, code)
    call check_error(CAIRN_ERR_USAGE, '../lines')
    deallocate (scratch_path)
    call cairn_unprotect(session, 'nothing', code)
    call check_error(CAIRN_ERR_USAGE, 'nothing')
    call cairn_snapshot_to(session, 7, code)
    call check_error(CAIRN_ERR_USAGE, 'level 7')
    call cairn_protect(session, 'scratch', scratch, code)
    call check(code == CAIRN_OK, 'protect scratch')
    call cairn_unprotect(session, 'scratch', code)
    call check(code == CAIRN_OK, 'unprotect scratch')
  end subroutine

  subroutine protect_all()
    integer :: codes(14)
    call cairn_protect(session, 'tiny', tiny, codes(1))
    call cairn_protect(session, 'small', small, codes(2))
    call cairn_protect(session, 'step', step, codes(3))
    call cairn_protect(session, 'count', count, codes(4))
    call cairn_protect(session, 'coarse', coarse, codes(5))
    call cairn_protect(session, 'plate', plate, codes(6))
    call cairn_protect(session, 'wave', wave, codes(7))
    call cairn_protect(session, 'phase', phase, codes(8))
    call cairn_protect(session, 'flags', flags, codes(9))
    ! A contiguous part of an array is as good as an array.
    call cairn_protect(session, 'layer', plate(:, :, 2), codes(10))
    call cairn_protect_object(session, 'points', save_points, load_points, codes(11), kind=cairn_of_rank(rank))
    write (lines_path, '(2a, i0)') trim(directory), '/lines', rank
    call cairn_protect_file(session, 'lines', lines_path, codes(12), kind=cairn_of_rank(rank))
    write (out_path, '(2a, i0)') trim(directory), '/out', rank
    call cairn_protect_directory(session, 'out', out_path, codes(13), kind=cairn_of_rank(rank))
    call cairn_scratch_file(session, 'lines.dat', scratch_path, codes(14), kind=cairn_of_rank(rank))
    call check(all(codes == CAIRN_OK), 'protect')
    call cairn_destination(session, 'lines', trim(directory)//'/there{rank}', code)
    call check(code == CAIRN_OK, 'destination')
    call cairn_destination(session, 'step', trim(directory)//'/there', code)
    call check_error(CAIRN_ERR_USAGE, 'no file')
  end subroutine

  ! As many lines as the step says, in the file and in one in the directory.
  subroutine fill_lines(of_step)
    integer, intent(in) :: of_step
    write (lines_path, '(2a, i0)') trim(directory), '/lines', rank
    write (out_path, '(2a, i0)') trim(directory), '/out', rank
    call execute_command_line('mkdir -p '//trim(out_path))
    call fill_file(lines_path, of_step)
    call fill_file(trim(out_path)//'/lines', of_step)
    if (allocated(scratch_path)) call fill_file(scratch_path, of_step)
  end subroutine

  subroutine fill_file(path, of_step)
    character(*), intent(in) :: path
    integer, intent(in) :: of_step
    integer :: unit, i
    open (newunit=unit, file=path, action='write', status='replace')
    do i = 1, of_step
      write (unit, '(i0)') i
    end do
    close (unit)
  end subroutine

  integer function lines_in_file(path) result(count)
    character(*), intent(in) :: path
    integer :: unit, status
    open (newunit=unit, file=path, action='read')
    count = -1
    status = 0
    do while (status == 0)
      count = count + 1
      read (unit, *, iostat=status)
    end do
    close (unit)
  end function

  ! None on a fresh start.
  integer function lines_in_scratch() result(count)
    logical :: there
    inquire (file=scratch_path, exist=there)
    count = 0
    if (there) count = lines_in_file(scratch_path)
  end function

  ! As many points as the step says.
  subroutine save_points(object, code)
    type(cairn_object), intent(inout) :: object
    integer, intent(out) :: code
    call cairn_put(object, size(points))
    call cairn_put(object, points)
    code = 0
  end subroutine

  subroutine load_points(object, code)
    type(cairn_object), intent(inout) :: object
    integer, intent(out) :: code
    integer :: count
    call cairn_get(object, count)
    deallocate (points)
    allocate (points(count))
    call cairn_get(object, points)
    if (reads_too_much) call cairn_get(object, count)
    code = 0
  end subroutine

  function expected_plate(of_step) result(cells)
    integer, intent(in) :: of_step
    real(real64) :: cells(3, 4, 5)
    integer :: i
    cells = reshape([(real(1000 * rank + 100 * of_step + i, real64), i=1, size(cells))], shape(cells))
  end function

  subroutine fill(of_step)
    integer, intent(in) :: of_step
    integer :: i
    tiny = int(of_step + rank, int8)
    small = reshape(int([1, 2, 3, 4] * (of_step + 1), int16), [2, 2])
    step = of_step
    count = 10_int64**12 + of_step
    coarse = real(rank, real32) / (of_step + 1)
    plate = expected_plate(of_step)
    points = [(real(rank + i, real64), i=1, of_step)]
    call fill_lines(of_step)
    wave = cmplx(rank, of_step, real32)
    phase = cmplx(of_step, rank, real64)
    flags = [mod(of_step, 2) == 1, .true.]
  end subroutine

  logical function is_of_step(of_step)
    integer, intent(in) :: of_step
    is_of_step = all(tiny == of_step + rank) .and. all(small == reshape([1, 2, 3, 4] * (of_step + 1), [2, 2])) .and. &
      step == of_step .and. count == 10_int64**12 + of_step .and. all(plate == expected_plate(of_step)) .and. &
      all(coarse == real(rank, real32) / (of_step + 1)) .and. all(wave == cmplx(rank, of_step, real32)) .and. &
      phase == cmplx(of_step, rank, real64) .and. are_points_of_step(of_step) .and. &
      lines_in_file(lines_path) == of_step .and. lines_in_scratch() == of_step .and. &
      lines_in_file(trim(out_path)//'/lines') == of_step .and. &
      all(flags .eqv. [mod(of_step, 2) == 1, .true.])
  end function

  logical function are_points_of_step(of_step)
    integer, intent(in) :: of_step
    integer :: i
    are_points_of_step = size(points) == of_step
    if (are_points_of_step) are_points_of_step = all(points == [(real(rank + i, real64), i=1, of_step)])
  end function

  subroutine write_configuration()
    integer :: unit
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    if (rank == 0) then
      open (newunit=unit, file=trim(directory)//'/fortran.ini', action='write')
      write (unit, '(a)') '[storage]', 'local = '//trim(directory)//'/local', 'global = '//trim(directory)//'/global', &
        '[levels]', 'l1 = every 1', 'l2 = every 100', 'l3 = off', '[topology]', 'node_size = 2', '[restart]', &
        'at_end = continue'
      close (unit)
    end if
    call MPI_Barrier(MPI_COMM_WORLD)
  end subroutine

  subroutine check(good, what)
    logical, intent(in) :: good
    character(*), intent(in) :: what
    if (good) return
    write (error_unit, '(4a)') 'fortran_api: ', what, '; last error: ', cairn_error_text()
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine

  subroutine check_error(expected, part)
    integer, intent(in) :: expected
    character(*), intent(in) :: part
    call check(code == expected .and. index(cairn_error_text(), part) > 0, 'expected an error that says '//part)
  end subroutine

end program
