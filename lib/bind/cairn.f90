! Cairn for Fortran applications that use MPI. This module calls the C API; the comments of <cairn/cairn.h> apply here,
! too. They explain regions, snapshots, heads, safe points and errors. A program protects its variables and takes
! snapshots of them:
!
!     use mpi_f08
!     use cairn
!     type(cairn_session) :: session
!     real(real64), allocatable, target :: plate(:, :)
!     integer, target :: step = 0
!
!     call cairn_init(MPI_COMM_WORLD, 'heat.ini', session, code)
!     if (code == CAIRN_HEAD) ...                        ! this rank was a head or a spare, and has served: end it
!     if (code /= CAIRN_OK) ...                          ! all ranks have this error, and Cairn has logged it
!     call cairn_protect(session, 'plate', plate, code)
!     call cairn_protect(session, 'step', step, code)
!     call cairn_restore(session, code)                  ! does nothing on a fresh start
!     do while (step < steps)
!       call relax(plate, cairn_comm(session))           ! the application communicates over cairn_comm(session)
!       step = step + 1                                  ! before the snapshot
!       call cairn_snapshot(session, code)               ! takes a snapshot if one is due
!     end do
!     call cairn_finalize(session, code)
!
! With [recovery] mode = spares or respawn, the job continues after a process dies. The first call that detects the
! failure gives CAIRN_ROLLBACK. The application then calls cairn_recover and returns to the place after cairn_init.
! examples/wave shows it. With [recovery] rollback = lost, survivors stay in their MPI calls instead, if Cairn can
! replay the messages.
!
! A protected variable has the attribute target, is contiguous, and keeps its address until the session ends or it is
! unprotected. After move_alloc, after an array is allocated again, or after pointers are swapped, call cairn_protect
! again for each of these arrays, before the next cairn_snapshot. Otherwise Cairn copies from the old addresses, without
! an error, and a restart computes with wrong numbers. examples/wave swaps two arrays.
!
! The argument code of each subroutine gets CAIRN_OK, or the code of what happened.
module cairn
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use mpi_f08, only: MPI_Comm
  implicit none
  private

  ! A process's part in a job that Cairn protects. cairn_init makes it, cairn_finalize ends it. Copies are the same
  ! session.
  type, public :: cairn_session
    private
    type(c_ptr) :: handle = c_null_ptr
  end type

  ! What the last restore did.
  type, bind(c), public :: cairn_restore_status
    integer(c_int) :: restored           ! 1; 0: a fresh start, nothing was restored
    integer(c_int32_t) :: incarnation    ! number of the run that took the restored snapshot
    integer(c_int32_t) :: version        ! of the restored snapshot
    integer(c_int32_t) :: ranks_from(4)  ! application ranks of the job whose shard came from L1, L2, L3, L4
    integer(c_int) :: my_level           ! level from which this rank's shard came: CAIRN_L1 to CAIRN_L4
    integer(c_int32_t) :: lost_nodes     ! number of nodes that took part in the snapshot and whose store is missing
    real(c_double) :: seconds            ! that the restore took
    integer(c_int32_t) :: old_ranks      ! application ranks of the job that took the restored snapshot
    ! Bytes of messages between nodes, of the whole job: shards, and elements that ranks exchange. Reads of L4 do not
    ! count.
    integer(c_int64_t) :: bytes_moved
  end type

  ! A snapshot that is open for reading, while the job runs:
  !
  !     call cairn_open_snapshot(session, old, code, version=7)
  !     call cairn_reader_region(old, 'plate', region, code)
  !     allocate (copy(region%shape(1), region%shape(2)))
  !     call cairn_reader_read(old, 'plate', copy, code)
  !     call cairn_reader_close(old, code, good=is_good(copy), all_good=all_good)
  !
  ! It keeps its contents until it is closed: cairn_snapshot and cairn_restore do not change them. It takes the room of
  ! one snapshot in the node's store, in addition to those that are kept, until the next snapshot after it is closed.
  ! Copies are the same reader.
  type, public :: cairn_reader
    private
    type(c_ptr) :: handle = c_null_ptr
  end type

  ! What is open.
  type, public :: cairn_reader_status
    integer(int32) :: version = 0          ! of the snapshot
    integer(int32) :: incarnation = 0      ! number of the run that took the snapshot
    character(:), allocatable :: label     ! empty: it has none
    integer :: regions = 0                 ! number of regions of this rank
  end type

  ! A region as this rank has it in a snapshot.
  type, public :: cairn_region_info
    character(:), allocatable :: name      ! of the region
    character(:), allocatable :: type_text ! for a person, in C order: "float64[100][20]", "object(123 B)"
    integer(int64) :: element_bytes = 0    ! of one element
    integer(int64) :: elements = 0         ! number of elements, with ghosts
    integer(int64) :: bytes = 0            ! of the region
    integer(int64), allocatable :: shape(:)  ! as shape() gives it, with ghosts; no element: one value
  end type

  ! What the C API gives for these.
  type, bind(c) :: c_reader_status
    integer(c_int32_t) :: version, incarnation
    type(c_ptr) :: label
    integer(c_size_t) :: regions
  end type
  type, bind(c) :: c_region_info
    type(c_ptr) :: name, type_text
    integer(c_int) :: type
    integer(c_size_t) :: element_bytes, elements, bytes, dimensions
    type(c_ptr) :: shape
  end type

  ! What a region is to the whole job: the argument kind of cairn_protect. cairn_same: all ranks have the same value,
  ! such as a step counter. cairn_sequence: the elements of all ranks, in the order of ranks, are one sequence, such as
  ! particles. An element is one step in the last dimension. cairn_sequence_part, cairn_like and cairn_of_rank return
  ! the other kinds; cairn.h describes all of them.
  integer, parameter :: kUnsaid = 0, kSame = 1, kSequence = 2, kSequencePart = 3, kLike = 4, kOfRank = 5
  type, public :: cairn_kind
    private
    integer :: what = kUnsaid
    integer(int64) :: first = 0, count = 0  ! of a part; first: also the number of an old rank
    character(255) :: sequence = ' '        ! that it is cut like
  end type
  type(cairn_kind), parameter, public :: cairn_same = cairn_kind(kSame), cairn_sequence = cairn_kind(kSequence)

  ! An object that is being saved or loaded: see cairn_protect_object.
  type, public :: cairn_object
    private
    type(c_ptr) :: handle = c_null_ptr         ! while it is saved
    integer(c_int8_t), pointer :: bytes(:) => null()  ! while it is loaded
    integer(c_size_t) :: position = 0          ! in these
    logical :: failed = .false.
  end type

  ! Codes of calls; cairn.h describes them.
  integer, parameter, public :: CAIRN_OK = 0, CAIRN_HEAD = 1, CAIRN_ROLLBACK = 2
  integer, parameter, public :: CAIRN_ERR_USAGE = -1, CAIRN_ERR_CONFIG = -2, CAIRN_ERR_STORAGE = -3, &
    CAIRN_ERR_CORRUPT = -4, CAIRN_ERR_UNRECOVERABLE = -5, CAIRN_ERR_MISMATCH = -6, CAIRN_ERR_TAKEN_OVER = -7, &
    CAIRN_ERR_COMMUNICATION = -8
  ! How this process entered the application: see cairn_state.
  integer, parameter, public :: CAIRN_FRESH = 0, CAIRN_SURVIVOR = 1, CAIRN_REPLACEMENT = 2
  ! How severe a line of the log is.
  integer, parameter, public :: CAIRN_LOG_ERROR = 0, CAIRN_LOG_WARNING = 1, CAIRN_LOG_INFO = 2, CAIRN_LOG_DEBUG = 3
  ! Where a snapshot is stored: in the node's own store, on partner nodes, erasure-coded, on the parallel file system.
  integer, parameter, public :: CAIRN_L1 = 1, CAIRN_L2 = 2, CAIRN_L3 = 3, CAIRN_L4 = 4

  public :: cairn_run, cairn_application
  public :: cairn_init, cairn_protect, cairn_unprotect, cairn_due, cairn_snapshot, cairn_snapshot_to, cairn_wait, &
    cairn_storage_error, cairn_stored_elements, cairn_restore, cairn_get_comm, &
    cairn_restore_version, cairn_restore_label, cairn_label, cairn_pin, cairn_attribute, &
    cairn_restore_region, cairn_restore_info, cairn_comm, cairn_watch, cairn_suspect, cairn_should_stop, cairn_failed, &
    cairn_catches_up, cairn_recover, cairn_state, cairn_finalize, cairn_abandon, cairn_version, cairn_build_info, &
    cairn_error_text, cairn_set_log, cairn_log
  public :: cairn_open_snapshot, cairn_reader_info, cairn_reader_region, cairn_reader_read, cairn_reader_extract, &
    cairn_reader_close, cairn_reader_drop
  public :: cairn_protect_file, cairn_protect_directory, cairn_scratch_file, cairn_destination
  public :: cairn_protect_object, cairn_save, cairn_load, cairn_put, cairn_get
  public :: cairn_safe_version, cairn_stored_total, cairn_sequence_part, cairn_like, cairn_of_rank

  ! A subroutine that receives a line of the log: see cairn_set_log.
  abstract interface
    subroutine cairn_log(level, line)
      integer, intent(in) :: level
      character(*), intent(in) :: line
    end subroutine
  end interface
  procedure(cairn_log), pointer :: the_log => null()

  ! A subroutine that cairn_run calls. code: CAIRN_OK when the work is done. Another number is a failure of the
  ! application; that may be the code of a Cairn call.
  abstract interface
    subroutine cairn_application(session, code)
      import :: cairn_session
      type(cairn_session), intent(inout) :: session
      integer, intent(out) :: code
    end subroutine
  end interface
  type :: program_type
    procedure(cairn_application), pointer, nopass :: application => null()
  end type

  ! Subroutines that save and load an object. code: 0, or another number if the object cannot be saved or loaded.
  abstract interface
    subroutine cairn_save(object, code)
      import :: cairn_object
      type(cairn_object), intent(inout) :: object
      integer, intent(out) :: code
    end subroutine
    subroutine cairn_load(object, code)
      import :: cairn_object
      type(cairn_object), intent(inout) :: object
      integer, intent(out) :: code
    end subroutine
  end interface
  type :: object_functions
    procedure(cairn_save), pointer, nopass :: save => null()
    procedure(cairn_load), pointer, nopass :: load => null()
  end type

  ! cairn_put(object, data), for a subroutine cairn_save: adds a number or an array to an object. cairn_get(object,
  ! data), for a subroutine cairn_load: reads what cairn_put has added, in the same order. Reading more than was added
  ! fails the restore. data is contiguous: a real of 32 or 64 bits, or an integer of 8, 32 or 64 bits. Local.
  interface cairn_put
    procedure put_int8, put_int32, put_int64, put_real32, put_real64
  end interface
  interface cairn_get
    procedure get_int8, get_int32, get_int64, get_real32, get_real64
  end interface

  ! In the calls below, a communicator is a type(MPI_Comm) of the module mpi_f08, or an integer of the module mpi or of
  ! mpif.h.

  ! cairn_run(world, config, application, code): opens a session, calls application(session, code), and finalizes the
  ! session. Heads and spares do not call it. config is the path of the configuration file; only rank 0 of world reads
  ! it. Blank means the defaults. In a job that repairs itself, a failure leaves application by an exception, and all
  ! ranks call it again: see the comments of cairn_run in cairn.h. It then sets all variables that it uses, also those of
  ! modules. What a module has allocated stays allocated: test allocated() first. Memory of the subroutine's own allocatable
  ! variables is lost, so keep large arrays in a module.
  ! Collective over world. Requires: MPI is initialized. application is a module procedure or external; gfortran writes
  ! the unwind tables that the exception needs on x86-64 and arm64. code: 0, or 1 on all ranks if the application failed.
  interface cairn_run
    procedure run_f08, run_mpi
  end interface

  ! cairn_init(world, config, session, code): opens a session. config is the path of the configuration file; only rank 0
  ! of world reads it. Blank means the defaults. On a head or a spare, the call serves until the job is over for it.
  ! Collective over world. Requires: MPI is initialized. The code is the same on all ranks, except for CAIRN_HEAD.
  interface cairn_init
    procedure init_f08, init_mpi
  end interface

  ! cairn_get_comm(session, comm, code): sets comm to the communicator that cairn_comm returns. For programs that use
  ! integer communicators. Local.
  interface cairn_get_comm
    procedure get_comm_f08, get_comm_mpi
  end interface

  ! cairn_watch(session, comm, code): adds a communicator to those that Cairn revokes when a process dies. Call this for
  ! a communicator that was not made from that of cairn_comm. Local. Each member calls it before it first waits there.
  interface cairn_watch
    procedure watch_f08, watch_mpi
  end interface

  ! cairn_protect(session, name, data, code [, global_shape, offset, ghosts_before, ghosts_after, kind]): protects a
  ! scalar or an array of any number of dimensions. Its type is integer of 8 to 64 bits, real or complex of 32 or 64
  ! bits, or logical. Its shape is stored in C order, last dimension first. The shape is fixed: cairn_restore gives
  ! CAIRN_ERR_MISMATCH if the snapshot has another one.
  !
  ! An array of integers or reals may be this rank's part of a global array that spans ranks; L4 files show that array
  ! as one. global_shape is its shape. offset has, for each dimension, the number of its elements before the part. Pass
  ! both or neither. ghosts_before and ghosts_after are the widths of ghosts, elements around the rank's own ones. data
  ! contains them; offset is that of the first own element. See cairn_protect_block in cairn.h.
  !
  ! kind says what the region is to the whole job, if it is no part of a global array. With [restart] elastic = on, the
  ! job may then have another number of ranks than its snapshot. An array that is a sequence must have room for exactly
  ! this rank's share: ask cairn_stored_elements and cairn_stored_total for it, allocate the array, and protect it.
  !
  ! Cairn keeps the address of data, not the variable. After move_alloc, a new allocation or a swap of pointers, call
  ! cairn_protect again with the same name: it replaces the region, which keeps its kind. The call is cheap, and may be
  ! made at each step.
  !
  ! Local. Requires: data outlives the session or is unprotected first. The caller owns it. Gives CAIRN_ERR_USAGE if an
  ! argument is not valid, such as a section of an array that is not contiguous.
  interface cairn_protect
    procedure protect_int8, protect_int16, protect_int32, protect_int64, protect_real32, protect_real64, &
      protect_complex32, protect_complex64, protect_logical
  end interface

  ! cairn_attribute(session, name, value, code [, region]) sets an attribute of this snapshot and of later ones, such as
  ! the simulated time: a whole number, a number or a text. With region it is of that region, such as a unit. See
  ! cairn_attribute_number in cairn.h.
  !
  ! Local. All ranks set the same attributes, or none. Gives CAIRN_ERR_USAGE if name or value are not valid.
  interface cairn_attribute
    procedure attribute_int32, attribute_int64, attribute_real32, attribute_real64, attribute_text
  end interface

  ! cairn_reader_region(reader, which, region, code) sets region to a region of this rank. which is its name; or its
  ! number from 1, in the order in which they were protected. Local. Gives CAIRN_ERR_USAGE if there is none.
  interface cairn_reader_region
    procedure reader_region_by_name, reader_region_by_number
  end interface

  ! cairn_reader_read(reader, name, into, code [, bytes]) copies this rank's region into a variable or an array of any
  ! shape, from its first element on. into has at least as many bytes as the region; what is behind them is not
  ! changed. bytes gets the number of bytes of the region. into has the type with which the region was protected.
  ! Integers of 8 bits get the bytes of any region: of an object, those that it was saved as; of a file, its contents.
  ! Each block is checked. Ranks may read different regions.
  !
  ! Local. Gives CAIRN_ERR_USAGE if the snapshot has no such region on this rank, or if the region is larger than into.
  ! CAIRN_ERR_MISMATCH if it has elements of another type. CAIRN_ERR_CORRUPT if the store has damaged the bytes.
  interface cairn_reader_read
    procedure read_int8, read_int16, read_int32, read_int64, read_real32, read_real64, read_complex32, read_complex64, &
      read_logical
  end interface

  ! The numbers of cairn_type in cairn.h.
  integer(c_int), parameter :: kOpaque = 0, kInt8 = 1, kInt16 = 2, kInt32 = 3, kInt64 = 4, kFloat = 9, kDouble = 10

  interface
    function c_run(world, config, application, call, argument) bind(c, name='cairn_run_fortran') result(code)
      import :: c_int, c_char, c_funptr, c_ptr
      integer(c_int), value :: world
      character(kind=c_char), intent(in) :: config(*)
      type(c_funptr), value :: application, call
      type(c_ptr), value :: argument
      integer(c_int) :: code
    end function
    function c_init(world, config, session) bind(c, name='cairn_init_fortran') result(code)
      import :: c_int, c_char, c_ptr
      integer(c_int), value :: world
      character(kind=c_char), intent(in) :: config(*)
      type(c_ptr), intent(out) :: session
      integer(c_int) :: code
    end function
    function c_comm(session, comm) bind(c, name='cairn_comm_fortran') result(code)
      import :: c_int, c_ptr
      type(c_ptr), value :: session
      integer(c_int), intent(out) :: comm
      integer(c_int) :: code
    end function
    function c_watch(session, comm) bind(c, name='cairn_watch_fortran') result(code)
      import :: c_int, c_ptr
      type(c_ptr), value :: session
      integer(c_int), value :: comm
      integer(c_int) :: code
    end function
    function c_protect_array(session, name, data, type_number, dims, extents) bind(c, name='cairn_protect_array') &
      result(code)
      import :: c_int, c_char, c_ptr, c_size_t
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), value :: data
      integer(c_int), value :: type_number, dims
      integer(c_size_t), intent(in) :: extents(*)
      integer(c_int) :: code
    end function
    function c_protect_block(session, name, data, type_number, dims, extents, global_shape, offset, ghosts_before, &
      ghosts_after) bind(c, name='cairn_protect_block') result(code)
      import :: c_int, c_char, c_ptr, c_size_t
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), value :: data
      integer(c_int), value :: type_number, dims
      integer(c_size_t), intent(in) :: extents(*), global_shape(*), offset(*), ghosts_before(*), ghosts_after(*)
      integer(c_int) :: code
    end function
    function c_kind_same(session, name) bind(c, name='cairn_kind_same') result(code)
      import :: c_int, c_char, c_ptr
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int) :: code
    end function
    function c_kind_sequence(session, name) bind(c, name='cairn_kind_sequence') result(code)
      import :: c_int, c_char, c_ptr
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int) :: code
    end function
    function c_kind_sequence_part(session, name, first, count) bind(c, name='cairn_kind_sequence_part') result(code)
      import :: c_int, c_char, c_ptr, c_size_t
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: name(*)
      integer(c_size_t), value :: first, count
      integer(c_int) :: code
    end function
    function c_kind_like(session, name, sequence) bind(c, name='cairn_kind_like') result(code)
      import :: c_int, c_char, c_ptr
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: name(*), sequence(*)
      integer(c_int) :: code
    end function
    function c_kind_of_rank(session, name, rank) bind(c, name='cairn_kind_of_rank') result(code)
      import :: c_int, c_char, c_int32_t, c_ptr
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int32_t), value :: rank
      integer(c_int) :: code
    end function
    function c_protect_opaque(session, name, data, type_name, bytes, count) bind(c, name='cairn_protect_opaque') &
      result(code)
      import :: c_int, c_char, c_ptr, c_size_t
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: name(*), type_name(*)
      type(c_ptr), value :: data
      integer(c_size_t), value :: bytes, count
      integer(c_int) :: code
    end function
    function c_refuse_part(name) bind(c, name='cairn_refuse_part_fortran') result(code)
      import :: c_int, c_char
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int) :: code
    end function
    function c_stored_elements(session, name, count) bind(c, name='cairn_stored_elements') result(code)
      import :: c_int, c_char, c_ptr, c_size_t
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: name(*)
      integer(c_size_t), intent(out) :: count
      integer(c_int) :: code
    end function
    function c_stored_total(session, name, count) bind(c, name='cairn_stored_total') result(code)
      import :: c_int, c_char, c_ptr, c_size_t
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: name(*)
      integer(c_size_t), intent(out) :: count
      integer(c_int) :: code
    end function
    function c_refuse_section(name) bind(c, name='cairn_refuse_section_fortran') result(code)
      import :: c_int, c_char
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int) :: code
    end function
    function c_protect_object(session, name, save, load, data) bind(c, name='cairn_protect_object') result(code)
      import :: c_ptr, c_funptr, c_char, c_int
      type(c_ptr), value :: session, data
      character(kind=c_char), intent(in) :: name(*)
      type(c_funptr), value :: save, load
      integer(c_int) :: code
    end function
    function c_protect_file(session, name, path) bind(c, name='cairn_protect_file') result(code)
      import :: c_ptr, c_char, c_int
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: name(*), path(*)
      integer(c_int) :: code
    end function
    function c_protect_directory(session, name, path) bind(c, name='cairn_protect_directory') result(code)
      import :: c_ptr, c_char, c_int
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: name(*), path(*)
      integer(c_int) :: code
    end function
    function c_scratch_file(session, name, path) bind(c, name='cairn_scratch_file') result(code)
      import :: c_ptr, c_char, c_int
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), intent(out) :: path
      integer(c_int) :: code
    end function
    function c_destination(session, name, path) bind(c, name='cairn_destination') result(code)
      import :: c_ptr, c_char, c_int
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: name(*), path(*)
      integer(c_int) :: code
    end function
    function c_put(object, bytes, count) bind(c, name='cairn_put') result(code)
      import :: c_ptr, c_size_t, c_int
      type(c_ptr), value :: object, bytes
      integer(c_size_t), value :: count
      integer(c_int) :: code
    end function
    function c_unprotect(session, name) bind(c, name='cairn_unprotect') result(code)
      import :: c_int, c_char, c_ptr
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int) :: code
    end function
    function c_snapshot(session, version) bind(c, name='cairn_snapshot') result(code)
      import :: c_int, c_int32_t, c_ptr
      type(c_ptr), value :: session
      integer(c_int32_t), intent(out) :: version
      integer(c_int) :: code
    end function
    function c_due(session, due) bind(c, name='cairn_due') result(code)
      import :: c_int, c_ptr
      type(c_ptr), value :: session
      integer(c_int), intent(out) :: due
      integer(c_int) :: code
    end function
    function c_snapshot_to(session, level, version) bind(c, name='cairn_snapshot_to') result(code)
      import :: c_int, c_int32_t, c_ptr
      type(c_ptr), value :: session
      integer(c_int), value :: level
      integer(c_int32_t), intent(out) :: version
      integer(c_int) :: code
    end function
    function c_wait(session, level) bind(c, name='cairn_wait') result(code)
      import :: c_int, c_ptr
      type(c_ptr), value :: session
      integer(c_int), value :: level
      integer(c_int) :: code
    end function
    function c_safe_version(session, level, version) bind(c, name='cairn_safe_version') result(code)
      import :: c_int, c_int32_t, c_ptr
      type(c_ptr), value :: session
      integer(c_int), value :: level
      integer(c_int32_t), intent(out) :: version
      integer(c_int) :: code
    end function
    function c_storage_error(session) bind(c, name='cairn_storage_error') result(text)
      import :: c_ptr
      type(c_ptr), value :: session
      type(c_ptr) :: text
    end function
    function c_restore(session) bind(c, name='cairn_restore') result(code)
      import :: c_int, c_ptr
      type(c_ptr), value :: session
      integer(c_int) :: code
    end function
    function c_restore_version(session, version) bind(c, name='cairn_restore_version') result(code)
      import :: c_int, c_int32_t, c_ptr
      type(c_ptr), value :: session
      integer(c_int32_t), value :: version
      integer(c_int) :: code
    end function
    function c_restore_label(session, label) bind(c, name='cairn_restore_label') result(code)
      import :: c_int, c_char, c_ptr
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: label(*)
      integer(c_int) :: code
    end function
    function c_label(session, label) bind(c, name='cairn_label') result(code)
      import :: c_int, c_char, c_ptr
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: label(*)
      integer(c_int) :: code
    end function
    function c_pin(session) bind(c, name='cairn_pin') result(code)
      import :: c_int, c_ptr
      type(c_ptr), value :: session
      integer(c_int) :: code
    end function
    function c_attribute_number(session, region, name, value) bind(c, name='cairn_attribute_number') result(code)
      import :: c_int, c_char, c_double, c_ptr
      type(c_ptr), value :: session, region
      character(kind=c_char), intent(in) :: name(*)
      real(c_double), value :: value
      integer(c_int) :: code
    end function
    function c_attribute_whole(session, region, name, value) bind(c, name='cairn_attribute_whole') result(code)
      import :: c_int, c_char, c_int64_t, c_ptr
      type(c_ptr), value :: session, region
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t), value :: value
      integer(c_int) :: code
    end function
    function c_attribute_text(session, region, name, text) bind(c, name='cairn_attribute_text') result(code)
      import :: c_int, c_char, c_ptr
      type(c_ptr), value :: session, region
      character(kind=c_char), intent(in) :: name(*), text(*)
      integer(c_int) :: code
    end function
    function c_restore_region(session, name) bind(c, name='cairn_restore_region') result(code)
      import :: c_int, c_char, c_ptr
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int) :: code
    end function
    function c_restore_info(session, status) bind(c, name='cairn_restore_info') result(code)
      import :: c_int, c_ptr, cairn_restore_status
      type(c_ptr), value :: session
      type(cairn_restore_status), intent(out) :: status
      integer(c_int) :: code
    end function
    function c_open_snapshot(session, version, label, reader) bind(c, name='cairn_open_snapshot') result(code)
      import :: c_int, c_int32_t, c_ptr
      type(c_ptr), value :: session, label
      integer(c_int32_t), value :: version
      type(c_ptr), intent(out) :: reader
      integer(c_int) :: code
    end function
    function c_reader_info(reader, status) bind(c, name='cairn_reader_info') result(code)
      import :: c_int, c_ptr, c_reader_status
      type(c_ptr), value :: reader
      type(c_reader_status), intent(out) :: status
      integer(c_int) :: code
    end function
    function c_reader_region(reader, index, region) bind(c, name='cairn_reader_region') result(code)
      import :: c_int, c_ptr, c_region_info, c_size_t
      type(c_ptr), value :: reader
      integer(c_size_t), value :: index
      type(c_region_info), intent(out) :: region
      integer(c_int) :: code
    end function
    function c_reader_find(reader, name, index) bind(c, name='cairn_reader_find_fortran') result(code)
      import :: c_char, c_int, c_ptr, c_size_t
      type(c_ptr), value :: reader
      character(kind=c_char), intent(in) :: name(*)
      integer(c_size_t), intent(out) :: index
      integer(c_int) :: code
    end function
    function c_reader_read(reader, name, into, capacity, type_number, element_bytes, type_name, bytes) &
      bind(c, name='cairn_reader_read_fortran') result(code)
      import :: c_char, c_int, c_ptr, c_size_t
      type(c_ptr), value :: reader, into
      character(kind=c_char), intent(in) :: name(*), type_name(*)
      integer(c_size_t), value :: capacity, element_bytes
      integer(c_int), value :: type_number
      integer(c_size_t), intent(out) :: bytes
      integer(c_int) :: code
    end function
    function c_reader_extract(reader, name, path) bind(c, name='cairn_reader_extract') result(code)
      import :: c_char, c_int, c_ptr
      type(c_ptr), value :: reader
      character(kind=c_char), intent(in) :: name(*), path(*)
      integer(c_int) :: code
    end function
    function c_reader_close(reader, good, all_good) bind(c, name='cairn_reader_close') result(code)
      import :: c_int, c_ptr
      type(c_ptr), intent(inout) :: reader
      integer(c_int), value :: good
      integer(c_int), intent(out) :: all_good
      integer(c_int) :: code
    end function
    subroutine c_reader_drop(reader) bind(c, name='cairn_reader_drop')
      import :: c_ptr
      type(c_ptr), intent(inout) :: reader
    end subroutine
    function c_suspect(session, text) bind(c, name='cairn_suspect') result(code)
      import :: c_char, c_int, c_ptr
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: text(*)
      integer(c_int) :: code
    end function
    function c_should_stop(session) bind(c, name='cairn_should_stop') result(yes)
      import :: c_int, c_ptr
      type(c_ptr), value :: session
      integer(c_int) :: yes
    end function
    function c_catches_up(session) bind(c, name='cairn_catches_up') result(yes)
      import :: c_int, c_ptr
      type(c_ptr), value :: session
      integer(c_int) :: yes
    end function
    function c_failed(session) bind(c, name='cairn_failed') result(yes)
      import :: c_int, c_ptr
      type(c_ptr), value :: session
      integer(c_int) :: yes
    end function
    function c_recover(session) bind(c, name='cairn_recover') result(code)
      import :: c_int, c_ptr
      type(c_ptr), value :: session
      integer(c_int) :: code
    end function
    function c_state(session) bind(c, name='cairn_state') result(state)
      import :: c_int, c_ptr
      type(c_ptr), value :: session
      integer(c_int) :: state
    end function
    function c_finalize(session) bind(c, name='cairn_finalize') result(code)
      import :: c_int, c_ptr
      type(c_ptr), intent(inout) :: session
      integer(c_int) :: code
    end function
    subroutine c_abandon(session) bind(c, name='cairn_abandon')
      import :: c_ptr
      type(c_ptr), intent(inout) :: session
    end subroutine
    subroutine c_set_log(log, data) bind(c, name='cairn_set_log')
      import :: c_funptr, c_ptr
      type(c_funptr), value :: log
      type(c_ptr), value :: data
    end subroutine
    function c_version() bind(c, name='cairn_version') result(number)
      import :: c_int
      integer(c_int) :: number
    end function
    function c_build_info() bind(c, name='cairn_build_info') result(text)
      import :: c_ptr
      type(c_ptr) :: text
    end function
    function c_error_text() bind(c, name='cairn_error_text') result(text)
      import :: c_ptr
      type(c_ptr) :: text
    end function
    function c_strlen(text) bind(c, name='strlen') result(length)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
      integer(c_size_t) :: length
    end function
  end interface

