# cmake --install: libcairn with its headers, the Python package, the tools with their man pages and bash completion, and
# what CMake's find_package and pkg-config need to find them.
# It can be moved as a whole, since paths are relative to each other. Only Debian packages have fixed paths: each of the
# four components is one package (packages.cmake).
include(CMakePackageConfigHelpers)

set(cairn_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/cairn)

set_target_properties(cairn PROPERTIES EXPORT_NAME library)
set_target_properties(cairn_tap PROPERTIES EXPORT_NAME tap)
set_target_properties(cairn_veloc PROPERTIES EXPORT_NAME veloc_library)
install(TARGETS cairn cairn_tap cairn_veloc EXPORT cairn_targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT cairn_runtime NAMELINK_COMPONENT cairn_development
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT cairn_development)
install(FILES include/cairn/cairn.h include/cairn/cairn.hpp include/cairn/error.hpp
  include/cairn/failure_topology.hpp include/cairn/level_id.hpp include/cairn/log.hpp include/cairn/lost_collectives.hpp include/cairn/lost_part.hpp
  include/cairn/attribute.hpp include/cairn/containers.hpp include/cairn/element.hpp include/cairn/object.hpp
  include/cairn/open_snapshot.hpp
  include/cairn/region_kind.hpp include/cairn/session_base.hpp include/cairn/storable.hpp include/cairn/version.hpp ${PROJECT_BINARY_DIR}/include/cairn/version.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/cairn COMPONENT cairn_development)
install(DIRECTORY include/cairn/veloc DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/cairn COMPONENT cairn_development)
if(CAIRN_FORTRAN)
  set_target_properties(cairn_fortran_module PROPERTIES EXPORT_NAME fortran_module)
  install(TARGETS cairn_fortran_module EXPORT cairn_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    COMPONENT cairn_development)
  install(FILES ${PROJECT_BINARY_DIR}/lib/modules/cairn.mod DESTINATION ${cairn_module_dir}
    COMPONENT cairn_development)
  # Other compilers cannot read that module, and compile its source.
  install(FILES lib/bind/cairn.f90 DESTINATION ${CMAKE_INSTALL_DATADIR}/cairn COMPONENT cairn_development)
endif()
if(CAIRN_BUILD_TOOLS)
  install(TARGETS ckpt-run ckpt-tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT cairn_tools)
  foreach(tool ckpt-run ckpt-tool)
    configure_file(tools/${tool}/${tool}.1 install/${tool}.1 @ONLY)
    set(page ${PROJECT_BINARY_DIR}/install/${tool}.1)
    if(CAIRN_DEB)
      cairn_gzip(${page} ${page}.gz)
      set(page ${page}.gz)
    endif()
    install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT cairn_tools)
    install(FILES tools/completion/cairn.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
      RENAME ${tool} COMPONENT cairn_tools)
  endforeach()
endif()
# It needs no compiler: one package for every Python. It finds libcairn in the directory above.
set(cairn_python_dir ${CMAKE_INSTALL_LIBDIR}/python3/dist-packages)
if(CAIRN_DEB)
  set(cairn_python_dir lib/python3/dist-packages)
endif()
install(DIRECTORY lib/bind/python/cairn DESTINATION ${cairn_python_dir} COMPONENT cairn_python
  FILES_MATCHING PATTERN "*.py" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)
install(FILES config/cairn.ini DESTINATION ${CMAKE_INSTALL_DATADIR}/cairn COMPONENT cairn_tools)
# README.md and all that it and the pages link to, in the tree of the source, so that each link leads to a file.
file(GLOB pages RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS lib/doc/*.md lib/*/README.md tests/*/README.md)
foreach(page IN LISTS pages ITEMS README.md LICENSE config/cairn.ini include/cairn/cairn.h include/cairn/session_base.hpp
    lib/bind/cairn.f90 lib/ARCHITECTURE.md lib/CHANGELOG.md lib/format/FORMAT.md .github/CITATION.cff
    .github/CONTRIBUTING.md .github/SECURITY.md examples/gradient/main.cpp examples/heat/lost_rows.cpp
    examples/heat/main.cpp examples/particles/main.cpp examples/python/heat.py examples/python/look.py examples/swing/swing.c examples/swing/swing.ini examples/wave/wave.f90)
  cmake_path(GET page PARENT_PATH directory)
  install(FILES ${page} DESTINATION ${CMAKE_INSTALL_DOCDIR}/${directory} COMPONENT cairn_development)
endforeach()

install(EXPORT cairn_targets NAMESPACE cairn:: FILE cairnTargets.cmake DESTINATION ${cairn_cmake_dir}
  COMPONENT cairn_development)
configure_package_config_file(lib/install/cairnConfig.cmake.in install/cairnConfig.cmake
  INSTALL_DESTINATION ${cairn_cmake_dir})
# While MAJOR is 0, a new MINOR may remove names.
write_basic_package_version_file(install/cairnConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/install/cairnConfig.cmake ${PROJECT_BINARY_DIR}/install/cairnConfigVersion.cmake
  lib/install/languages.cmake DESTINATION ${cairn_cmake_dir} COMPONENT cairn_development)

# cairn_pkg_config(NAME LANGUAGE CFLAGS LIBS)
function(cairn_pkg_config pc_name pc_language pc_cflags pc_libs)
  configure_file(lib/install/cairn.pc.in install/${pc_name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/install/${pc_name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
    COMPONENT cairn_development)
endfunction()
if(CAIRN_DEB)
  # Compiler and loader search these directories anyway. pkg-config omits them only if they are written like this.
  set(cairn_pc_prefix ${CMAKE_INSTALL_PREFIX})
  set(cairn_pc_rpath "")
else()
  file(RELATIVE_PATH cairn_pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  string(REGEX REPLACE "/$" "" cairn_pc_prefix "\${pcfiledir}/${cairn_pc_prefix}")
  set(cairn_pc_rpath "-Wl,-rpath,\${libdir} ")
endif()
# A static libcairn names what it needs.
set(cairn_pc_tap "")
set(cairn_pc_needs "")
set(cairn_pc_requires "")
if(CAIRN_STATIC)
  set(cairn_pc_tap "--undefined=cairn_tap_definitions,")
  set(cairn_pc_requires "Requires: libcrypto libisal inih\n")
  foreach(library IN LISTS cairn_hdf5_libraries ITEMS stdc++ m pthread ${CMAKE_DL_LIBS})
    if(library MATCHES "^MPI::|^Threads::")
      continue()
    elseif(NOT library MATCHES "^[-/]")
      string(PREPEND library -l)
    endif()
    string(APPEND cairn_pc_needs " ${library}")
  endforeach()
endif()
cairn_pkg_config(cairn C++ "" "")
cairn_pkg_config(cairn-c C "" "")
cairn_pkg_config(cairn-veloc "C and C++ for programs that were written for VELOC" " -I\${includedir}/cairn/veloc"
  "-lcairn_veloc ")
if(CAIRN_FORTRAN)
  cairn_pkg_config(cairn-fortran Fortran " -I\${prefix}/${cairn_module_dir}" "-lcairn_fortran_module ")
endif()

configure_file(lib/install/uninstall.cmake.in install/uninstall.cmake @ONLY)
add_custom_target(uninstall COMMAND ${CMAKE_COMMAND} -P ${PROJECT_BINARY_DIR}/install/uninstall.cmake)
