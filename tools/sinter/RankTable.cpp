#include "tools/sinter/RankTable.h"
#include "tools/cli/Output.h"

using namespace sinter;
using namespace sinter::cli;

std::vector<std::vector<std::string>> sinter::cli::makeRankRows(const runtime::RankReport &report,
                                                                int64_t steps) {
  std::vector<std::vector<std::string>> rows = {{"rank", "computing ms", "waiting ms"}};
  for (const std::string &group : report.groups) {
    rows.front().push_back("along " + group + " ms");
    rows.front().push_back("sent");
  }
  auto ms = [&](int64_t ns) { return formatNumber(double(ns) * 1e-6 / double(steps), 3); };
  for (size_t rank = 0; rank < report.ranks.size(); ++rank) {
    const runtime::RankShare &share = report.ranks[rank];
    rows.push_back({std::to_string(rank), ms(share.computeNs), ms(share.waitNs)});
    for (size_t i = 0; i < report.groups.size(); ++i) {
      rows.back().push_back(ms(share.transferNs[i]));
      rows.back().push_back(formatBytes(share.sentBytes[i] / static_cast<uint64_t>(steps)));
    }
  }
  return rows;
}

void sinter::cli::printRanks(const runtime::RankReport &report, int64_t steps) {
  std::vector<std::vector<std::string>> rows = makeRankRows(report, steps);
  Table table(rows.front());
  for (size_t i = 1; i < rows.size(); ++i)
    table.addRow(rows[i]);
  table.print();
  std::printf("the slowest is rank %zu\n", report.slowest);
}

nlohmann::json sinter::cli::describeRanks(const runtime::RankReport &report, int64_t steps) {
  nlohmann::json ranks = nlohmann::json::array();
  auto ms = [&](int64_t ns) { return double(ns) * 1e-6 / double(steps); };
  for (const runtime::RankShare &share : report.ranks) {
    nlohmann::json transfers = nlohmann::json::object(), sent = nlohmann::json::object();
    for (size_t i = 0; i < report.groups.size(); ++i) {
      transfers[report.groups[i]] = ms(share.transferNs[i]);
      sent[report.groups[i]] = share.sentBytes[i] / static_cast<uint64_t>(steps);
    }
    ranks.push_back({{"compute_ms", ms(share.computeNs)},
                     {"wait_ms", ms(share.waitNs)},
                     {"transfer_ms", std::move(transfers)},
                     {"sent_bytes", std::move(sent)}});
  }
  return ranks;
}