contains

  subroutine run_f08(world, config, application, code)
    type(MPI_Comm), intent(in) :: world
    character(*), intent(in) :: config
    procedure(cairn_application) :: application
    integer, intent(out) :: code
    call run_mpi(world%MPI_VAL, config, application, code)
  end subroutine

  subroutine run_mpi(world, config, application, code)
    integer, intent(in) :: world
    character(*), intent(in) :: config
    procedure(cairn_application) :: application
    integer, intent(out) :: code
    type(program_type), target :: program
    program%application => application
    code = c_run(world, c_text(config), c_funloc(application), c_funloc(call_application), c_loc(program))
  end subroutine

  function call_application(handle, program) bind(c) result(code)
    type(c_ptr), value :: handle, program
    integer(c_int) :: code
    type(program_type), pointer :: given
    type(cairn_session) :: session
    call c_f_pointer(program, given)
    session%handle = handle
    call given%application(session, code)
  end function

  subroutine init_f08(world, config, session, code)
    type(MPI_Comm), intent(in) :: world
    character(*), intent(in) :: config
    type(cairn_session), intent(out) :: session
    integer, intent(out) :: code
    code = c_init(world%MPI_VAL, c_text(config), session%handle)
  end subroutine

  subroutine init_mpi(world, config, session, code)
    integer, intent(in) :: world
    character(*), intent(in) :: config
    type(cairn_session), intent(out) :: session
    integer, intent(out) :: code
    code = c_init(world, c_text(config), session%handle)
  end subroutine

  subroutine protect_int8(session, name, data, code, global_shape, offset, ghosts_before, ghosts_after, kind)
    type(cairn_session), intent(in) :: session
    character(*), intent(in) :: name
    integer(int8), target, intent(inout) :: data(..)
    integer, intent(out) :: code
    integer(int64), optional, intent(in) :: global_shape(:), offset(:), ghosts_before(:), ghosts_after(:)
    type(cairn_kind), optional, intent(in) :: kind
    code = protect(session, name, c_loc(data), kInt8, shape(data, c_size_t), is_contiguous(data), global_shape, offset, &
      ghosts_before, ghosts_after, kind)
  end subroutine

  subroutine protect_int16(session, name, data, code, global_shape, offset, ghosts_before, ghosts_after, kind)
    type(cairn_session), intent(in) :: session
    character(*), intent(in) :: name
    integer(int16), target, intent(inout) :: data(..)
    integer, intent(out) :: code
    integer(int64), optional, intent(in) :: global_shape(:), offset(:), ghosts_before(:), ghosts_after(:)
    type(cairn_kind), optional, intent(in) :: kind
    code = protect(session, name, c_loc(data), kInt16, shape(data, c_size_t), is_contiguous(data), global_shape, offset, &
      ghosts_before, ghosts_after, kind)
  end subroutine

  subroutine protect_int32(session, name, data, code, global_shape, offset, ghosts_before, ghosts_after, kind)
    type(cairn_session), intent(in) :: session
    character(*), intent(in) :: name
    integer(int32), target, intent(inout) :: data(..)
    integer, intent(out) :: code
    integer(int64), optional, intent(in) :: global_shape(:), offset(:), ghosts_before(:), ghosts_after(:)
    type(cairn_kind), optional, intent(in) :: kind
    code = protect(session, name, c_loc(data), kInt32, shape(data, c_size_t), is_contiguous(data), global_shape, offset, &
      ghosts_before, ghosts_after, kind)
  end subroutine

  subroutine protect_int64(session, name, data, code, global_shape, offset, ghosts_before, ghosts_after, kind)
    type(cairn_session), intent(in) :: session
    character(*), intent(in) :: name
    integer(int64), target, intent(inout) :: data(..)
    integer, intent(out) :: code
    integer(int64), optional, intent(in) :: global_shape(:), offset(:), ghosts_before(:), ghosts_after(:)
    type(cairn_kind), optional, intent(in) :: kind
    code = protect(session, name, c_loc(data), kInt64, shape(data, c_size_t), is_contiguous(data), global_shape, offset, &
      ghosts_before, ghosts_after, kind)
  end subroutine

  subroutine protect_real32(session, name, data, code, global_shape, offset, ghosts_before, ghosts_after, kind)
    type(cairn_session), intent(in) :: session
    character(*), intent(in) :: name
    real(real32), target, intent(inout) :: data(..)
    integer, intent(out) :: code
    integer(int64), optional, intent(in) :: global_shape(:), offset(:), ghosts_before(:), ghosts_after(:)
    type(cairn_kind), optional, intent(in) :: kind
    code = protect(session, name, c_loc(data), kFloat, shape(data, c_size_t), is_contiguous(data), global_shape, offset, &
      ghosts_before, ghosts_after, kind)
  end subroutine

  subroutine protect_real64(session, name, data, code, global_shape, offset, ghosts_before, ghosts_after, kind)
    type(cairn_session), intent(in) :: session
    character(*), intent(in) :: name
    real(real64), target, intent(inout) :: data(..)
    integer, intent(out) :: code
    integer(int64), optional, intent(in) :: global_shape(:), offset(:), ghosts_before(:), ghosts_after(:)
    type(cairn_kind), optional, intent(in) :: kind
    code = protect(session, name, c_loc(data), kDouble, shape(data, c_size_t), is_contiguous(data), global_shape, offset, &
      ghosts_before, ghosts_after, kind)
  end subroutine

  ! Types that cairn_type does not have are stored as opaque elements with these names.
  subroutine protect_complex32(session, name, data, code, kind)
    type(cairn_session), intent(in) :: session
    character(*), intent(in) :: name
    complex(real32), target, intent(inout) :: data(..)
    integer, intent(out) :: code
    type(cairn_kind), optional, intent(in) :: kind
    code = protect_opaque(session, name, c_loc(data), 'complex(real32)', 8_c_size_t, size(data, kind=c_size_t), &
      is_contiguous(data), kind)
  end subroutine

  subroutine protect_complex64(session, name, data, code, kind)
    type(cairn_session), intent(in) :: session
    character(*), intent(in) :: name
    complex(real64), target, intent(inout) :: data(..)
    integer, intent(out) :: code
    type(cairn_kind), optional, intent(in) :: kind
    code = protect_opaque(session, name, c_loc(data), 'complex(real64)', 16_c_size_t, size(data, kind=c_size_t), &
      is_contiguous(data), kind)
  end subroutine

  subroutine protect_logical(session, name, data, code, kind)
    type(cairn_session), intent(in) :: session
    character(*), intent(in) :: name
    logical, target, intent(inout) :: data(..)
    integer, intent(out) :: code
    type(cairn_kind), optional, intent(in) :: kind
    code = protect_opaque(session, name, c_loc(data), 'logical', storage_size(.true., c_size_t) / 8_c_size_t, &
      size(data, kind=c_size_t), is_contiguous(data), kind)
  end subroutine

  ! Returns the kind of a sequence of which this rank gets count elements; first of them are before its part. Local.
  pure type(cairn_kind) function cairn_sequence_part(first, count) result(kind)
    integer(int64), intent(in) :: first, count
    kind = cairn_kind(kSequencePart, first, count)
  end function

  ! Returns the kind of a sequence that is cut where the region sequence is. On each old rank, it has as many elements,
  ! or k times as many, with one k for all ranks. Local.
  pure type(cairn_kind) function cairn_like(sequence) result(kind)
    character(*), intent(in) :: sequence
    kind = cairn_kind(kLike, sequence=sequence)
  end function

  ! Returns the kind of a region that gets what rank rank of the snapshot had. Other old ranks need not have it. Local.
  pure type(cairn_kind) function cairn_of_rank(rank) result(kind)
    integer, intent(in) :: rank
    kind = cairn_kind(kOfRank, int(rank, int64))
  end function

  ! Ends the protection of a region: later snapshots do not contain it. Local. Gives CAIRN_ERR_USAGE if no region has
  ! this name.
  subroutine cairn_unprotect(session, name, code)
    type(cairn_session), intent(in) :: session
    character(*), intent(in) :: name
    integer, intent(out) :: code
    code = c_unprotect(session%handle, c_text(name))
  end subroutine

  ! Sets due to whether the next cairn_snapshot will take a snapshot; the result is the same on all ranks. It makes that
  ! decision in advance; a restore cancels it. Collective like cairn_snapshot, at a safe point.
  subroutine cairn_due(session, due, code)
    type(cairn_session), intent(in) :: session
    logical, intent(out) :: due
    integer, intent(out) :: code
    integer(c_int) :: yes
    code = c_due(session%handle, yes)
    due = yes /= 0
  end subroutine

  ! Takes a snapshot if one is due by [levels]. version gets its version, or 0 if none was due. A snapshot that fails
  ! because of storage is logged, and the code is CAIRN_OK. cairn_wait and cairn_finalize give CAIRN_ERR_STORAGE if the
  ! newest snapshot did not reach the level that was requested. Collective, but not a barrier.
  subroutine cairn_snapshot(session, code, version)
    type(cairn_session), intent(in) :: session
    integer, intent(out) :: code
    integer(int32), optional, intent(out) :: version
    integer(c_int32_t) :: taken
    code = c_snapshot(session%handle, taken)
    if (present(version)) version = taken
  end subroutine

  ! Takes a snapshot now, whether or not one is due, and has it promoted to level, CAIRN_L1 to CAIRN_L4. version gets
  ! its version. Collective like cairn_snapshot. Gives CAIRN_ERR_USAGE if level is off in this job.
  subroutine cairn_snapshot_to(session, level, code, version)
    type(cairn_session), intent(in) :: session
    integer, intent(in) :: level
    integer, intent(out) :: code
    integer(int32), optional, intent(out) :: version
    integer(c_int32_t) :: taken
    code = c_snapshot_to(session%handle, int(level, c_int), taken)
    if (present(version)) version = taken
  end subroutine

  ! Blocks until the newest snapshot that was to reach level has reached it. Returns at once if there is none.
  ! Collective. Gives the error of that snapshot if it failed.
  subroutine cairn_wait(session, level, code)
    type(cairn_session), intent(in) :: session
    integer, intent(in) :: level
    integer, intent(out) :: code
    code = c_wait(session%handle, int(level, c_int))
  end subroutine

  ! Sets version to the newest version that has reached level on all nodes, as far as this rank knows; 0: none has. Local.
  subroutine cairn_safe_version(session, level, version, code)
    type(cairn_session), intent(in) :: session
    integer, intent(in) :: level
    integer(int32), intent(out) :: version
    integer, intent(out) :: code
    code = c_safe_version(session%handle, int(level, c_int), version)
  end subroutine

  ! Protects an object that is no plain memory, such as a tree, by two subroutines of the program: see cairn.h. save
  ! calls cairn_put for all that belongs to the object, and load calls cairn_get for the same. The bytes of all objects
  ! of a rank are in its memory until they are written. The size may differ at each snapshot. kind is cairn_same, if all
  ! ranks save the same bytes, or cairn_of_rank. Local. Requires: save and load are module procedures or external; they
  ! call neither MPI nor other subroutines of Cairn.
  subroutine cairn_protect_object(session, name, save, load, code, kind)
    type(cairn_session), intent(in) :: session
    character(*), intent(in) :: name
    procedure(cairn_save) :: save
    procedure(cairn_load) :: load
    integer, intent(out) :: code
    type(cairn_kind), optional, intent(in) :: kind
    type(object_functions), pointer :: functions
    allocate(functions)  ! the session refers to it as long as it lasts
    functions%save => save
    functions%load => load
    code = c_protect_object(session%handle, c_text(name), c_funloc(save_object), c_funloc(load_object), c_loc(functions))
    if (code == CAIRN_OK .and. present(kind)) code = set_kind(session, name, kind)
  end subroutine

  ! Protects a file that this rank writes, such as a log or a result, with its length and permissions: see cairn.h. Call
  ! flush(unit) before cairn_snapshot. Close a file before cairn_restore, and open it afterwards, unless it is only
  ! appended to. kind is cairn_of_rank, or cairn_same if all ranks have the same file. Local.
  subroutine cairn_protect_file(session, name, path, code, kind)
    type(cairn_session), intent(in) :: session
    character(*), intent(in) :: name, path
    integer, intent(out) :: code
    type(cairn_kind), optional, intent(in) :: kind
    code = c_protect_file(session%handle, c_text(name), c_text(path))
    if (code == CAIRN_OK .and. present(kind)) code = set_kind(session, name, kind)
  end subroutine

  ! Protects a directory that this rank writes to, with all files and directories in it: see cairn.h. As a file, it may
  ! have a kind. Local.
  subroutine cairn_protect_directory(session, name, path, code, kind)
    type(cairn_session), intent(in) :: session
    character(*), intent(in) :: name, path
    integer, intent(out) :: code
    type(cairn_kind), optional, intent(in) :: kind
    code = c_protect_directory(session%handle, c_text(name), c_text(path))
    if (code == CAIRN_OK .and. present(kind)) code = set_kind(session, name, kind)
  end subroutine

  ! Protects a file in the node's own store, and sets path to its path: see cairn.h. It is for a program that writes a
  ! file for each snapshot, and then needs it no more. Open the file with status='replace', and close it before
  ! cairn_snapshot, which removes it. cairn_restore puts it there, to be read until the next snapshot. As a file, it may
  ! have a kind. Local. Called before cairn_restore.
  subroutine cairn_scratch_file(session, name, path, code, kind)
    type(cairn_session), intent(in) :: session
    character(*), intent(in) :: name
    character(:), allocatable, intent(out) :: path
    integer, intent(out) :: code
    type(cairn_kind), optional, intent(in) :: kind
    type(c_ptr) :: found
    code = c_scratch_file(session%handle, c_text(name), found)
    path = ''
    if (code /= CAIRN_OK) return
    path = fortran_text(found)
    if (present(kind)) code = set_kind(session, name, kind)
  end subroutine

  ! Gives a file, or a scratch file, that is protected as name a destination: when a snapshot reaches L4, the file is also
  ! written there, plainly, for other programs. '{version}' and '{rank}' in path stand for their numbers: see cairn.h.
  ! Cairn removes no file there. Blank ends it. Local. Gives CAIRN_ERR_USAGE if no file is protected as name.
  subroutine cairn_destination(session, name, path, code)
    type(cairn_session), intent(in) :: session
    character(*), intent(in) :: name, path
    integer, intent(out) :: code
    code = c_destination(session%handle, c_text(name), c_text(path))
  end subroutine

  function save_object(handle, data) bind(c) result(code)
    type(c_ptr), value :: handle, data
    integer(c_int) :: code
    type(object_functions), pointer :: functions
    type(cairn_object) :: object
    integer :: given
    call c_f_pointer(data, functions)
    object%handle = handle
    call functions%save(object, given)
    if (given == 0 .and. object%failed) given = CAIRN_ERR_STORAGE
    code = given
  end function

  function load_object(bytes, count, data) bind(c) result(code)
    type(c_ptr), value :: bytes, data
    integer(c_size_t), value :: count
    integer(c_int) :: code
    type(object_functions), pointer :: functions
    type(cairn_object) :: object
    integer :: given
    call c_f_pointer(data, functions)
    call c_f_pointer(bytes, object%bytes, [count])
    call functions%load(object, given)
    if (given == 0 .and. object%failed) given = CAIRN_ERR_MISMATCH
    code = given
  end function

  subroutine put(object, data, bytes)
    type(cairn_object), intent(inout) :: object
    type(c_ptr), intent(in) :: data
    integer(c_size_t), intent(in) :: bytes
    if (c_put(object%handle, data, bytes) /= CAIRN_OK) object%failed = .true.
  end subroutine

  subroutine get(object, data, bytes)
    type(cairn_object), intent(inout) :: object
    type(c_ptr), intent(in) :: data
    integer(c_size_t), intent(in) :: bytes
    integer(c_int8_t), pointer :: into(:)
    if (object%failed .or. bytes > size(object%bytes, kind=c_size_t) - object%position) then
      object%failed = .true.
      return
    end if
    call c_f_pointer(data, into, [bytes])
    into = object%bytes(object%position + 1:object%position + bytes)
    object%position = object%position + bytes
  end subroutine

  subroutine put_int8(object, data)
    type(cairn_object), intent(inout) :: object
    integer(int8), target, contiguous, intent(in) :: data(..)
    call put(object, c_loc(data), 1_c_size_t * size(data, kind=c_size_t))
  end subroutine

  subroutine get_int8(object, data)
    type(cairn_object), intent(inout) :: object
    integer(int8), target, contiguous, intent(inout) :: data(..)
    call get(object, c_loc(data), 1_c_size_t * size(data, kind=c_size_t))
  end subroutine

  subroutine put_int32(object, data)
    type(cairn_object), intent(inout) :: object
    integer(int32), target, contiguous, intent(in) :: data(..)
    call put(object, c_loc(data), 4_c_size_t * size(data, kind=c_size_t))
  end subroutine

  subroutine get_int32(object, data)
    type(cairn_object), intent(inout) :: object
    integer(int32), target, contiguous, intent(inout) :: data(..)
    call get(object, c_loc(data), 4_c_size_t * size(data, kind=c_size_t))
  end subroutine

  subroutine put_int64(object, data)
    type(cairn_object), intent(inout) :: object
    integer(int64), target, contiguous, intent(in) :: data(..)
    call put(object, c_loc(data), 8_c_size_t * size(data, kind=c_size_t))
  end subroutine

  subroutine get_int64(object, data)
    type(cairn_object), intent(inout) :: object
    integer(int64), target, contiguous, intent(inout) :: data(..)
    call get(object, c_loc(data), 8_c_size_t * size(data, kind=c_size_t))
  end subroutine

  subroutine put_real32(object, data)
    type(cairn_object), intent(inout) :: object
    real(real32), target, contiguous, intent(in) :: data(..)
    call put(object, c_loc(data), 4_c_size_t * size(data, kind=c_size_t))
  end subroutine

  subroutine get_real32(object, data)
    type(cairn_object), intent(inout) :: object
    real(real32), target, contiguous, intent(inout) :: data(..)
    call get(object, c_loc(data), 4_c_size_t * size(data, kind=c_size_t))
  end subroutine

  subroutine put_real64(object, data)
    type(cairn_object), intent(inout) :: object
    real(real64), target, contiguous, intent(in) :: data(..)
    call put(object, c_loc(data), 8_c_size_t * size(data, kind=c_size_t))
  end subroutine

  subroutine get_real64(object, data)
    type(cairn_object), intent(inout) :: object
    real(real64), target, contiguous, intent(inout) :: data(..)
    call get(object, c_loc(data), 8_c_size_t * size(data, kind=c_size_t))
  end subroutine

  ! Returns why a snapshot last failed because of storage, as far as this rank knows. Empty if none failed in this
  ! session.
  ! Local.
  function cairn_storage_error(session) result(text)
    type(cairn_session), intent(in) :: session
    character(:), allocatable :: text
    text = fortran_text(c_storage_error(session%handle))
  end function

  ! Sets count to the number of elements that this rank's region of this name has in the snapshot that cairn_restore
  ! will restore. 0 if the region is not in that snapshot, or on a fresh start. On another number of ranks, it is the
  ! number that this rank will get, by the kind or place that the region has now. A region that is not protected counts
  ! as a sequence. The first call of this or cairn_stored_total is collective, later calls are local. Requires: neither
  ! cairn_restore nor cairn_snapshot was called before the first call.
  subroutine cairn_stored_elements(session, name, count, code)
    type(cairn_session), intent(in) :: session
    character(*), intent(in) :: name
    integer(int64), intent(out) :: count
    integer, intent(out) :: code
    integer(c_size_t) :: elements
    code = c_stored_elements(session%handle, c_text(name), elements)
    count = elements
  end subroutine

  ! Sets count to the number of elements that the regions of this name of all ranks have together in that snapshot. 0 if
  ! no rank has one, or on a fresh start. Otherwise like cairn_stored_elements.
  subroutine cairn_stored_total(session, name, count, code)
    type(cairn_session), intent(in) :: session
    character(*), intent(in) :: name
    integer(int64), intent(out) :: count
    integer, intent(out) :: code
    integer(c_size_t) :: elements
    code = c_stored_total(session%handle, c_text(name), elements)
    count = elements
  end subroutine

  ! Copies the newest recoverable snapshot into the protected regions. On a fresh start it changes nothing, and the code
  ! is CAIRN_OK; cairn_restore_info returns whether something was restored. Collective. Gives CAIRN_ERR_UNRECOVERABLE if
  ! snapshots exist but none can be restored, CAIRN_ERR_MISMATCH if ranks or regions differ. After an error, the
  ! contents of the regions are undefined, and cairn_snapshot fails until a later restore succeeds.
  subroutine cairn_restore(session, code)
    type(cairn_session), intent(in) :: session
    integer, intent(out) :: code
    code = c_restore(session%handle)
  end subroutine

  ! Restores this version, which need not be the newest: see cairn.h. All ranks pass the same version. Collective. Gives
  ! CAIRN_ERR_UNRECOVERABLE if this version cannot be restored; the text lists those that can.
  subroutine cairn_restore_version(session, version, code)
    type(cairn_session), intent(in) :: session
    integer, intent(in) :: version
    integer, intent(out) :: code
    code = c_restore_version(session%handle, int(version, c_int32_t))
  end subroutine

  ! The same for the newest snapshot with this label. All ranks pass the same label. Collective. Gives
  ! CAIRN_ERR_UNRECOVERABLE if no snapshot has it; the text lists the labels that there are.
  subroutine cairn_restore_label(session, label, code)
    type(cairn_session), intent(in) :: session
    character(*), intent(in) :: label
    integer, intent(out) :: code
    code = c_restore_label(session%handle, c_text(label))
  end subroutine

  ! Gives the next snapshot that is taken a label, which can then be restored by it, and which ckpt-tool lists: see
  ! cairn.h. Local. All ranks set the same label.
  subroutine cairn_label(session, label, code)
    type(cairn_session), intent(in) :: session
    character(*), intent(in) :: label
    integer, intent(out) :: code
    code = c_label(session%handle, c_text(label))
  end subroutine

  ! Pins the next snapshot that is taken: it is also written to L4, and stays there until ckpt-tool unpin. Local. All ranks
  ! call it before the same snapshot.
  subroutine cairn_pin(session, code)
    type(cairn_session), intent(in) :: session
    integer, intent(out) :: code
    code = c_pin(session%handle)
  end subroutine

  subroutine attribute_real64(session, name, value, code, region)
    type(cairn_session), intent(in) :: session
    character(*), intent(in) :: name
    real(real64), intent(in) :: value
    integer, intent(out) :: code
    character(*), intent(in), optional :: region
    character(kind=c_char), allocatable, target :: of(:)
    type(c_ptr) :: place
    call put_optional(region, of, place)
    code = c_attribute_number(session%handle, place, c_text(name), real(value, c_double))
  end subroutine

  subroutine attribute_real32(session, name, value, code, region)
    type(cairn_session), intent(in) :: session
    character(*), intent(in) :: name
    real(real32), intent(in) :: value
    integer, intent(out) :: code
    character(*), intent(in), optional :: region
    call attribute_real64(session, name, real(value, real64), code, region)
  end subroutine

  subroutine attribute_int64(session, name, value, code, region)
    type(cairn_session), intent(in) :: session
    character(*), intent(in) :: name
    integer(int64), intent(in) :: value
    integer, intent(out) :: code
    character(*), intent(in), optional :: region
    character(kind=c_char), allocatable, target :: of(:)
    type(c_ptr) :: place
    call put_optional(region, of, place)
    code = c_attribute_whole(session%handle, place, c_text(name), int(value, c_int64_t))
  end subroutine

  subroutine attribute_int32(session, name, value, code, region)
    type(cairn_session), intent(in) :: session
    character(*), intent(in) :: name
    integer(int32), intent(in) :: value
    integer, intent(out) :: code
    character(*), intent(in), optional :: region
    call attribute_int64(session, name, int(value, int64), code, region)
  end subroutine

  subroutine attribute_text(session, name, value, code, region)
    type(cairn_session), intent(in) :: session
    character(*), intent(in) :: name, value
    integer, intent(out) :: code
    character(*), intent(in), optional :: region
    character(kind=c_char), allocatable, target :: of(:)
    type(c_ptr) :: place
    call put_optional(region, of, place)
    code = c_attribute_text(session%handle, place, c_text(name), c_text(value))
  end subroutine

  ! Does the same as cairn_restore for one region; other regions keep their contents. All ranks pass the same name.
  ! Collective.
  subroutine cairn_restore_region(session, name, code)
    type(cairn_session), intent(in) :: session
    character(*), intent(in) :: name
    integer, intent(out) :: code
    code = c_restore_region(session%handle, c_text(name))
  end subroutine

  ! Sets status to what the last restore of this session did. Local.
  subroutine cairn_restore_info(session, status, code)
    type(cairn_session), intent(in) :: session
    type(cairn_restore_status), intent(out) :: status
    integer, intent(out) :: code
    code = c_restore_info(session%handle, status)
  end subroutine

  ! Opens this version; or the newest snapshot with this label. Without both, it opens the newest one: what cairn_restore
  ! would restore. Nothing is restored, and protected variables keep their contents. It comes from any level, as a restore
  ! does. The call is possible before cairn_restore, and between cairn_snapshot calls. It waits until earlier snapshots
  ! have reached their levels. With [recovery] rollback = lost, all ranks roll back after a failure in a job that has
  ! called it. The caller closes or drops the reader; before that, cairn_finalize gives CAIRN_ERR_USAGE.
  !
  ! Collective. All ranks pass the same version and label. Requires: the job has as many ranks as the one that took the
  ! snapshot. Gives the same code on all ranks. CAIRN_ERR_UNRECOVERABLE if it cannot be read; the text lists the versions,
  ! or labels, that there are. CAIRN_ERR_MISMATCH if it has another number of ranks.
  subroutine cairn_open_snapshot(session, reader, code, version, label)
    type(cairn_session), intent(in) :: session
    type(cairn_reader), intent(out) :: reader
    integer, intent(out) :: code
    integer, intent(in), optional :: version
    character(*), intent(in), optional :: label
    character(kind=c_char), allocatable, target :: letters(:)
    type(c_ptr) :: place
    integer(c_int32_t) :: wanted
    call put_optional(label, letters, place)
    wanted = 0
    if (present(version)) wanted = int(version, c_int32_t)
    code = c_open_snapshot(session%handle, wanted, place, reader%handle)
  end subroutine

  ! Sets status to what is open. Local.
  subroutine cairn_reader_info(reader, status, code)
    type(cairn_reader), intent(in) :: reader
    type(cairn_reader_status), intent(out) :: status
    integer, intent(out) :: code
    type(c_reader_status) :: found
    code = c_reader_info(reader%handle, found)
    if (code /= CAIRN_OK) return
    status%version = found%version
    status%incarnation = found%incarnation
    status%label = fortran_text(found%label)
    status%regions = int(found%regions)
  end subroutine

  subroutine reader_region_by_number(reader, which, region, code)
    type(cairn_reader), intent(in) :: reader
    integer, intent(in) :: which
    type(cairn_region_info), intent(out) :: region
    integer, intent(out) :: code
    code = take_region(reader, int(which - 1, c_size_t), region)
  end subroutine

  subroutine reader_region_by_name(reader, which, region, code)
    type(cairn_reader), intent(in) :: reader
    character(*), intent(in) :: which
    type(cairn_region_info), intent(out) :: region
    integer, intent(out) :: code
    integer(c_size_t) :: index
    code = c_reader_find(reader%handle, c_text(which), index)
    if (code == CAIRN_OK) code = take_region(reader, index, region)
  end subroutine

  integer function take_region(reader, index, region)
    type(cairn_reader), intent(in) :: reader
    integer(c_size_t), intent(in) :: index
    type(cairn_region_info), intent(inout) :: region
    type(c_region_info) :: found
    integer(c_int64_t), pointer :: extents(:)
    take_region = c_reader_region(reader%handle, index, found)
    if (take_region /= CAIRN_OK) return
    region%name = fortran_text(found%name)
    region%type_text = fortran_text(found%type_text)
    region%element_bytes = found%element_bytes
    region%elements = found%elements
    region%bytes = found%bytes
    allocate (region%shape(found%dimensions))
    if (found%dimensions == 0) return
    call c_f_pointer(found%shape, extents, [found%dimensions])
    region%shape = extents(found%dimensions:1:-1)
  end function

  subroutine read_int8(reader, name, into, code, bytes)
    type(cairn_reader), intent(in) :: reader
    character(*), intent(in) :: name
    integer(int8), target, contiguous, intent(inout) :: into(..)
    integer, intent(out) :: code
    integer(int64), optional, intent(out) :: bytes
    code = read_region(reader, name, c_loc(into), size(into, kind=c_size_t), kInt8, 1_c_size_t, '', bytes)
  end subroutine

  subroutine read_int16(reader, name, into, code, bytes)
    type(cairn_reader), intent(in) :: reader
    character(*), intent(in) :: name
    integer(int16), target, contiguous, intent(inout) :: into(..)
    integer, intent(out) :: code
    integer(int64), optional, intent(out) :: bytes
    code = read_region(reader, name, c_loc(into), size(into, kind=c_size_t), kInt16, 2_c_size_t, '', bytes)
  end subroutine

  subroutine read_int32(reader, name, into, code, bytes)
    type(cairn_reader), intent(in) :: reader
    character(*), intent(in) :: name
    integer(int32), target, contiguous, intent(inout) :: into(..)
    integer, intent(out) :: code
    integer(int64), optional, intent(out) :: bytes
    code = read_region(reader, name, c_loc(into), size(into, kind=c_size_t), kInt32, 4_c_size_t, '', bytes)
  end subroutine

  subroutine read_int64(reader, name, into, code, bytes)
    type(cairn_reader), intent(in) :: reader
    character(*), intent(in) :: name
    integer(int64), target, contiguous, intent(inout) :: into(..)
    integer, intent(out) :: code
    integer(int64), optional, intent(out) :: bytes
    code = read_region(reader, name, c_loc(into), size(into, kind=c_size_t), kInt64, 8_c_size_t, '', bytes)
  end subroutine

  subroutine read_real32(reader, name, into, code, bytes)
    type(cairn_reader), intent(in) :: reader
    character(*), intent(in) :: name
    real(real32), target, contiguous, intent(inout) :: into(..)
    integer, intent(out) :: code
    integer(int64), optional, intent(out) :: bytes
    code = read_region(reader, name, c_loc(into), size(into, kind=c_size_t), kFloat, 4_c_size_t, '', bytes)
  end subroutine

  subroutine read_real64(reader, name, into, code, bytes)
    type(cairn_reader), intent(in) :: reader
    character(*), intent(in) :: name
    real(real64), target, contiguous, intent(inout) :: into(..)
    integer, intent(out) :: code
    integer(int64), optional, intent(out) :: bytes
    code = read_region(reader, name, c_loc(into), size(into, kind=c_size_t), kDouble, 8_c_size_t, '', bytes)
  end subroutine

  subroutine read_complex32(reader, name, into, code, bytes)
    type(cairn_reader), intent(in) :: reader
    character(*), intent(in) :: name
    complex(real32), target, contiguous, intent(inout) :: into(..)
    integer, intent(out) :: code
    integer(int64), optional, intent(out) :: bytes
    code = read_region(reader, name, c_loc(into), size(into, kind=c_size_t), kOpaque, 8_c_size_t, 'complex(real32)', bytes)
  end subroutine

  subroutine read_complex64(reader, name, into, code, bytes)
    type(cairn_reader), intent(in) :: reader
    character(*), intent(in) :: name
    complex(real64), target, contiguous, intent(inout) :: into(..)
    integer, intent(out) :: code
    integer(int64), optional, intent(out) :: bytes
    code = read_region(reader, name, c_loc(into), size(into, kind=c_size_t), kOpaque, 16_c_size_t, 'complex(real64)', bytes)
  end subroutine

  subroutine read_logical(reader, name, into, code, bytes)
    type(cairn_reader), intent(in) :: reader
    character(*), intent(in) :: name
    logical, target, contiguous, intent(inout) :: into(..)
    integer, intent(out) :: code
    integer(int64), optional, intent(out) :: bytes
    code = read_region(reader, name, c_loc(into), size(into, kind=c_size_t), kOpaque, &
      storage_size(.true., c_size_t) / 8_c_size_t, 'logical', bytes)
  end subroutine

  integer function read_region(reader, name, into, count, type_number, element_bytes, type_name, bytes)
    type(cairn_reader), intent(in) :: reader
    character(*), intent(in) :: name, type_name
    type(c_ptr), intent(in) :: into
    integer(c_size_t), intent(in) :: count, element_bytes
    integer(c_int), intent(in) :: type_number
    integer(int64), optional, intent(out) :: bytes
    integer(c_size_t) :: found
    found = 0
    read_region = c_reader_read(reader%handle, c_text(name), into, count * element_bytes, type_number, element_bytes, &
      c_text(type_name), found)
    if (present(bytes)) bytes = found
  end function

  ! Writes this rank's file or directory to path, as cairn_restore would put it back at its own place: see cairn.h.
  ! Ranks may write different ones, each to a path of its own. Local. Gives CAIRN_ERR_USAGE if the region is no file and
  ! no directory, CAIRN_ERR_STORAGE if the files cannot be written.
  subroutine cairn_reader_extract(reader, name, path, code)
    type(cairn_reader), intent(in) :: reader
    character(*), intent(in) :: name, path
    integer, intent(out) :: code
    code = c_reader_extract(reader%handle, c_text(name), c_text(path))
  end subroutine

  ! Closes the reader, also after an error. good is whether this rank can use the snapshot; without it, it can. If a rank
  ! passes .false., the snapshot is rejected: this run neither opens nor restores it again. Later runs do so only if
  ! somebody chooses it. A run that has neither restored nor taken a snapshot leaves no record, so the next one opens it
  ! again. all_good is .true. if no rank has rejected it.
  !
  ! Collective. Gives the same code on all ranks. CAIRN_ERR_MISMATCH if ranks close different versions.
  subroutine cairn_reader_close(reader, code, good, all_good)
    type(cairn_reader), intent(inout) :: reader
    integer, intent(out) :: code
    logical, intent(in), optional :: good
    logical, intent(out), optional :: all_good
    integer(c_int) :: mine, all_of_them
    mine = 1
    if (present(good)) mine = merge(1_c_int, 0_c_int, good)
    all_of_them = 0
    code = c_reader_close(reader%handle, mine, all_of_them)
    if (present(all_good)) all_good = all_of_them /= 0
  end subroutine

  ! Closes the reader on this rank alone. Does nothing if it is not open. Local.
  subroutine cairn_reader_drop(reader)
    type(cairn_reader), intent(inout) :: reader
    call c_reader_drop(reader%handle)
  end subroutine

  ! Returns the communicator of the application ranks, without heads and spares, or MPI_COMM_NULL without a session.
  ! Cairn owns it: do not free it. It is valid until MPI_Finalize, even after cairn_finalize. After CAIRN_ROLLBACK it
  ! must not be used any more. Local.
  function cairn_comm(session) result(comm)
    type(cairn_session), intent(in) :: session
    type(MPI_Comm) :: comm
    integer :: code
    code = c_comm(session%handle, comm%MPI_VAL)
  end function

  subroutine get_comm_f08(session, comm, code)
    type(cairn_session), intent(in) :: session
    type(MPI_Comm), intent(out) :: comm
    integer, intent(out) :: code
    code = c_comm(session%handle, comm%MPI_VAL)
  end subroutine

  subroutine get_comm_mpi(session, comm, code)
    type(cairn_session), intent(in) :: session
    integer, intent(out) :: comm, code
    code = c_comm(session%handle, comm)
  end subroutine

  subroutine watch_f08(session, comm, code)
    type(cairn_session), intent(in) :: session
    type(MPI_Comm), intent(in) :: comm
    integer, intent(out) :: code
    code = c_watch(session%handle, comm%MPI_VAL)
  end subroutine

  subroutine watch_mpi(session, comm, code)
    type(cairn_session), intent(in) :: session
    integer, intent(in) :: comm
    integer, intent(out) :: code
    code = c_watch(session%handle, comm)
  end subroutine

  ! Reports that something seems to be wrong with this rank or its node, for example that a check of a result fails.
  ! text says what, in a few words for a person; of a text of more than 200 bytes, the beginning is used. The log has
  ! it, and fault localization examines the rank and its node: ckpt-tool health shows what it finds. The report alone
  ! has no other effect. If a probe confirms a fault, [localize] act sets what follows. Local. Gives CAIRN_ERR_USAGE if
  ! the text is empty, or after cairn_finalize.
  subroutine cairn_suspect(session, text, code)
    type(cairn_session), intent(in) :: session
    character(*), intent(in) :: text
    integer, intent(out) :: code
    code = c_suspect(session%handle, c_text(text))
  end subroutine

  ! Returns whether the job has been asked to stop: SIGUSR1, or [restart] stop_signal, has arrived at any rank. The
  ! cairn_snapshot call that notices it takes a snapshot for L4 and changes the result, in the same call on all ranks.
  ! That is at most 66 calls after the signal. Local.
  logical function cairn_should_stop(session)
    type(cairn_session), intent(in) :: session
    cairn_should_stop = c_should_stop(session%handle) /= 0
  end function

  ! Returns whether this process replaces a dead rank and has not caught up with it ([recovery] rollback = lost). It is
  ! true from cairn_restore until the process has computed again what the dead rank had computed. The survivors do not
  ! repeat their calls. So between cairn_restore and the loop of time steps, the application must not communicate while
  ! this is true. It is false if the process has restored what all ranks had restored: then it repeats all their calls.
  ! Local.
  logical function cairn_catches_up(session)
    type(cairn_session), intent(in) :: session
    cairn_catches_up = c_catches_up(session%handle) /= 0
  end function

  ! Returns whether this process knows that another process has died. The next Cairn call then gives CAIRN_ROLLBACK. For
  ! loops without Cairn calls. Local, fast.
  logical function cairn_failed(session)
    type(cairn_session), intent(in) :: session
    cairn_failed = c_failed(session%handle) /= 0
  end function

  ! Repairs the job after a call gave CAIRN_ROLLBACK, and renews the session, which then has no regions and another
  ! communicator. Collective over the survivors.
  subroutine cairn_recover(session, code)
    type(cairn_session), intent(in) :: session
    integer, intent(out) :: code
    code = c_recover(session%handle)
  end subroutine

  ! Returns how this process entered the application last. CAIRN_FRESH: the job has just started. After a failure,
  ! CAIRN_SURVIVOR: it was an application rank before; CAIRN_REPLACEMENT: it takes the place of a dead rank. Local.
  integer function cairn_state(session)
    type(cairn_session), intent(in) :: session
    cairn_state = c_state(session%handle)
  end function

  ! Waits for background work, writes the newest snapshot to L4, and ends the job as [restart] at_end says. Ends the
  ! session, even after an error. Only after CAIRN_ROLLBACK the session remains, for cairn_recover. Collective. Gives
  ! the error of the newest snapshot, if it reached neither the requested levels nor higher ones.
  subroutine cairn_finalize(session, code)
    type(cairn_session), intent(inout) :: session
    integer, intent(out) :: code
    code = c_finalize(session%handle)
  end subroutine

  ! Ends this rank's session without cairn_finalize: snapshots that are not complete are lost. Calls of other ranks that
  ! need this rank fail. If the job repairs itself, this ends the job. Local.
  subroutine cairn_abandon(session)
    type(cairn_session), intent(inout) :: session
    call c_abandon(session%handle)
  end subroutine

  ! Passes each line of Cairn's log to log, instead of writing it to standard error. Without an argument it restores
  ! standard error. Cairn calls log from any of its threads, but never from two at once. Levels are CAIRN_LOG_ERROR to
  ! CAIRN_LOG_DEBUG. Local. Requires: it is called in each process, before cairn_init, since heads write lines, too. log
  ! calls neither MPI nor Cairn.
  subroutine cairn_set_log(log)
    procedure(cairn_log), optional :: log
    call c_set_log(c_null_funptr, c_null_ptr)  ! nobody reads the pointer while it changes
    if (.not. present(log)) return
    the_log => log
    call c_set_log(c_funloc(pass_line), c_null_ptr)
  end subroutine

  subroutine pass_line(level, line, data) bind(c)
    integer(c_int), value :: level
    type(c_ptr), value :: line, data
    if (c_associated(data)) return  ! it is null
    call the_log(int(level), fortran_text(line))
  end subroutine

  ! Returns the version of the library as one number: 10203 is 1.2.3. A program needs the library of the version that
  ! this module is from. Local.
  integer function cairn_version()
    cairn_version = c_version()
  end function

  ! Returns one line for a bug report: version, commit, MPI, HDF5, compiler and options of the library. Local.
  function cairn_build_info() result(text)
    character(:), allocatable :: text
    text = fortran_text(c_build_info())
  end function

  ! Returns the text of this thread's last error. Local.
  function cairn_error_text() result(text)
    character(:), allocatable :: text
    text = fortran_text(c_error_text())
  end function

  ! A text of C as a text of Fortran: the inverse of c_text.

  function fortran_text(from) result(text)
    type(c_ptr), intent(in) :: from
    character(:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer :: i
    call c_f_pointer(from, letters, [c_strlen(from)])
    allocate (character(size(letters)) :: text)
    do i = 1, size(letters)
      text(i:i) = letters(i)
    end do
  end function

  integer function protect(session, name, data, type_number, extents, whole, global_shape, offset, ghosts_before, &
    ghosts_after, kind)
    type(cairn_session), intent(in) :: session
    character(*), intent(in) :: name
    type(c_ptr), intent(in) :: data
    integer(c_int), intent(in) :: type_number
    integer(c_size_t), intent(in) :: extents(:)
    logical, intent(in) :: whole
    integer(int64), optional, intent(in) :: global_shape(:), offset(:), ghosts_before(:), ghosts_after(:)
    type(cairn_kind), optional, intent(in) :: kind
    integer :: dims
    dims = size(extents)
    if (.not. whole) then
      protect = c_refuse_section(c_text(name))
    else if (.not. (present(global_shape) .or. present(offset) .or. present(ghosts_before) .or. present(ghosts_after))) then
      protect = c_protect_array(session%handle, c_text(name), data, type_number, int(dims, c_int), extents(dims:1:-1))
    else if (.not. (present(global_shape) .and. present(offset))) then
      protect = c_refuse_part(c_text(name))
    else if (any([size(global_shape), size(offset), size(widths(ghosts_before, dims)), &
      size(widths(ghosts_after, dims))] /= dims)) then
      protect = c_refuse_part(c_text(name))
    else
      protect = c_protect_block(session%handle, c_text(name), data, type_number, int(dims, c_int), extents(dims:1:-1), &
        int(global_shape(dims:1:-1), c_size_t), int(offset(dims:1:-1), c_size_t), &
        reversed(widths(ghosts_before, dims)), reversed(widths(ghosts_after, dims)))
    end if
    if (protect == CAIRN_OK .and. present(kind)) protect = set_kind(session, name, kind)
  end function

  ! Without an argument: there are no ghosts.
  function widths(ghosts, dims)
    integer(int64), optional, intent(in) :: ghosts(:)
    integer, intent(in) :: dims
    integer(c_size_t), allocatable :: widths(:)
    if (present(ghosts)) then
      widths = int(ghosts, c_size_t)
    else
      allocate (widths(dims), source=0_c_size_t)
    end if
  end function

  function reversed(numbers)
    integer(c_size_t), intent(in) :: numbers(:)
    integer(c_size_t) :: reversed(size(numbers))
    reversed = numbers(size(numbers):1:-1)
  end function

  integer function protect_opaque(session, name, data, type_name, bytes, count, whole, kind)
    type(cairn_session), intent(in) :: session
    character(*), intent(in) :: name, type_name
    type(c_ptr), intent(in) :: data
    integer(c_size_t), intent(in) :: bytes, count
    logical, intent(in) :: whole
    type(cairn_kind), optional, intent(in) :: kind
    if (whole) then
      protect_opaque = c_protect_opaque(session%handle, c_text(name), data, c_text(type_name), bytes, count)
    else
      protect_opaque = c_refuse_section(c_text(name))
    end if
    if (protect_opaque == CAIRN_OK .and. present(kind)) protect_opaque = set_kind(session, name, kind)
  end function

  integer function set_kind(session, name, kind)
    type(cairn_session), intent(in) :: session
    character(*), intent(in) :: name
    type(cairn_kind), intent(in) :: kind
    select case (kind%what)
    case (kSame)
      set_kind = c_kind_same(session%handle, c_text(name))
    case (kSequence)
      set_kind = c_kind_sequence(session%handle, c_text(name))
    case (kSequencePart)
      set_kind = c_kind_sequence_part(session%handle, c_text(name), int(kind%first, c_size_t), int(kind%count, c_size_t))
    case (kLike)
      set_kind = c_kind_like(session%handle, c_text(name), c_text(kind%sequence))
    case (kOfRank)
      set_kind = c_kind_of_rank(session%handle, c_text(name), int(kind%first, c_int32_t))
    case default
      set_kind = CAIRN_OK
    end select
  end function

  ! Puts the text of C of an argument that may be absent into letters; place is null where it is absent.
  subroutine put_optional(text, letters, place)
    character(*), intent(in), optional :: text
    character(kind=c_char), allocatable, target, intent(out) :: letters(:)
    type(c_ptr), intent(out) :: place
    place = c_null_ptr
    if (.not. present(text)) return
    allocate(letters(len_trim(text) + 1))
    letters(:) = c_text(text)
    place = c_loc(letters)
  end subroutine

  function c_text(text) result(letters)
    character(*), intent(in) :: text
    character(kind=c_char) :: letters(len_trim(text) + 1)
    integer :: i
    do i = 1, len_trim(text)
      letters(i) = text(i:i)
    end do
    letters(size(letters)) = c_null_char
  end function

end module
