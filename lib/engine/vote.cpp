#include "engine/vote.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cairn {
namespace {

constexpr const char* kSameCalls = "every application rank must make the same snapshot calls, at the same safe points";
constexpr unsigned kCodeShift = 32;
constexpr unsigned kLabelShift = 34;

// A label is a few bits of its digest.
std::uint64_t to_word(const RestoreRequest& request) {
  const std::uint64_t label = request.label.empty() ? 0 : digest_of_label({request.label, {}}) >> kLabelShift | 1U;
  return label << kLabelShift | std::uint64_t{request.version.value} << 2U | (request.at_start ? 2 : 0) |
         (request.again ? 1 : 0);
}

// Without its label.
RestoreRequest request_of_word(std::uint64_t word) {
  return {Version{static_cast<std::uint32_t>(word >> 2U)}, {}, (word & 2U) != 0, (word & 1U) != 0};
}

std::string text_of(std::uint64_t word) {
  if (word >> kLabelShift != 0) return "a label";
  const RestoreRequest request = request_of_word(word);
  return request.version.value == 0 ? "the newest version" : fmt::format("version {}", request.version.value);
}

// The code that other nodes report: a store's failure is another node's, while an error of the calls concerns the whole
// job.
Code as_seen_elsewhere(Code code) { return fails_for_storage(code) ? Code::failed_elsewhere : code; }

std::string names_of(LevelSet levels) {
  std::string names;
  for (const LevelId level : levels) names += fmt::format("{}L{}", names.empty() ? "" : ", ", static_cast<int>(level));
  return names;
}

}  // namespace

void Vote::put(Word word, std::uint64_t value) {
  words_.at(word) = value;
  words_.at(word + 1) = ~value;
}

// Several ranks of a node may note different ones.
void Vote::note(Word word, std::uint64_t digest) {
  if (digest == 0) return;
  words_.at(word) = std::max(words_.at(word), digest);
  words_.at(word + 1) = std::max(words_.at(word + 1), ~digest);
}

Vote Vote::on(Version version, LevelSet levels, std::uint64_t safe_point) {
  Vote vote;
  vote.words_[kSealing] = 1;
  vote.words_[kHighest] = version.value;
  vote.put(kVersion, version.value);
  vote.put(kDue, levels.bits());
  vote.put(kSafePoint, safe_point);
  return vote;
}

Vote Vote::on_nothing(NodeId node, Version highest, const Waiting& waiting) {
  Vote vote;
  vote.words_[kNothing] = node.value + 1;
  vote.words_[kForRestore] = waiting.for_restore.empty() ? 0 : node.value + 1;
  for (const RestoreRequest& request : waiting.for_restore) {
    const std::uint64_t word = to_word(request);
    vote.words_[kRequest] = std::max(vote.words_[kRequest], word);
    vote.words_[kRequest + 1] = std::max(vote.words_[kRequest + 1], ~word);
    vote.note(kCall, static_cast<std::uint64_t>(request.call));
    if (request.rejects) vote.words_[kRejects] = 1;
  }
  vote.words_[kForEnd] = waiting.for_end ? node.value + 1 : 0;
  vote.words_[kHighest] = highest.value;
  return vote;
}

void Vote::fail(NodeId node, Code code) {
  words_[kFailed] = (static_cast<std::uint64_t>(code) << kCodeShift) | (node.value + 1);
}

void Vote::note_lost(Version version) {
  std::uint64_t& word = words_.at(kLost + version.value % kLostWords);
  word = std::max<std::uint64_t>(word, version.value);
}

bool Vote::has_lost(Version version) const {
  return version.value != 0 && words_.at(kLost + version.value % kLostWords) == version.value;
}

void Vote::note_layout(LayoutId layout, std::uint64_t same_place, std::uint64_t other_place) {
  put(kLayout, std::uint64_t{layout.value} + 1);
  words_[kSamePlace] = same_place;
  words_[kOtherPlace] = other_place;
}

std::optional<Vote::AgreedLayout> Vote::layout() const {
  if (words_[kLayout] == 0 || !all_gave_the_same(kLayout)) return {};
  return AgreedLayout{LayoutId{static_cast<std::uint32_t>(words_[kLayout] - 1)}, words_[kSamePlace],
                      words_[kOtherPlace]};
}

bool Vote::nothing_is_left() const { return words_[kSealing] == 0; }

