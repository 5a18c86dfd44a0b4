# cairn_language(TARGET LANGUAGE TAP LIBRARY [MODULE]): the target that programs of a language link: TAP is libcairn-tap,
# LIBRARY libcairn, MODULE what comes in addition. In this build, and for whoever finds what is installed.
function(cairn_language target language tap library)
  if(TARGET ${target} OR NOT TARGET MPI::MPI_${language})
    return()
  endif()
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_link_libraries(${target} INTERFACE ${ARGN} ${tap} ${library} MPI::MPI_${language})
  # Interception works where the tap comes before MPI, wherever a program names the two. Options come first. A static tap
  # is taken for the name that it alone defines.
  target_link_options(${target} INTERFACE
    $<$<STREQUAL:$<TARGET_PROPERTY:${tap},TYPE>,STATIC_LIBRARY>:LINKER:--undefined=cairn_tap_definitions>
    LINKER:--push-state,--no-as-needed $<TARGET_FILE:${tap}> LINKER:--pop-state)
  if(language STREQUAL CXX AND NOT target STREQUAL cairn::veloc)
    target_compile_features(${target} INTERFACE cxx_std_20)
  endif()
endfunction()

# cairn_veloc_door(TAP LIBRARY DOOR): the target of programs that were written for VELOC, in C or C++ of any standard.
function(cairn_veloc_door tap library door)
  if(NOT TARGET MPI::MPI_C)
    cairn_language(cairn::veloc CXX ${tap} ${library} ${door})
    return()
  endif()
  cairn_language(cairn::veloc C ${tap} ${library} ${door})
  if(TARGET MPI::MPI_CXX)
    target_link_libraries(cairn::veloc INTERFACE $<$<LINK_LANGUAGE:CXX>:MPI::MPI_CXX>)
    target_compile_definitions(cairn::veloc INTERFACE $<$<COMPILE_LANGUAGE:CXX>:OMPI_SKIP_MPICXX>)
  endif()
endfunction()
