#include "format/call_file.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

#include "store/names.hpp"

namespace cairn {
namespace {

static_assert(std::is_trivially_copyable_v<CallFile>);
static_assert(offsetof(CallFile, format) == sizeof(kCallFileMagic));
static_assert(kCallFileBytes1 == 376'952 && kCallFileBytes2 == 376'968);
static_assert(kCallFileBytes3 == 426'208 && sizeof(CallFile) == 426'224);

// A file that claims more is damaged. Who reads files takes some hundred bytes for each rank of the job.
constexpr std::uint32_t kMostCallingRanks = 1U << 21U;
constexpr std::size_t kHead = offsetof(CallFile, rank);

bool is_text(std::span<const char> field) {
  const auto end = std::ranges::find(field, '\0');
  if (end == field.end()) return false;
  return std::all_of(field.begin(), end, [](unsigned char c) { return c > ' ' && c < 0x7f; });
}

bool is_sound(const CallRecord& record, std::uint32_t ranks) {
  return record.kind <= kLastCallKind && record.call < CallFile::kNames && record.waiter <= CallFile::kThreads &&
         record.peer >= kNoPeer && record.peer < static_cast<std::int32_t>(ranks);
}

bool is_sound(const MessageRecord& messages, std::uint32_t ranks) {
  const bool kind =
      messages.kind == CallKind::none || messages.kind == CallKind::send || messages.kind == CallKind::receive;
  return kind && messages.peer >= kNoPeer && messages.peer < static_cast<std::int32_t>(ranks);
}

// What a person has given it: a line.
bool is_line(std::span<const char> field) {
  const auto end = std::ranges::find(field, '\0');
  if (end == field.end()) return false;
  return std::all_of(field.begin(), end, [](unsigned char c) { return c >= ' ' && c < 0x7f; });
}

// Before format 3 there was one kind for all tests.
void tell_tests_apart(CallFile& file) {
  const auto tell = [&](std::span<CallRecord> records) {
    for (CallRecord& record : records)
      if (record.kind == CallKind::test && record.call < CallFile::kNames &&
          std::string_view(file.names[record.call].data()) == "MPI_Testall")
        record.kind = CallKind::test_all;
  };
  tell(file.lasting);
  tell(file.past);
}

// Format 1 did not say which messages it had not counted, nor for which calls and requests it had no place: none of
// its counts is taken, and where something may be left out it is taken to be.
void complete_format_1(CallFile& file) {
  file.messages = {};
  for (CommRecord& comm : file.comms) comm.uncounted = 1;
  file.comms_left_out = file.requests_left_out;
  file.calls_left_out = file.lasting.back().began != 0 ? 1 : 0;
  for (CallRecord& call : file.lasting)
    if (call.kind == CallKind::wait_all || call.kind == CallKind::wait_any) call.number = file.requests_left_out;
}

void move_names(CallFile& file) {
  for (std::size_t i = 0; i < file.old_names.size(); ++i) std::ranges::copy(file.old_names[i], file.names[i].begin());
}

std::size_t bytes_of_format(std::uint32_t format) {
  if (format == 1) return kCallFileBytes1;
  if (format == 2) return kCallFileBytes2;
  return format == 3 ? kCallFileBytes3 : sizeof(CallFile);
}

// What is wrong with it; empty: nothing.
std::string fault_of(const CallFile& file) {
  if (file.ranks == 0 || file.ranks > kMostCallingRanks)
    return fmt::format("its job has {} ranks, should be 1 to {}", file.ranks, kMostCallingRanks);
  if (file.rank >= file.ranks) return fmt::format("it is of rank {}, but its job has {} ranks", file.rank, file.ranks);
  if (file.cairn.call > kLastCairnCall) return "it names an unknown call of Cairn";
  if (file.head_process < 0 || file.head_rank < kNoPeer || file.head_rank >= static_cast<std::int32_t>(file.ranks))
    return "its head has a number out of range";
  if (file.node >= kMostCallingRanks)
    return fmt::format("it is of node {}, should be below {}", file.node, kMostCallingRanks);
  if (file.process <= 0) return fmt::format("it is of process {}, should be above 0", file.process);
  if (!is_text(file.host)) return "the name of its host is not text";
  for (std::size_t i = 0; i < file.old_names.size(); ++i)
    if (!is_text(file.old_names[i])) return fmt::format("name {} is not text", i);
  for (std::size_t i = 0; i < file.names.size(); ++i)
    if (!is_text(file.names[i])) return fmt::format("name {} is not text", i);
  const auto check = [&](std::span<const CallRecord> records, std::string_view where) -> std::string {
    const auto bad = std::ranges::find_if(records, [&](const CallRecord& r) { return !is_sound(r, file.ranks); });
    if (bad == records.end()) return "";
    return fmt::format("{} call {} has a number out of range", where, bad - records.begin());
  };
  if (auto fault = check(file.lasting, "lasting"); !fault.empty()) return fault;
  if (auto fault = check(file.pending, "pending"); !fault.empty()) return fault;
  if (!std::ranges::all_of(file.comm_names, [](const auto& name) { return is_line(name); }))
    return "a name of a communicator is not text";
  const bool counts = std::ranges::all_of(file.messages, [&](const auto& m) { return is_sound(m, file.ranks); });
  if (!counts) return "a count of messages has a number out of range";
  return check(file.past, "past");
}

}  // namespace

Result<std::unique_ptr<CallFile>> read_call_file(const Store& store, const FileName& name) {
  const auto reader = store.open(name);
  if (!reader) return fail(reader.error().in_file(name.path));
  const std::uint64_t size = (*reader)->size_bytes();
  if (size < kHead) return fail_in_file(Code::corrupt, name.path, fmt::format("{} bytes are too few", size));

  auto file = std::make_unique<CallFile>();
  const auto into =
      std::as_writable_bytes(std::span(file.get(), 1)).first(std::min<std::uint64_t>(size, sizeof(*file)));
  if (auto status = (*reader)->read(0, into); !status) return fail(status.error().in_file(name.path));

  if (file->magic != kCallFileMagic)
    return fail_in_file(Code::corrupt, name.path, "it is not a file of a rank's calls");
  // Before the length, which may be another one in another format.
  if (file->format > kCallFileFormat)
    return fail(fail_newer_format("format of calls", file->format, kCallFileFormat).value().in_file(name.path));
  if (file->format == 0) return fail_in_file(Code::corrupt, name.path, "its format is 0");
  const std::size_t length = bytes_of_format(file->format);
  if (size != length)
    return fail_in_file(Code::corrupt, name.path, fmt::format("it is {} bytes long, should be {}", size, length));
  if (file->format == 1) complete_format_1(*file);
  if (auto fault = fault_of(*file); !fault.empty()) return fail_in_file(Code::corrupt, name.path, std::move(fault));
  if (file->format < 3) move_names(*file);
  if (names::calls(Rank{file->rank}) != name)
    return fail_in_file(Code::corrupt, name.path, fmt::format("it is the file of rank {}", file->rank));
  if (file->format < 3) tell_tests_apart(*file);
  return file;
}

Status read_last_calls(const Store& store, const FileName& name, CallFile& into) {
  const auto reader = store.open(name);
  if (!reader) return fail(reader.error().in_file(name.path));
  if ((*reader)->size_bytes() != sizeof(CallFile))
    return fail_in_file(Code::corrupt, name.path, fmt::format("it is not {} bytes long", sizeof(CallFile)));
  const auto all = std::as_writable_bytes(std::span(&into, 1));
  Status status;
  const auto read = [&](const void* begin, std::size_t length) {
    const auto at = static_cast<std::size_t>(static_cast<const std::byte*>(begin) - all.data());
    if (status) status = (*reader)->read(at, all.subspan(at, length));
  };
  read(&into, offsetof(CallFile, host));
  CallRecord& newest = into.past[(into.calls - 1) % CallFile::kPast];
  if (into.calls > 0) read(&newest, sizeof(newest));
  read(&into.lasting, sizeof(into.lasting));
  read(&into.cairn, sizeof(into.cairn));
  if (!status) return fail(status.error().in_file(name.path));
  const auto sound = [&](const CallRecord& record) { return is_sound(record, into.ranks); };
  if (into.magic != kCallFileMagic || into.format != kCallFileFormat || into.cairn.call > kLastCairnCall ||
      !std::ranges::all_of(into.lasting, sound) || (into.calls > 0 && !sound(newest)))
    return fail_in_file(Code::corrupt, name.path, "it is not a file of a rank's calls");
  return {};
}

}  // namespace cairn
