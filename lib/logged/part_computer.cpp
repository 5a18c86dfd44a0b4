#include "logged/part_computer.hpp"

#include <exception>
#include <utility>

#include <fmt/format.h>

#include "replay/part_work.hpp"

namespace cairn {
namespace {

// `what`: a name for an error that the application throws.
template <class Value, class Call>
Result<Value> value_of(const char* what, Call call) {
  const auto failed = [&](const char* text) {
    return fail(Code::invalid_argument, fmt::format("{} has failed: {}", what, text));
  };
  try {
    return call();
  } catch (const Exception& error) {
    if (error.kind() == ErrorKind::rollback) return fail(Code::communication, error.what());
    return failed(error.what());
  } catch (const std::exception& error) {
    return failed(error.what());
  } catch (...) {
    return failed("an exception of unknown type");
  }
}

}  // namespace

replay::HelperTeam::Compute computer_of(ComputePart compute) {
  return [compute = std::move(compute)](replay::PartWork& work) {
    LostPart part(work);
    return value_of<Buffer>("the function that computes a part", [&] { return compute(part); });
  };
}

replay::HelperTeam::Split splitter_of(SplitState split) {
  return [split = std::move(split)](std::uint32_t parts) {
    return value_of<std::vector<Buffer>>("the function split of on_loss()", [&] { return split(parts); });
  };
}

}  // namespace cairn
