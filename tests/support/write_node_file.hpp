// A whole node file of L4 in one call.
#pragma once

#include <functional>
#include <vector>

#include "format/hdf5/hdf5_file.hpp"

namespace cairn::test {

inline Result<WrittenFile> write_node_file(Store& global, const FileName& name, const Store& local,
                                           const std::vector<FileName>& shards, const std::function<void()>& between) {
  Workers alone(0);
  auto writer = NodeFileWriter::begin(global, name, local, shards);
  return writer ? writer->finish({}, alone, between) : fail(writer.error());
}

}  // namespace cairn::test
