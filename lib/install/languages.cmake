# cairn_language(TARGET LANGUAGE LIBRARY [MODULE]): the target that programs of a language link: LIBRARY is libcairn,
# MODULE what comes in addition. In this build, and for whoever finds what is installed.
function(cairn_language target language library)
  if(TARGET ${target} OR NOT TARGET MPI::MPI_${language})
    return()
  endif()
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_link_libraries(${target} INTERFACE ${ARGN} ${library} MPI::MPI_${language})
  # libcairn intercepts MPI calls, so it has to come before MPI, wherever a program names the two. Options come first.
  target_link_options(${target} INTERFACE LINKER:--push-state,--no-as-needed $<TARGET_FILE:${library}> LINKER:--pop-state)
  if(language STREQUAL CXX)
    target_compile_features(${target} INTERFACE cxx_std_20)
  endif()
endfunction()
