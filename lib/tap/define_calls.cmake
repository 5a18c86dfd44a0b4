# cairn_define_calls(TABLE OUTPUT): writes a source file that defines MPI_X and PMPI_X of each call in the table.
function(cairn_define_calls table output)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
  # A tool whose definitions were linked with the application comes first, so these are weak.
  set(text "// Made from lib/tap/calls.txt by define_calls.cmake.\n#include \"tap/hear.hpp\"\n\nextern \"C\" {\n")
  file(STRINGS ${table} lines REGEX "^[^#]")
  foreach(line IN LISTS lines)
    if(NOT line MATCHES "^([a-z_]+) ([A-Z][A-Za-z_]+)\\(([A-Za-z_*, ]+)\\)$")
      message(FATAL_ERROR "${table}: not a call: ${line}")
    endif()
    set(act ${CMAKE_MATCH_1})
    set(call ${CMAKE_MATCH_2})
    set(parameters ${CMAKE_MATCH_3})
    # The last word of each parameter is its name.
    string(REGEX REPLACE "[A-Za-z_* ]+[* ]([a-z_]+)" "\\1" names "${parameters}")
    string(REPLACE "," ", " names "${names}")
    if(parameters MATCHES "MPI_Comm comm(,|$)")
      set(names "{\"MPI_${call}\", comm}, ${names}")
    endif()
    foreach(prefix MPI_ PMPI_)
      string(APPEND text
        "\n[[gnu::weak]] int ${prefix}${call}(${parameters}) {\n"
        "  static const auto next = cairn::tap::next<int (*)(${parameters})>(\"${prefix}${call}\");\n"
        "  return cairn::tap::${act}(next, ${names});\n"
        "}\n")
    endforeach()
  endforeach()
  string(APPEND text "\n}  // extern \"C\"\n\nvoid cairn::tap::link_calls() {}\n")
  file(CONFIGURE OUTPUT ${output} CONTENT "${text}" @ONLY)
endfunction()
