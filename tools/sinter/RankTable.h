//===- RankTable.h - What each rank was at, as a table ----------*- C++ -*-===//
#pragma once

#include "runtime/Cluster/RankReport.h"
#include <nlohmann/json.hpp>

namespace sinter::cli {

/// The heading, then a row a rank: what a step of `steps` took it.
std::vector<std::vector<std::string>> makeRankRows(const runtime::RankReport &report,
                                                   int64_t steps);

/// Prints them, and which rank was the slowest.
void printRanks(const runtime::RankReport &report, int64_t steps);

/// The same as --json prints it, an object a rank.
nlohmann::json describeRanks(const runtime::RankReport &report, int64_t steps);

} // namespace sinter::cli
