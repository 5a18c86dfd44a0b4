! The same as derived.cpp, in Fortran:
!
!   derived_fortran all --config FILE --output FILE
program derived_fortran
  use, intrinsic :: iso_fortran_env, only: int32, error_unit
  use, intrinsic :: iso_c_binding, only: c_int
  use mpi_f08
  use arguments, only: argument_after
  use cairn
  implicit none

  interface
    function c_raise(number) bind(c, name='raise') result(code)
      import :: c_int
      integer(c_int), value :: number
      integer(c_int) :: code
    end function
  end interface

  integer, parameter :: kSigkill = 9, kTag = 1
  integer, parameter :: kLives = 17  ! each of make() by a receive, and each of wait() on a duplicate
  character(*), parameter :: kWays(14) = [character(24) :: 'dup', 'dup_with_info', 'idup', 'split', 'split_type', &
    'create', 'create_group', 'row of a grid', 'graph', 'dist_graph', 'dist_graph_adjacent', 'intercommunicator', &
    'merged intercommunicator', 'child of a child']
  character(*), parameter :: kWaits(4) = [character(12) :: 'recv', 'waitall', 'test', 'sendrecv']
  type(cairn_session) :: session
  character(512) :: config, output
  integer :: code
  logical :: done = .false.

  call MPI_Init()
  config = argument_after('--config')
  output = argument_after('--output')
  call cairn_init(MPI_COMM_WORLD, trim(config), session, code)
  do while (code == CAIRN_OK .and. .not. done)
    call live(code)
    if (code == CAIRN_ROLLBACK) call cairn_recover(session, code)
  end do
  if (code < CAIRN_OK) then
    write (error_unit, '(2a)') 'derived: ', cairn_error_text()
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end if
  call MPI_Finalize()

