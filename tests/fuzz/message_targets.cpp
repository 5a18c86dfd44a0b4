// Messages between ranks and heads, one at a time.
#include <algorithm>

#include "comm/error_message.hpp"
#include "config/config.hpp"
#include "engine/inquiry.hpp"
#include "engine/messages.hpp"
#include "engine/vote.hpp"
#include "format/notes.hpp"
#include "fuzz/target.hpp"
#include "hang/short_form.hpp"
#include "hang/text.hpp"
#include "level/level.hpp"
#include "localize/codec.hpp"
#include "localize/facts.hpp"
#include "recover/inventory_codec.hpp"
#include "support/sample_calls.hpp"
#include "support/sample_notes.hpp"

namespace cairn::fuzz {
namespace {

constexpr Identity kSnapshot{{3}, {42}, {0x0123456789abcdefULL}};
const Error kError{Code::no_space, "v00000042/rank000001.shard: full", "make room"};

bool is_known(Code code) { return code_of(static_cast<std::uint64_t>(code)).has_value(); }

template <class Message>
bool run_message(Bytes input, Result<Message> (*decode)(Bytes)) {
  const auto message = decode(input);
  if (!message) {
    must(!message.error().message.empty(), "an error says what is wrong");
    return false;
  }
  const Buffer again = encode(*message);
  const auto same = decode(again);
  must(same.has_value(), "a message that was sent on is read");
  must(encode(*same) == again, "a message that was sent on is the same");
  return true;
}

void check(const Error& error) { must(is_known(error.code), "an error has a code that is known"); }
void check(LevelId level) { must(LevelSet::all().has(level), "a level is one that there may be"); }

// What those who take a message go by without another look.
void check_fields(const auto& message) {
  if constexpr (requires { message.level; }) check(message.level);
  if constexpr (requires { message.error.code; }) check(message.error);
  if constexpr (requires { message.error.value().code; }) {
    if (message.error) check(*message.error);
  }
}

template <class Message>
bool run_control(Bytes input, Result<Message> (*decode)(Bytes)) {
  const auto message = decode(input);
  if (message) std::visit([](const auto& alternative) { check_fields(alternative); }, *message);
  return run_message<Message>(input, decode);
}

bool run_to_head(Bytes input) { return run_control<ToHead>(input, decode_to_head); }
bool run_to_rank(Bytes input) { return run_control<ToRank>(input, decode_to_rank); }
bool run_localize(Bytes input) { return run_message<localize::Message>(input, localize::decode_message); }
// What is read can be examined.
bool run_rank_calls(Bytes input) {
  constexpr std::uint32_t kMostRanks = 64;  // a job of more takes memory for each
  const auto readings = hang::decode_readings(input);
  if (!run_message<std::vector<hang::RankReading>>(input, hang::decode_readings) || readings->empty()) return false;
  const auto is_small = [](const hang::RankReading& reading) { return reading.calls.ranks <= kMostRanks; };
  if (std::ranges::all_of(*readings, is_small)) (void)report_text("heat", hang::examine(*readings, {}, {10, 10}));
  return true;
}

bool run_config_source(Bytes input) { return run_message<ConfigSource>(input, decode_config_source); }

bool run_entries(Bytes input) {
  const auto entries = decode_entries(input);
  if (!entries) return false;
  must(std::ranges::equal(encode_entries(*entries), input), "entries that are sent on are the same");
  return true;
}

// The number of the dictionary's entries, u8, and they; then what a head says by it.
bool run_holdings(Bytes input) {
  constexpr std::size_t kEntry = 28;
  ByteReader in(input);
  const auto count = in.get<std::uint8_t>();
  const auto dictionary = decode_holdings(in.get_bytes(std::min<std::size_t>(count * kEntry, in.remaining())));
  if (!dictionary) return false;
  must(decode_holdings(encode_holdings(*dictionary)).value() == *dictionary,
       "a dictionary that is sent on is the same");
  const auto holdings = decode_holdings_by(*dictionary, in.get_bytes(in.remaining()));
  if (!holdings) return false;
  const auto same = decode_holdings_by(*dictionary, encode_holdings_by(*dictionary, *holdings));
  must(same && *same == *holdings, "a list of holdings that is sent on is the same");
  return true;
}

bool run_error(Bytes input) {
  const Error error = decode_error(input);
  must(is_known(error.code), "an error has a code that is known");
  const Error same = decode_error(encode_error(error));
  must(same.code == error.code && same.text() == error.text(), "an error that is sent on is the same");
  return error.code != Code::failed_elsewhere;
}

// What the other heads give to the reduction; this one votes on version 3.
bool run_vote(Bytes input) {
  Vote vote = Vote::on({3}, LevelSet::of_bits(2), 5);
  ByteReader in(input);
  for (std::uint64_t& word : vote.words()) word = std::max(word, in.get<std::uint64_t>());
  must(!vote.nothing_is_left(), "a version that is voted on is not forgotten");
  const auto objection = vote.objection();
  if (objection) must(!objection->message.empty() && is_known(objection->code), "an objection says why");
  const auto different = vote.different_calls();
  if (different) must(!different->message.empty(), "an error says why");
  must(!vote.failed_node() || objection, "what a node could not seal is not sealed");
  (void)vote.has_lost({vote.highest()});
  (void)vote.layout();
  return !objection;
}

void receive(Inquiry& inquiry, std::uint32_t from, const ToHead& message, Inquiry::Time now) {
  if (const auto* waits = std::get_if<Waits>(&message)) inquiry.receive(Rank{from}, *waits, now);
  if (const auto* inquire = std::get_if<Inquire>(&message)) inquiry.receive(NodeId{from}, *inquire, now);
  if (const auto* ask = std::get_if<Ask>(&message)) inquiry.receive(*ask, now);
  if (const auto* answer = std::get_if<NotHere>(&message)) inquiry.receive(NodeId{from}, *answer);
  if (const auto* missing = std::get_if<Missing>(&message)) inquiry.receive(*missing);
}

// Which of three heads this is, u8; then messages: from whom, u8, after how many seconds, u8, length, u16.
bool run_inquiry(Bytes input) {
  const auto topology = make_topology(std::vector<std::string>(9, "host"), {3}, HeadMode::rank).value();
  ByteReader in(input);
  const NodeId me{in.get<std::uint8_t>() % topology.node_count()};
  const auto to_head = [&](NodeId to, const ToHead& message) {
    must(to.value < topology.node_count(), "a message goes to a head that there is");
    must(decode_to_head(encode(message)).has_value(), "a message to a head can be read there");
  };
  const auto to_rank = [&](Rank rank, const ToRank& message) {
    must(std::ranges::count(topology.nodes[me.value].ranks, rank) == 1, "a message goes to a rank of this node");
    must(decode_to_rank(encode(message)).has_value(), "a message to a rank can be read there");
  };
  Inquiry inquiry(topology, me, {to_head, to_rank, [] { return std::string(); }, [](const std::string&) {}});
  Inquiry::Time now{std::chrono::seconds(100)};
  bool heard = false;
  while (in.good() && in.remaining() > 0) {
    const std::uint32_t from = in.get<std::uint8_t>() % topology.node_count();
    now += std::chrono::seconds(in.get<std::uint8_t>());
    const auto message = decode_to_head(in.get_bytes(std::min<std::size_t>(in.get<std::uint16_t>(), in.remaining())));
    if (message) receive(inquiry, message->index() == ToHead(Waits{}).index() ? me.value * 2 : from, *message, now);
    inquiry.look(now);
    heard |= message.has_value();
  }
  return heard;
}

template <class Message>
std::vector<Buffer> encoded(const std::vector<Message>& messages) {
  std::vector<Buffer> seeds;
  for (const Message& message : messages) seeds.push_back(encode(message));
  return seeds;
}

JobCosts sample_measured() {
  JobCosts measured{{}, 302400.5, {7}, true};
  measured.levels[0] = {0.025, 0.5, 43200, 6};
  return measured;
}

constexpr RankLeft kLeft{{3}, {1}, {42}, 77, true};

std::vector<ToHead> letters() {
  return {Hello{kError},
          Seal{{42}, 77, LevelSet::of_bits(30), 8192, kError},
          RestoreRequest{{41}, "spin-up", true, false, SettledCall::close, true},
          RestoreResult{kError, Resized{"x", 12, 13, 2}, {Rank{1}, Rank{3}}, 1 << 20},
          FinalizeRequest{{42}, 77, true, false, true, true},
          sample_measured(),
          Waits{"finalize()", 10, true},
          Suspected{"the residual grows"},
          HeadGone{"it died"},
          Inquire{{3}, "restore()", 12},
          Ask{},
          NotHere{{1, 2, 5}},
          Missing{"rank 3"},
          kLeft,
          AvoidNodes{{1, 4}},
          Dropped{kSnapshot}};
}

std::vector<Buffer> to_head_seeds() { return encoded(letters()); }

std::vector<Buffer> to_rank_seeds() {
  const Opened opened{{3}, {77}, {42}, LevelSet::of_bits(30), 3, sample_measured(), kError};
  return encoded<ToRank>({opened, Reached{{42}, LevelId::erasure, std::chrono::microseconds(5)},
                          Failed{{42}, LevelSet::of_bits(6), kError}, Retired{{41}},
                          Offer{false,
                                kSnapshot,
                                LevelId::partner,
                                "L2",
                                {1, 2, 3, 4},
                                {"a", "b"},
                                0.5,
                                4,
                                {{Rank{1}, false}, {Rank{3}, true}},
                                {{Rank{2}, false}}},
                          RestoreDone{{42}, 3, kError, {}, 1 << 20}, Finalized{kError}, Trouble{kError}, Acknowledged{},
                          Ask{}, Missing{"x"}, kLeft, SnapshotNow{LevelId::erasure}});
}

std::vector<Buffer> localize_seeds() {
  using namespace localize;
  const Observation seen{SymptomKind::store_error, {{5}, Rank{20}}, {3}, Time(1), Time(2), Time(9), 4, 0.25};
  const Verdict verdict{
      Fault::store_failing,
      {{5}, std::nullopt},
      {{6}},
      {1},
      Time(7),
      Time(8),
      true,
      {seen},
      {{fact_of(ProbeFact::state_store_errors), 0.1}},
      Blocker{{{5}, Rank{20}}, Blocker::Doing::polls, 9, "MPI_Test", "MPI_Barrier", 3, 8, false, 1, {{4}}}};
  std::vector<Buffer> seeds;
  const auto add = [&](auto body) { seeds.push_back(encode({{2}, 17, std::move(body)})); };
  add(EvidenceNote{{seen}, {{0}}, 2});
  add(VerdictNote{verdict, {{0}}});
  add(Receipt{16});
  add(Question{15, Probe::log, {{4}, Rank{9}}, true});
  add(Answer{15, ResponseAnswer{RankProcess{false, false, 2}}});
  add(Answer{15, WitnessAnswer{true}});
  add(Answer{15, NodeState{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}});
  add(Answer{15, NodeLog{RankPace{0.5, 0.25}, 4, 5, Buffer(7)}});
  add(Bulletin{{3}, false});
  return seeds;
}

std::vector<Buffer> rank_calls_seeds() {
  test::SampleCalls waiting(4);
  waiting.all_last(test::collective("MPI_Alltoall"), {3});
  test::SampleCalls receiving(4);
  receiving.waits(1, "MPI_Waitall", CallKind::wait_all, {test::receive(0, 3), test::send(2, 3)});
  return encoded<std::vector<hang::RankReading>>({waiting.readings(), receiving.readings()});
}

std::vector<Buffer> config_source_seeds() {
  return {encode(ConfigSource{"heat.ini", "[levels]\nl2 = every 4\n", "a 1\n", {{"CAIRN_LEVELS_L2", "off"}}})};
}

std::vector<Buffer> entries_seeds() {
  return {encode_entries({{{0}, 8192, sha256(bytes_of("0"))}, {{1}, 4096, sha256(bytes_of("1"))}})};
}

std::vector<Buffer> holdings_seeds() {
  HoldingList list;
  for (std::uint32_t i = 0; i < 4; ++i) {
    HoldingSummary summary{{{3}, {42 + i}, {7}}, {9}, {1}, {LevelId::local}};
    if (i % 2 == 0) summary.levels.add(LevelId::partner);
    if (i % 2 == 0) summary.turn = i;
    if (i > 1) summary.levels.add(LevelId::erasure);
    list.push_back(summary);
  }
  HoldingList other = list;
  other[2].node = {0};
  other.erase(other.begin());
  ByteWriter out;
  out.put(static_cast<std::uint8_t>(list.size()));
  out.put(encode_holdings(list));
  out.put(encode_holdings_by(list, other));
  return {out.take()};
}

std::vector<Buffer> error_seeds() { return {encode_error(kError)}; }

std::vector<Buffer> vote_seeds() {
  Vote vote = Vote::on({3}, LevelSet::of_bits(2), 5);
  vote.note_lost({2});
  const Bytes words = std::as_bytes(vote.words());
  return {Buffer(words.begin(), words.end())};
}

std::vector<Buffer> inquiry_seeds() {
  std::vector<Buffer> seeds;
  for (std::uint8_t me = 0; me < 3; ++me) {
    ByteWriter out;
    out.put(me);
    for (const ToHead& letter : letters()) {
      const Buffer bytes = encode(letter);
      out.put(std::uint8_t{1});
      out.put(std::uint8_t{4});
      out.put(static_cast<std::uint16_t>(bytes.size()));
      out.put(bytes);
    }
    seeds.push_back(out.take());
  }
  return seeds;
}

// Of the snapshot that a restore has read.
bool run_notes(Bytes input) { return run_message<SnapshotNotes>(input, decode_notes); }
std::vector<Buffer> notes_seeds() { return {encode(test::sample_notes()), encode(SnapshotNotes{})}; }

}  // namespace

std::vector<Target> message_targets() {
  return {{"to_head", run_to_head, to_head_seeds},    {"to_rank", run_to_rank, to_rank_seeds},
          {"localize", run_localize, localize_seeds}, {"config_source", run_config_source, config_source_seeds},
          {"entries", run_entries, entries_seeds},    {"holdings", run_holdings, holdings_seeds},
          {"error_message", run_error, error_seeds},  {"vote", run_vote, vote_seeds},
          {"inquiry", run_inquiry, inquiry_seeds},    {"rank_calls", run_rank_calls, rank_calls_seeds},
          {"notes", run_notes, notes_seeds}};
}

}  // namespace cairn::fuzz
