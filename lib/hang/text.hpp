// The sentences of a report, without full stops. Everything that a person reads about a job that may hang is made here
// and in hang/words, from facts; nothing reads it back. Pure.
#pragma once

#include <string>
#include <vector>

#include "hang/hang.hpp"

namespace cairn::hang {

// Of the job: "hangs: 3 of 4 ranks wait for rank 2, the longest for 42 s", "is healthy: …"
[[nodiscard]] std::string summary_text(const HangReport& report);
// What is found, then the details, a sentence each.
[[nodiscard]] std::vector<std::string> finding_texts(const HangReport& report, const Finding& finding);
// A sentence for each note, and for each cause of gaps.
[[nodiscard]] std::vector<std::string> note_texts(const HangReport& report);
// What a rank does: "in MPI_Recv from rank 1 (tag 7, …)"
[[nodiscard]] std::string rank_text(const HangReport& report, const RankReport& rank);
// The same without what differs between ranks: "in MPI_Recv"
[[nodiscard]] std::string brief_text(const RankReport& rank);
// Of the ranks that a call waits for: "has not begun MPI_Barrier, the 5th collective on …"
[[nodiscard]] std::string need_text(const HangReport& report, const Need& need);

// The whole report on a job, in lines: the summary, what is found, then the ranks, those that do the same on one line.
[[nodiscard]] std::string report_text(const std::string& job, const HangReport& report);

}  // namespace cairn::hang