LevelSet Vote::levels() const {
  return all_gave_the_same(kDue) ? LevelSet::of_bits(static_cast<std::uint8_t>(words_[kDue])) : LevelSet{};
}

Version Vote::highest() const { return Version{static_cast<std::uint32_t>(words_[kHighest])}; }

std::optional<Error> Vote::different_calls() const {
  if (words_[kForRestore] == 0 || words_[kForEnd] == 0) return {};
  return Error{
      Code::invalid_argument,
      fmt::format("a rank of node {} called {}, but a rank of node {} called finalize() or ended its session",
                  words_[kForRestore] - 1, text_of(static_cast<SettledCall>(words_[kCall])), words_[kForEnd] - 1),
      "every application rank must make the same calls"};
}

Result<RestoreRequest> Vote::request() const {
  if (words_[kForRestore] == 0) return RestoreRequest{};
  const auto call = static_cast<SettledCall>(words_[kCall]);
  if (!all_gave_the_same(kCall))
    return cairn::fail(Code::invalid_argument,
                       fmt::format("some ranks called {}, and others {}", text_of(call),
                                   text_of(static_cast<SettledCall>(~words_[kCall + 1]))),
                       "every application rank must make the same calls");
  const std::uint64_t one = ~words_[kRequest + 1];
  const std::uint64_t other = words_[kRequest];
  if (one >> kLabelShift != other >> kLabelShift || request_of_word(one).version != request_of_word(other).version)
    return cairn::fail(Code::mismatch,
                       fmt::format("ranks called {} for {} and for {}", text_of(call), text_of(one), text_of(other)),
                       "every application rank must ask for the same version, or the same label");
  RestoreRequest request = request_of_word(other);
  request.call = call;
  request.rejects = words_[kRejects] != 0;
  return request;
}

bool Vote::is_for_label() const { return words_[kForRestore] != 0 && words_[kRequest] >> kLabelShift != 0; }

std::optional<NodeId> Vote::failed_node() const {
  if (words_[kFailed] == 0) return {};
  return NodeId{static_cast<std::uint32_t>(words_[kFailed]) - 1};
}

std::optional<Error> Vote::objection() const {
  if (const auto gone = left()) return error_of(*gone);
  if (words_[kLabel] != 0 && !all_gave_the_same(kLabel)) return different_labels();
  if (words_[kAttributes] != 0 && !all_gave_the_same(kAttributes)) return different_attributes();
  if (const auto node = failed_node()) {
    const Code code = code_of(words_[kFailed] >> kCodeShift).value_or(Code::communication);
    return Error{as_seen_elsewhere(code), fmt::format("node {} could not write it", node->value), {}};
  }
  if (words_[kNothing] != 0) {
    return Error{Code::invalid_argument,
                 fmt::format("the ranks of node {} did not call snapshot() for it", words_[kNothing] - 1), kSameCalls};
  }
  if (!all_gave_the_same(kVersion)) {
    return Error{Code::invalid_argument,
                 fmt::format("nodes write different versions: version {} and version {}", ~words_[kVersion + 1],
                             words_[kVersion]),
                 kSameCalls};
  }
  if (!all_gave_the_same(kDue))
    return different_levels(LevelSet::of_bits(static_cast<std::uint8_t>(~words_[kDue + 1])),
                            LevelSet::of_bits(static_cast<std::uint8_t>(words_[kDue])));
  if (!all_gave_the_same(kSafePoint)) return different_safe_points(~words_[kSafePoint + 1], words_[kSafePoint]);
  return {};
}

Error different_levels(LevelSet one, LevelSet other) {
  return {Code::invalid_argument,
          fmt::format("ranks asked for different levels: {} and {}", names_of(one), names_of(other)), kSameCalls};
}

Error different_safe_points(std::uint64_t one, std::uint64_t other) {
  return {Code::invalid_argument,
          fmt::format("ranks are at different safe points: calls {} and {} of snapshot()", std::min(one, other),
                      std::max(one, other)),
          kSameCalls};
}

Error different_labels() {
  return {Code::mismatch, "ranks have set different labels", "every application rank must set the same label, or none"};
}

Error different_attributes() {
  return {Code::mismatch, "ranks have set different attributes",
          "every application rank must set the same attributes, or none; protect what differs as a region"};
}

}  // namespace cairn
