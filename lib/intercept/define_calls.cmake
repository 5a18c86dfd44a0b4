# cairn_define_calls(TABLE DEFINITIONS NAMES): writes two source files: one defines MPI_X and PMPI_X of each call in the
# table, the other has the calls' names.

# Appends to the variable `site` what a parameter of this name says of the call, if there is one.
macro(cairn_add_to_site parameter field value)
  if(parameters MATCHES "(^|[ ,*])${parameter}(,|$)")
    string(APPEND site ", .${field} = ${value}")
  endif()
endmacro()

function(cairn_define_calls table definitions names_of_calls)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
  # A tool whose definitions were linked with the application comes first, so these are weak.
  set(made "// Made from lib/intercept/calls.txt by define_calls.cmake.\n")
  # A program that links static libraries asks for the definitions by the first of these names.
  set(text "${made}#include \"intercept/acts.hpp\"\n\nextern \"C\" {\n\nvoid cairn_tap_definitions() {}\n")
  set(all_names "")
  set(number 0)
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
    string(REPLACE "," ", " names ", ${names}")
    if(parameters STREQUAL void)
      set(names "")
    endif()
    set(site ".name = \"MPI_${call}\", .number = ${number}")
    cairn_add_to_site("MPI_Comm comm" comm comm)
    cairn_add_to_site(peer peer peer)
    cairn_add_to_site(root peer root)
    cairn_add_to_site(tag tag tag)
    cairn_add_to_site(source source source)
    cairn_add_to_site(source_tag source_tag source_tag)
    cairn_add_to_site(count count count)
    cairn_add_to_site(type type type)
    if(parameters MATCHES "own_count")
      string(APPEND site ", .count = cairn::tap::is_in_place(from, to) ? 0 : own_count, .type = own_type")
    endif()
    foreach(prefix MPI_ PMPI_)
      string(APPEND text
        "\n[[gnu::weak]] int ${prefix}${call}(${parameters}) {\n"
        "  static const auto next = cairn::tap::next<int (*)(${parameters})>(\"${prefix}${call}\");\n"
        "  return cairn::tap::${act}(next, {${site}}${names});\n"
        "}\n")
    endforeach()
    string(APPEND all_names "\n    \"MPI_${call}\",")
    math(EXPR number "${number} + 1")
  endforeach()
  string(APPEND text "\n}  // extern \"C\"\n")
  file(CONFIGURE OUTPUT ${definitions} CONTENT "${text}" @ONLY)
  string(CONCAT text "${made}#include \"tap/hear.hpp\"\n\nnamespace cairn::tap {\n\n"
    "std::span<const char* const> call_names() {\n  static constexpr const char* names[] = {${all_names}\n  };\n"
    "  static_assert(std::size(names) <= CallFile::kNames);\n  return names;\n}\n\n}  // namespace cairn::tap\n")
  file(CONFIGURE OUTPUT ${names_of_calls} CONTENT "${text}" @ONLY)
endfunction()
