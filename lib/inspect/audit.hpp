// Reads everything that a job's stores hold and says of each file whether it is what was written: shards and copies
// block by block, parity by its digest and against the data it was computed from, files of the global store. Then works
// out what a restart could restore from the good files. Nothing is written or locked, so a running job is not
// disturbed; files that the job retires meanwhile are not reported as damage.
//
// Local: no call communicates.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "inspect/survey.hpp"

namespace cairn {

struct AuditOptions {
  std::optional<Version> version;  // only this one
  // Bytes read so far and in all; called every few MiB.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
  // How long to wait for manifests that are about to appear or to be removed, when a job seems to be running.
  std::chrono::milliseconds patience{2000};
};

struct SnapshotAudit {
  SnapshotView view;
  std::vector<Finding> findings;   // good ones too; by holder and file
  std::vector<std::string> notes;  // what could not be checked, and why
  Recovery recovery;               // without the files that are not good
  [[nodiscard]] std::size_t count(Finding::State state) const;
};

struct Audit {
  std::vector<SnapshotAudit> snapshots;  // newest first
  // Manifests and run records of snapshots that nothing else names, and files that belong to no snapshot.
  std::vector<Finding> others;
  std::vector<Ignored> ignored;  // newest first
  Incarnation fresh_start;       // as in Survey, like `branch`
  Branch branch;
  std::uint64_t bytes_read = 0;
  [[nodiscard]] std::size_t count(Finding::State state) const;
};

[[nodiscard]] Result<Audit> audit_stores(const JobStores& stores, const AuditOptions& options);

// Counts bytes as they are read.
class AuditProgress {
 public:
  explicit AuditProgress(const AuditOptions& options) : options_(options) {}
  void expect(std::uint64_t bytes) { total_ += bytes; }
  // Reading a file of `bytes`, piece by piece; what is not announced in pieces is counted at its end.
  void begin(std::uint64_t bytes);
  void piece(std::uint64_t bytes);
  void end();
  [[nodiscard]] std::uint64_t done() const { return done_; }

 private:
  const AuditOptions& options_;
  std::uint64_t total_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t left_ = 0;  // of the file being read
};

// The steps of audit_stores(): each looks at one kind of file of one snapshot and adds to its findings and notes.
struct AuditStep {
  const JobStores& stores;
  const Survey& survey;
  AuditProgress& progress;
  SnapshotAudit& audit;

  void node_files() const;    // shards, copies, parity by digest
  void entries() const;       // what manifests say of each other's shards
  void parity_data() const;   // parity against data; after node_files()
  void shared_files() const;  // in stores of all nodes
  // Bytes that the steps will read.
  [[nodiscard]] std::uint64_t bytes() const;

 private:
  void shared_files(LevelId level, const SharedSnapshot& snapshot) const;
};

}  // namespace cairn
