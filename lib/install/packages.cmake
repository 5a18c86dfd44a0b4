# The target package of a build with CAIRN_DEB: it makes libcairn0.1, libcairn-dev, cairn-tools and python3-cairn, one from
# each component of install.cmake. They are for the Debian release that they are built on. Their descriptions name its Open MPI.
set(CAIRN_DEB_MAINTAINER "Cairn developers <cairn@localhost>" CACHE STRING
  "Maintainer of the Debian packages: name and e-mail address")

execute_process(COMMAND ${MPI_C_COMPILER} --showme:version OUTPUT_VARIABLE version ERROR_QUIET)
if(NOT version MATCHES "Open MPI ([0-9][0-9.]*)")
  message(FATAL_ERROR "Debian packages are made with Open MPI, and '${MPI_C_COMPILER}' is of another MPI: "
    "install libopenmpi-dev, or name its compilers with -DMPI_C_COMPILER=mpicc.openmpi and the same for CXX and Fortran")
endif()
set(cairn_deb_mpi "Open MPI ${CMAKE_MATCH_1}")
# No package contains these.
set_property(DIRECTORY ${PROJECT_SOURCE_DIR}/examples PROPERTY EXCLUDE_FROM_ALL ON)
set_property(DIRECTORY ${PROJECT_SOURCE_DIR}/tools/bench PROPERTY EXCLUDE_FROM_ALL ON)

set(cairn_deb_library libcairn${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(cairn_deb_dir ${PROJECT_BINARY_DIR}/install/debian)
file(READ LICENSE license)
string(REGEX MATCH "\nCopyright \\(c\\) ([^\n]+)\n+(.*[^\n])" license "${license}")
set(cairn_deb_copyright ${CMAKE_MATCH_1})
string(REPLACE "\n\n" "\n.\n" cairn_deb_license "${CMAKE_MATCH_2}")
string(REPLACE "\n" "\n " cairn_deb_license " ${cairn_deb_license}")
configure_file(lib/install/debian/copyright.in ${cairn_deb_dir}/copyright @ONLY)
# The time of SOURCE_DATE_EPOCH where the environment has it, else now.
string(TIMESTAMP cairn_deb_date "%a, %d %b %Y %H:%M:%S +0000" UTC)
configure_file(lib/install/debian/changelog.in ${cairn_deb_dir}/changelog @ONLY)
cairn_gzip(${cairn_deb_dir}/changelog ${cairn_deb_dir}/changelog.gz)
# CPack writes scripts that call ldconfig. Debian requires this trigger all the same.
file(WRITE ${cairn_deb_dir}/triggers "activate-noawait ldconfig\n")

set(cairn_deb_about "Cairn saves the state of an MPI application at several levels: on each node,
on partner nodes, by an erasure code across nodes, and on the parallel file
system. After a failure the application restores the newest recoverable
snapshot from the cheapest copies.
")

# cairn_deb(COMPONENT PACKAGE SECTION SUMMARY DETAILS)
macro(cairn_deb component package section summary details)
  string(TOUPPER ${component} upper)
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${package})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section})
  set(CPACK_DEBIAN_${upper}_DESCRIPTION
    "multi-level checkpointing for MPI applications - ${summary}\n${cairn_deb_about}\n${details}\n")
  install(FILES ${cairn_deb_dir}/copyright ${cairn_deb_dir}/changelog.gz DESTINATION share/doc/${package}
    COMPONENT ${component})
  # lintian reports an error for the default address.
  if(CAIRN_DEB_MAINTAINER MATCHES "@localhost>$")
    install(FILES lib/install/debian/lintian-overrides DESTINATION share/lintian/overrides RENAME ${package}
      COMPONENT ${component})
  endif()
endmacro()

set(CPACK_COMPONENTS_ALL "")
cairn_deb(cairn_runtime ${cairn_deb_library} libs "library"
"This package contains the shared library. It was built with ${cairn_deb_mpi} and
does not work with another MPI library.")
set(CPACK_DEBIAN_CAIRN_RUNTIME_PACKAGE_CONTROL_EXTRA ${cairn_deb_dir}/triggers)
set(CPACK_DEBIAN_CAIRN_RUNTIME_PACKAGE_MULTIARCH same)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")

cairn_deb(cairn_development libcairn-dev libdevel "development files"
"This package contains the headers, the Fortran module and the files for
pkg-config and CMake. They are for the compilers of Open MPI: mpicc, mpicxx and
mpifort. The package was built with ${cairn_deb_mpi}.")
set(depends "${cairn_deb_library} (= ${PROJECT_VERSION}), libopenmpi-dev")
if(cairn_module_dir MATCHES "(gfortran-mod-[0-9]+)")
  string(APPEND depends ", gfortran | ${CMAKE_MATCH_1}")
endif()
set(CPACK_DEBIAN_CAIRN_DEVELOPMENT_PACKAGE_DEPENDS ${depends})
set(CPACK_DEBIAN_CAIRN_DEVELOPMENT_PACKAGE_RECOMMENDS "cairn-tools, pkg-config")

cairn_deb(cairn_tools cairn-tools utils "tools"
"This package contains ckpt-run, which starts a job and restarts it after
failures, and ckpt-tool, which inspects, verifies and plans checkpoints. They
are for programs with libcairn, which was built with ${cairn_deb_mpi}.")
set(CPACK_DEBIAN_CAIRN_TOOLS_PACKAGE_RECOMMENDS "openmpi-bin")
set(CPACK_DEBIAN_CAIRN_TOOLS_PACKAGE_SUGGESTS "gdb, openssh-client, python3-h5py, slurm-client")

cairn_deb(cairn_python python3-cairn python "Python package"
"This package contains the module cairn for programs in Python with mpi4py and
numpy. It uses libcairn, which was built with ${cairn_deb_mpi}.")
set(CPACK_DEBIAN_CAIRN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_CAIRN_PYTHON_PACKAGE_DEPENDS
  "${cairn_deb_library} (= ${PROJECT_VERSION}), python3, python3-mpi4py, python3-numpy")
set(CPACK_DEBIAN_CAIRN_PYTHON_PACKAGE_RECOMMENDS "cairn-tools")
# What Python compiles when it imports the package has to go with it.
set(CPACK_DEBIAN_CAIRN_PYTHON_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/lib/install/debian/postinst
  ${PROJECT_SOURCE_DIR}/lib/install/debian/prerm)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each has one of its own
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER ${CAIRN_DEB_MAINTAINER})
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SOURCE cairn)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib)  # libcairn-tap needs libcairn
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
include(CPack)