contains

  subroutine live(code)
    integer, intent(out) :: code
    integer(int32), target :: lives
    type(MPI_Comm) :: comm, place
    integer :: rank, life, peer, way, unit, news
    comm = cairn_comm(session)
    call MPI_Comm_rank(comm, rank)
    lives = 0
    call cairn_protect(session, 'lives', lives, code)
    if (code == CAIRN_OK) call cairn_restore(session, code)
    if (code /= CAIRN_OK) return
    life = 0
    if (rank == 0) life = life_in_file()
    call MPI_Bcast(life, 1, MPI_INTEGER, 0, comm)
    lives = lives + 1
    if (life >= kLives) then
      if (rank == 0) then
        open (newunit=unit, file=output)
        write (unit, '(i0)') lives
        close (unit)
      end if
      call cairn_finalize(session, code)
      done = code == CAIRN_OK
      return
    end if
    way = merge(life + 1, 1, life < size(kWays))
    call make(way, comm, rank, place, peer)
    call cairn_snapshot_to(session, CAIRN_L1, code)
    if (code == CAIRN_OK) call cairn_wait(session, CAIRN_L1, code)
    if (code /= CAIRN_OK) return
    if (rank == 2) call die_in(life)
    if (rank == 0) call wait(max(1, life - size(kWays) + 2), trim(kWays(way)), place, peer)
    call MPI_Recv(news, 1, MPI_INTEGER, 2, kTag, comm, MPI_STATUS_IGNORE, code)
    if (code == MPI_SUCCESS) print '(a, i0, a)', 'derived: rank ', rank, ' was not told of the death'
    call cairn_snapshot(session, code)
  end subroutine

  integer function life_in_file()
    integer :: unit, code
    life_in_file = 0
    open (newunit=unit, file='derived.life', status='old', iostat=code)
    if (code /= 0) return
    read (unit, *) life_in_file
    close (unit)
  end function

  subroutine die_in(life)
    integer, intent(in) :: life
    integer :: unit, code
    call execute_command_line('sleep 0.02')
    open (newunit=unit, file='derived.life')
    write (unit, '(i0)') life + 1
    close (unit)
    code = c_raise(kSigkill)
  end subroutine

  ! A communicator made from `comm`, and what rank 1 is there to rank 0.
  subroutine make(way, comm, rank, place, peer)
    integer, intent(in) :: way, rank
    type(MPI_Comm), intent(in) :: comm
    type(MPI_Comm), intent(out) :: place
    integer, intent(out) :: peer
    integer, parameter :: one = 1
    type(MPI_Comm) :: first, half
    type(MPI_Group) :: group
    type(MPI_Request) :: request
    integer :: next, last, side
    peer = 1
    next = mod(rank + 1, 3)
    last = mod(rank + 2, 3)
    side = merge(0, 1, rank == 0)
    call MPI_Comm_group(comm, group)
    select case (kWays(way))
    case ('dup')
      call MPI_Comm_dup(comm, place)
    case ('dup_with_info')
      call MPI_Comm_dup_with_info(comm, MPI_INFO_NULL, place)
    case ('idup')
      call MPI_Comm_idup(comm, place, request)
      call MPI_Wait(request, MPI_STATUS_IGNORE)
    case ('split')
      call MPI_Comm_split(comm, 0, 0, place)
    case ('split_type')
      call MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, place)
    case ('create')
      call MPI_Comm_create(comm, group, place)
    case ('create_group')
      call MPI_Comm_create_group(comm, group, kTag, place)
    case ('row of a grid')
      call MPI_Cart_create(comm, 2, [1, 3], [.false., .false.], .false., first)
      call MPI_Cart_sub(first, [.false., .true.], place)
    case ('graph')
      call MPI_Graph_create(comm, 3, [1, 2, 3], [1, 2, 0], .false., place)
    case ('dist_graph')
      call MPI_Dist_graph_create(comm, 1, [rank], [one], [next], [one], MPI_INFO_NULL, .false., place)
    case ('dist_graph_adjacent')
      call MPI_Dist_graph_create_adjacent(comm, 1, [last], [one], 1, [next], [one], MPI_INFO_NULL, .false., place)
    case ('intercommunicator', 'merged intercommunicator')
      call MPI_Comm_split(comm, side, 0, half)
      call MPI_Intercomm_create(half, 0, comm, 1 - side, kTag, place)
      if (kWays(way) == 'intercommunicator') peer = 0
      first = place
      if (kWays(way) /= 'intercommunicator') call MPI_Intercomm_merge(first, side == 1, place)
    case ('child of a child')
      call MPI_Comm_split(comm, 0, 0, first)
      call MPI_Comm_dup(first, place)
    end select
    call MPI_Group_free(group)
  end subroutine

  ! Rank 0 waits for rank 1, which never sends.
  subroutine wait(how, way, place, peer)
    integer, intent(in) :: how, peer
    character(*), intent(in) :: way
    type(MPI_Comm), intent(in) :: place
    type(MPI_Request) :: requests(2)
    integer, asynchronous, save :: news(2)
    integer :: code
    logical :: flag
    print '(4a)', 'derived: waits by ', trim(kWaits(how)), ' on one made by ', way
    flush (6)
    select case (kWaits(how))
    case ('recv')
      call MPI_Recv(news(1), 1, MPI_INTEGER, peer, kTag, place, MPI_STATUS_IGNORE, code)
    case ('waitall')
      call MPI_Irecv(news(1), 1, MPI_INTEGER, peer, kTag, place, requests(1), code)
      call MPI_Irecv(news(2), 1, MPI_INTEGER, peer, kTag, place, requests(2), code)
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, code)
    case ('test')
      call MPI_Irecv(news(1), 1, MPI_INTEGER, peer, kTag, place, requests(1), code)
      flag = .false.
      do while (.not. flag .and. code == MPI_SUCCESS)
        call MPI_Test(requests(1), flag, MPI_STATUS_IGNORE, code)
      end do
    case ('sendrecv')
      call MPI_Sendrecv_replace(news(1), 1, MPI_INTEGER, peer, kTag, peer, kTag, place, MPI_STATUS_IGNORE, code)
    end select
  end subroutine

end program
