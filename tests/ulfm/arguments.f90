! What the Fortran programs beside this file find on their command lines.
module arguments
  implicit none
  private
  public :: argument_after

contains

  ! The argument that follows this one; without it, `otherwise`, or nothing.
  function argument_after(name, otherwise) result(text)
    character(*), intent(in) :: name
    character(*), intent(in), optional :: otherwise
    character(512) :: text
    integer :: i
    do i = 1, command_argument_count() - 1
      call get_command_argument(i, text)
      if (text /= name) cycle
      call get_command_argument(i + 1, text)
      return
    end do
    text = ''
    if (present(otherwise)) text = otherwise
  end function
end module
