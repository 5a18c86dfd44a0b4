# Where files are installed: by the GNU conventions or, with CAIRN_DEB, where Debian packages have them.
option(CAIRN_DEB "Use the directories of Debian packages, below /usr; the target package makes the packages" OFF)
if(CAIRN_DEB)
  if(CAIRN_STATIC OR CAIRN_SANITIZE OR NOT PROJECT_IS_TOP_LEVEL)
    message(FATAL_ERROR "CAIRN_DEB needs Cairn as the top project, with a shared library and without sanitizers")
  endif()
  set(CMAKE_INSTALL_PREFIX /usr CACHE PATH "Where packages of a distribution are installed" FORCE)
  set(CMAKE_INSTALL_DOCDIR share/doc/libcairn-dev)
  set(CMAKE_SKIP_INSTALL_RPATH ON)
endif()
include(GNUInstallDirs)

set(cairn_module_dir ${CMAKE_INSTALL_LIBDIR}/cairn/fortran)
if(CAIRN_DEB AND CAIRN_FORTRAN)
  # Its name has the version of the compiler's module format. The modules of MPI are in such a directory, too.
  if(NOT MPI_Fortran_MODULE_DIR MATCHES "/(fortran/gfortran-mod-[0-9]+)(/|$)")
    message(FATAL_ERROR "CAIRN_DEB needs the Open MPI of Debian, with its modules in .../fortran/gfortran-mod-<N>; "
      "they are in '${MPI_Fortran_MODULE_DIR}'")
  endif()
  set(cairn_module_dir ${CMAKE_INSTALL_LIBDIR}/${CMAKE_MATCH_1}/cairn)
endif()

# cairn_gzip(FILE OUT): compresses as Debian requires for documentation. The same input gives the same bytes.
function(cairn_gzip file out)
  execute_process(COMMAND gzip -9nc ${file} OUTPUT_FILE ${out} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
