# The HDF5 that L4 is written with: cairn_hdf5_include, cairn_hdf5_libraries and HDF5_VERSION.
#
# A program that links another HDF5 than libcairn shares names with it. With versioned symbols, as Debian's have, each
# finds its own. Where the HDF5 that is found has none, CAIRN_HDF5 names a static one, which is hidden in libcairn.
set(CAIRN_HDF5 "" CACHE PATH
  "Directory of an HDF5 with include/hdf5.h and lib/libhdf5.a, position-independent, to be hidden in libcairn")

# With what the library says that it was built with.
function(cairn_use_static_hdf5)
  find_path(include hdf5.h PATHS ${CAIRN_HDF5}/include NO_DEFAULT_PATH NO_CACHE)
  find_library(library libhdf5.a PATHS ${CAIRN_HDF5}/lib ${CAIRN_HDF5}/lib64 ${CAIRN_HDF5} NO_DEFAULT_PATH NO_CACHE)
  if(NOT include OR NOT library)
    message(FATAL_ERROR "CAIRN_HDF5=${CAIRN_HDF5} has no include/hdf5.h, or no lib/libhdf5.a: "
      "name the directory that HDF5 was installed into with --enable-static")
  endif()
  set(needs m ${CMAKE_DL_LIBS} Threads::Threads)
  file(STRINGS ${include}/H5pubconf.h features REGEX "^#define H5_HAVE_(FILTER_|PARALLEL|LIBSZ)")
  if(features MATCHES FILTER_DEFLATE)
    find_package(ZLIB REQUIRED)
    list(APPEND needs ${ZLIB_LIBRARIES})
  endif()
  if(features MATCHES FILTER_SZIP)
    list(APPEND needs sz)
  endif()
  if(features MATCHES PARALLEL)
    list(APPEND needs MPI::MPI_C)
  endif()
  file(STRINGS ${include}/H5public.h numbers REGEX "^#define H5_VERS_(MAJOR|MINOR|RELEASE)")
  string(REGEX REPLACE "[^;0-9]*H5_VERS_[A-Z]+[^0-9]*([0-9]+)[^;]*" "\\1" numbers "${numbers}")
  list(JOIN numbers . version)
  cairn_check_that_it_fits(${include} ${library} "${needs}")
  message(STATUS "HDF5 ${version}, hidden in libcairn: ${library}")
  set(HDF5_VERSION ${version} PARENT_SCOPE)
  set(cairn_hdf5_include ${include} PARENT_SCOPE)
  set(cairn_hdf5_libraries ${library} ${needs} PARENT_SCOPE)
endfunction()

# Fails the configure step for a library that cannot be a part of a shared one.
function(cairn_check_that_it_fits include library needs)
  set(CMAKE_REQUIRED_INCLUDES ${include})
  set(CMAKE_REQUIRED_FLAGS "-fPIC -shared")
  set(CMAKE_REQUIRED_LINK_OPTIONS LINKER:--no-undefined)
  set(CMAKE_REQUIRED_LIBRARIES ${library} ${needs})
  set(CMAKE_REQUIRED_QUIET ON)
  unset(CAIRN_HDF5_FITS CACHE)
  check_c_source_compiles("#include <hdf5.h>\nint opens(void) { return H5open(); }\n" CAIRN_HDF5_FITS)
  if(NOT CAIRN_HDF5_FITS)
    message(FATAL_ERROR "${library} cannot be a part of a shared library: "
      "build HDF5 with --with-pic, or with -DCMAKE_POSITION_INDEPENDENT_CODE=ON")
  endif()
endfunction()

# Warns where a shared HDF5 would be confused with another one.
function(cairn_check_for_versioned_symbols library)
  if(NOT CMAKE_NM OR NOT library MATCHES "\\.so")
    return()
  endif()
  execute_process(COMMAND ${CMAKE_NM} -D --defined-only ${library} OUTPUT_VARIABLE names ERROR_QUIET)
  if(names AND NOT names MATCHES " H5open@")
    message(WARNING "The symbols of ${library} have no version: "
      "a program that links another HDF5 crashes, or writes with the wrong one. "
      "Where such programs exist, give Cairn an HDF5 of its own: -DCAIRN_HDF5=/path, with a static, "
      "position-independent lib/libhdf5.a")
  endif()
endfunction()

if(CAIRN_HDF5)
  include(CheckCSourceCompiles)
  cairn_use_static_hdf5()
else()
  find_package(HDF5 REQUIRED COMPONENTS C)
  set(cairn_hdf5_include ${HDF5_C_INCLUDE_DIRS})
  set(cairn_hdf5_libraries ${HDF5_C_LIBRARIES})
  foreach(library IN LISTS HDF5_C_LIBRARIES)
    if(library MATCHES "libhdf5[^/]*$")
      cairn_check_for_versioned_symbols(${library})
    endif()
  endforeach()
endif()
