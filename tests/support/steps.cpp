#include "support/steps.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "store/names.hpp"
#include "support/job.hpp"

namespace cairn::test {

Steps::Steps(SessionBase& session, std::size_t about) : session_(session), about_(about) {
  session_.protect("state", state_);
  session_.protect("step", step_);
}

std::uint32_t Steps::restore(std::uint32_t version) {
  return check(version == 0 ? session_.restore() : session_.restore(version));
}

std::uint32_t Steps::restore_label(const std::string& label) { return check(session_.restore(Label{label})); }

std::uint32_t Steps::check(const RestoreReport& report) const {
  if (!report.restored) {
    EXPECT_EQ(step_, 0U);
    return 0;
  }
  EXPECT_EQ(state_, sample_state(session_.rank(), step_, about_)) << "rank " << session_.rank() << " at step " << step_;
  return step_;
}

void Steps::compute() { state_ = sample_state(session_.rank(), ++step_, about_); }

std::optional<std::uint32_t> Steps::advance() {
  compute();
  return session_.snapshot();
}

void Steps::advance_by(std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) advance();
}

std::uint32_t Steps::advance_to(LevelId level) {
  compute();
  return session_.snapshot(level);
}

void Steps::wait_for_all() {
  for (const LevelId level : kEveryLevel) session_.wait(level);
}

void take_steps(Job& job, std::uint32_t count) {
  job.run_well_and_die([&](JobSession& session) {
    Steps steps(session);
    steps.restore();
    steps.advance_by(count);
    steps.wait_for_all();
  });
}

void expect_restore(Job& job, std::uint32_t step) {
  job.run_well_and_die([&](JobSession& session) { EXPECT_EQ(Steps(session).restore(), step); });
}

Contents contents_of(const MemoryStore& store) {
  Contents contents;
  const auto entries = store.list(DirName{});
  if (!entries) return contents;
  for (const Entry& entry : *entries) {
    const auto dir = names::parse_snapshot(entry.name);
    if (!dir) continue;
    contents.versions.push_back(dir->version.value);
    if (dir->partial) ++contents.partial;
    const auto files = store.list(DirName{entry.name});
    const bool named = files && std::ranges::any_of(*files, [](const Entry& f) { return f.name == "manifest.json"; });
    if (!named) ++contents.without_manifest;
  }
  return contents;
}

}  // namespace cairn::test
