#include "format/call_record.hpp"

#include <algorithm>

namespace cairn {

std::string name_of(const CallFile& file, const CallRecord& record) {
  const std::string name(file.names[record.call].data());
  return name.empty() ? "an MPI call" : name;
}

std::string host_of(const CallFile& file) { return file.host.data(); }

std::uint64_t& begun_of(CallFile& file, CairnCall call) {
  const auto place = static_cast<std::size_t>(call);
  return place < kOldCairnCalls ? file.cairn.begun.at(place) : file.begun_since.at(place - kOldCairnCalls);
}

CairnCounts begun_of(const CallFile& file) {
  CairnCounts begun{};
  const auto since = std::ranges::copy(file.cairn.begun, begun.begin()).out;
  std::ranges::copy(file.begun_since, since);
  return begun;
}

}  // namespace cairn
