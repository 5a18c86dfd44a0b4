# cairn_text: fmt and spdlog, compiled into Cairn and hidden there: a program may use another version of either.
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
set(cairn_fmt_functions ${PROJECT_SOURCE_DIR}/lib/base/fmt_functions.cpp)
get_target_property(cairn_fmt_include fmt::fmt-header-only INTERFACE_INCLUDE_DIRECTORIES)
# A static library hides nothing, and its fmt has to be what linkers merge with that of a program.
if(NOT CAIRN_STATIC AND NOT DEFINED CAIRN_FMT_COMPILED_ONCE)
  # All kinds of values that Cairn writes, unoptimised, where nothing is inlined.
  try_compile(CAIRN_FMT_COMPILED_ONCE
    SOURCES ${cairn_fmt_functions}
    SOURCE_FROM_CONTENT use.cpp [[
#include <array>
#include <chrono>
#include <iterator>
#include <string>
#include <tuple>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
int main(int count, char** words) {
  const std::array numbers{1.5, 2.5};
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  std::string text = fmt::format("{:>{}} {:.3f} {:#x} {:L} {} {}", words[0], count, 0.5 * count, count, count, 'x', true);
  text += fmt::format("{:%F %T} {} {}", now, fmt::join(numbers, ", "), std::tuple{count, text, 1.0F});
  fmt::format_to(std::back_inserter(text), "{} {:e}", fmt::ptr(words), 3.0L);
  try {
    text += fmt::format(fmt::runtime(words[0]), count);
  } catch (const fmt::format_error& error) {
    text += error.what();
  }
  return text.empty() || fmt::to_string(0.5 + count).empty() || fmt::formatted_size("{}", count) == 0 ? 1 : 0;
}
]]
    CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${cairn_fmt_include}" -DCMAKE_BUILD_TYPE=Debug
    CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON)
endif()

set(cairn_fmt_once OFF)
if(CAIRN_FMT_COMPILED_ONCE AND NOT CAIRN_STATIC)
  set(cairn_fmt_once ON)
endif()

add_library(cairn_text INTERFACE)
target_link_libraries(cairn_text INTERFACE Threads::Threads)
target_compile_definitions(cairn_text INTERFACE SPDLOG_FMT_EXTERNAL)
target_include_directories(cairn_text SYSTEM INTERFACE ${cairn_fmt_include}
  $<TARGET_PROPERTY:spdlog::spdlog_header_only,INTERFACE_INCLUDE_DIRECTORIES>)
if(NOT cairn_fmt_once)
  message(STATUS "fmt is compiled into each file")
  target_compile_definitions(cairn_text INTERFACE FMT_HEADER_ONLY=1)
endif()
