#include "format/call_record.hpp"

namespace cairn {

std::string name_of(const CallFile& file, const CallRecord& record) {
  const std::string name(file.names[record.call].data());
  return name.empty() ? "an MPI call" : name;
}

std::string host_of(const CallFile& file) { return file.host.data(); }

}  // namespace cairn
