// Seals with a key: nobody makes one without it, and none fits anywhere else.
#include <functional>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/json_file.hpp"
#include "support/facts.hpp"
#include "support/sample_manifest.hpp"

namespace cairn {
namespace {

using test::Fails;

Sealer sealer_with(const std::string& key, const std::string& job = "heat", std::uint64_t chain = 7) {
  const std::string long_enough = key + std::string(SecretKey::kLeastBytes, '.');
  auto made = SecretKey::from(Buffer(bytes_of(long_enough).begin(), bytes_of(long_enough).end()));
  return Sealer(std::make_shared<const SecretKey>(std::move(*made)), job).of_chain({chain});
}

std::string changed(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

// As somebody without the key can write it: the digest is right again.
std::string forged(const std::string& text) { return test::sealed_again(text); }

const RunRecord kRecord = test::sample_run_record();

Code refusal(const std::string& text, const Sealer& sealer) {
  const auto record = parse_run_record(text, sealer);
  EXPECT_FALSE(record);
  return record ? Code::invalid_argument : record.error().code;
}

// The text of RFC 4231, test case 6, and a key of that length; the standard's has one byte 131 times, which is refused
// here. The code is what Python's hmac says.
TEST(SecretKey, makes_the_codes_that_others_make) {
  Buffer bytes(130, std::byte{0xaa});
  bytes.push_back(std::byte{0xab});
  const auto key = SecretKey::from(std::move(bytes));
  ASSERT_TRUE(key);
  const std::string_view text = "Test Using Larger Than Block-Size Key - Hash Key First";
  EXPECT_EQ(key->code_of({bytes_of(text)}).hex(), "970d76e940799a521b637992a0b284fff3647ed65cc3e44701bac5847a6bbbbb");
  EXPECT_EQ(key->code_of({bytes_of(text.substr(0, 9)), {}, bytes_of(text.substr(9))}), key->code_of({bytes_of(text)}));
}

TEST(SealerWithKey, reads_what_it_has_sealed_and_old_readers_see_a_whole_file_of_a_newer_format) {
  const Sealer sealer = sealer_with("k");
  const std::string text = to_json(kRecord, sealer);
  EXPECT_EQ(parse_run_record(text, sealer).value(), kRecord);
  EXPECT_EQ(seal_of(text), SealState::whole);
  EXPECT_EQ(format_said(text), kRecordFormats.keyed);
  EXPECT_EQ(format_said(to_json(kRecord)), kRecordFormats.plain);
}

TEST(SealerWithKey, finds_any_byte_that_changed_and_tells_damage_from_forgery) {
  const Sealer sealer = sealer_with("k");
  const std::string text = to_json(kRecord, sealer);
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string damaged = text;
    damaged[at] ^= 1;
    EXPECT_EQ(refusal(damaged, sealer), Code::corrupt) << at;
  }
  EXPECT_EQ(refusal(forged(changed(text, "\"finished\": false", "\"finished\": true")), sealer), Code::untrusted);
  EXPECT_EQ(refusal(forged(changed(text, "\"incarnation\": 3", "\"incarnation\": 4")), sealer), Code::untrusted);
}

TEST(SealerWithKey, of_another_key_job_or_chain_is_refused) {
  const std::string text = to_json(kRecord, sealer_with("k"));
  for (const Sealer& other : {sealer_with("other"), sealer_with("k", "heat2"), sealer_with("k", "heat", 8),
                              sealer_with("k", "hea", 7), sealer_with("k", "", 7)}) {
    EXPECT_THAT(parse_run_record(text, other),
                Fails(Code::untrusted, {"run record", "[integrity] key_file", "[job] name"}));
  }
}

TEST(SealerWithKey, takes_nothing_that_is_not_sealed_with_it) {
  const Sealer sealer = sealer_with("k");
  const std::string plain = to_json(kRecord);
  EXPECT_THAT(parse_run_record(plain, sealer), Fails(Code::untrusted, {"run record", "[integrity] key_file"}));
  EXPECT_EQ(refusal(test::as_format_1(plain), sealer), Code::untrusted);
  // Formats in places where only one of two readers looks.
  const std::string keyed = to_json(kRecord, sealer);
  for (const char* number : {"1", "2", "3", "9"}) {
    const std::string twice =
        changed(plain, "\"format\": 2,", std::string("\"format\": ") + number + ",\n \"format\": 3,");
    EXPECT_FALSE(parse_run_record(twice, sealer)) << number;
    const auto end = twice.size() - kSealBytes;
    const std::string digest = sha256(bytes_of(twice.substr(0, end))).hex();
    const std::string sealed = twice.substr(0, end) + std::string(kBeforeDigest) + digest + std::string(kAfterDigest);
    EXPECT_FALSE(parse_run_record(sealed, sealer)) << number;
    EXPECT_FALSE(
        parse_run_record(changed(keyed, "\"format\": 3", std::string("\"format\": ") + number + ", \"a\": 3"), sealer));
  }
  std::string late = changed(test::as_format_1(plain), "\"format\": 1,", "\"far\": \"" + std::string(64, ' ') + "\",");
  late = changed(late, "\"finished\"", "\"format\": 1, \"finished\"");
  EXPECT_FALSE(parse_run_record(late, sealer));
  EXPECT_TRUE(parse_run_record(late)) << "it is a file of format 1 all the same";
}

TEST(SealerWithKey, of_a_chain_that_is_not_known_fails_as_its_mark_does_and_still_tells_damage) {
  const std::string text = to_json(kRecord, sealer_with("k"));
  for (const Code why : {Code::corrupt, Code::io, Code::newer_format}) {
    const Sealer sealer = sealer_with("k").of_unknown_chain(why);
    EXPECT_THAT(parse_run_record(text, sealer), Fails(why, {"chain.json"}));
    std::string damaged = text;
    damaged[text.size() / 2] ^= 1;
    EXPECT_EQ(refusal(damaged, sealer), Code::corrupt);
    EXPECT_EQ(refusal(to_json(kRecord), sealer), Code::untrusted);
  }
}

TEST(SealerWithoutKey, refuses_what_is_sealed_with_one_and_says_so) {
  const std::string text = to_json(kRecord, sealer_with("k"));
  EXPECT_THAT(parse_run_record(text), Fails(Code::untrusted, {"run record", "[integrity] key_file"}));
}

TEST(Sealer, says_a_newer_format_whatever_the_key) {
  for (const Sealer& sealer : {Sealer(), sealer_with("k")}) {
    std::string newer = to_json(kRecord, sealer);
    newer = forged(changed(newer, fmt::format("\"format\": {}", sealer.format(kRecordFormats)),
                           fmt::format("\"format\": {}", kNewestFormat + 1)));
    EXPECT_EQ(refusal(newer, sealer), Code::newer_format);
  }
}

TEST(Sealer, keeps_paths_that_are_not_utf8) {
  const ChainMark mark{{7},
                       "/scratch/donn\xe9"
                       "es/\\x41"};
  EXPECT_EQ(parse_chain_mark(to_json(mark)).value(), mark);
}

TEST(Sealer, marks_keys_without_saying_them) {
  EXPECT_EQ(Sealer().key_mark(), 0U);
  EXPECT_NE(sealer_with("k").key_mark(), sealer_with("l").key_mark());
  EXPECT_EQ(sealer_with("k").key_mark(), sealer_with("k", "other", 9).key_mark());
}

}  // namespace
}  // namespace cairn
