#include "runtime/Cluster/Cluster.h"
#include "runtime/Base/Json.h"
#include "runtime/Base/ReadFile.h"
#include "runtime/Cluster/KnownClusters.h"
#include "runtime/Format/VerifierScope.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

namespace sinter::runtime {
namespace {

using OrderedJson = nlohmann::ordered_json;
constexpr uint64_t mostBytes = 1 << 20;
constexpr double gib = double(uint64_t(1) << 30);
constexpr const char *kSwitch = "switch", *kFullyConnected = "fully-connected";

/// Reads the members of one object; after the first mistake it reads no more.
class ObjectReader {
public:
  ObjectReader(const OrderedJson &json, std::string where, std::string &mistake)
      : json(json), where(std::move(where)), mistake(mistake) {
    if (!json.is_object())
      complain("is no object");
  }

  /// One of `choices`, or any text where there are none; `absent` where it may be left out.
  std::string readText(const char *key, std::initializer_list<std::string_view> choices = {},
                       std::optional<std::string> absent = std::nullopt) {
    if (absent && json.is_object() && !json.contains(key))
      return *absent;
    const OrderedJson *found = find(key);
    if (!found)
      return {};
    std::string text = found->is_string() ? found->get<std::string>() : "";
    bool known = choices.size() == 0 || std::ranges::find(choices, text) != choices.end();
    if (text.empty() || !known) {
      std::string names;
      for (std::string_view choice : choices)
        names += (names.empty() ? "" : " or ") + std::string(choice);
      complain("has a '" + std::string(key) + "' that is not " +
               (names.empty() ? "a text" : names));
    }
    return text;
  }

  /// A number from `least` to `most`, or `absent` where it may be left out.
  double readNumber(const char *key, double least, double most,
                    std::optional<double> absent = std::nullopt) {
    if (absent && json.is_object() && !json.contains(key))
      return *absent;
    const OrderedJson *found = find(key);
    if (!found)
      return 0;
    double number = found->is_number() ? found->get<double>() : NAN;
    if (!(number >= least && number <= most))
      complain("has a '" + std::string(key) + "' that is no number from " + print(least) + " to " +
               print(most));
    return number;
  }

  const OrderedJson *find(const char *key) {
    read.push_back(key);
    if (!mistake.empty())
      return nullptr;
    auto found = json.find(key);
    if (found == json.end()) {
      complain("has no '" + std::string(key) + "'");
      return nullptr;
    }
    return &*found;
  }

  /// A key that nobody has asked for may be a mistyped one.
  void finish() {
    if (mistake.empty())
      for (const auto &[key, value] : json.items())
        if (std::ranges::find(read, key) == read.end())
          return complain("has a key that is not known, '" + key + "'");
  }

  void complain(const std::string &why) {
    if (mistake.empty())
      mistake = where + " " + why;
  }

private:
  static std::string print(double number) { return writeJson(OrderedJson(number)); }

  const OrderedJson &json;
  std::string where;
  std::string &mistake;
  std::vector<std::string> read;
};

ClusterDevice readDevice(const OrderedJson &json, std::string &mistake) {
  ObjectReader reader(json, "its 'device'", mistake);
  ClusterDevice device;
  device.name = reader.readText("name");
  device.target = reader.readText("target");
  device.memoryBytes =
      static_cast<uint64_t>(std::llround(gib * reader.readNumber("memory_gib", 1e-3, 1e9)));
  device.flops = 1e9 * reader.readNumber("f32_gflops", 1e-3, 1e12);
  device.narrowFlops = 1e9 * reader.readNumber("bf16_gflops", 1e-3, 1e12);
  device.memoryRate = 1e9 * reader.readNumber("memory_gb_per_s", 1e-3, 1e9);
  device.efficiency = reader.readNumber("efficiency", 1e-3, 10, 1.0);
  reader.finish();
  return device;
}

LinkLevel readLevel(const OrderedJson &json, size_t index, size_t inner, std::string &mistake) {
  ObjectReader reader(json, "level " + std::to_string(index) + " of its 'levels'", mistake);
  LinkLevel level;
  level.name = reader.readText("name");
  double devices = reader.readNumber("devices", 2, double(mostRanks));
  level.devices = mistake.empty() ? static_cast<size_t>(devices) : 0;
  level.alpha = 1e-6 * reader.readNumber("alpha_us", 0, 1e9);
  level.bytesPerSecond = 1e9 * reader.readNumber("gb_per_s", 1e-6, 1e9);
  if (reader.readText("topology", {kSwitch, kFullyConnected}, kSwitch) == kFullyConnected)
    level.topology = Topology::FullyConnected;
  reader.finish();
  if (double(level.devices) != devices || level.devices <= inner || level.devices % inner != 0)
    reader.complain("joins no multiple of the " + std::to_string(inner) + " devices before it");
  return level;
}

} // namespace

Expected<Cluster> Cluster::parse(std::string_view text, const std::string &file) {
  OrderedJson json = parseOrderedJson(text);
  std::string mistake;
  ObjectReader reader(json, "it", mistake);
  Cluster cluster;
  cluster.name = reader.readText("name");
  cluster.source = reader.readText("source");
  if (const OrderedJson *device = reader.find("device"))
    cluster.device = readDevice(*device, mistake);
  bool ring = reader.readText("routing", {"direct", "ring"}) == "ring";
  cluster.routing = ring ? Routing::Ring : Routing::Direct;
  if (const OrderedJson *levels = reader.find("levels")) {
    if (!levels->is_array())
      reader.complain("has 'levels' that are no list");
    for (const OrderedJson &level : *levels) {
      if (!mistake.empty())
        break;
      cluster.levels.push_back(readLevel(level, cluster.levels.size(), cluster.size(), mistake));
    }
  }
  reader.finish();
  if (!mistake.empty())
    return fail("`cluster` " + file, mistake,
                "see docs/many-devices.md for what a cluster's description holds");
  return cluster;
}

Expected<Cluster> Cluster::find(const std::string &nameOrFile) {
  std::string names;
  for (const auto &[name, text] : knownClusters) {
    if (name == nameOrFile)
      return parse(text, nameOrFile);
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  Expected<std::string> text = readFile(nameOrFile, mostBytes);
  if (!text && nameOrFile.find_first_of("./") == std::string::npos)
    return fail("`cluster` " + nameOrFile, "there is none of this name",
                "give " + names + ", or a file of your own");
  if (!text)
    return tl::unexpected(std::move(text).error());
  return parse(*text, nameOrFile);
}

/// Six digits, as many as any figure has.
static double shorten(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", number);
  return std::strtod(text, nullptr);
}

std::string Cluster::toJson() const {
  OrderedJson json = {{"name", name},
                      {"source", source},
                      {"device",
                       {{"name", device.name},
                        {"target", device.target},
                        {"memory_gib", shorten(double(device.memoryBytes) / gib)},
                        {"f32_gflops", shorten(device.flops * 1e-9)},
                        {"bf16_gflops", shorten(device.narrowFlops * 1e-9)},
                        {"memory_gb_per_s", shorten(device.memoryRate * 1e-9)},
                        {"efficiency", shorten(device.efficiency)}}},
                      {"routing", routing == Routing::Ring ? "ring" : "direct"},
                      {"levels", OrderedJson::array()}};
  for (const LinkLevel &level : levels)
    json["levels"].push_back(
        {{"name", level.name},
         {"devices", level.devices},
         {"alpha_us", shorten(level.alpha * 1e6)},
         {"gb_per_s", shorten(level.bytesPerSecond * 1e-9)},
         {"topology", level.topology == Topology::Switch ? kSwitch : kFullyConnected}});
  return writeJson(json, 2) + "\n";
}

//===----------------------------------------------------------------------===//
// Times
//===----------------------------------------------------------------------===//

GroupSpread findSpread(const Cluster &cluster, const RankGroup &group) {
  GroupSpread spread;
  for (const LinkLevel &level : cluster.levels) {
    std::map<size_t, size_t> members; // by island
    size_t most = 1;
    for (size_t rank : group.ranks)
      most = std::max(most, ++members[rank / level.devices]);
    spread.push_back(most);
  }
  return spread;
}

/// Bytes a second that a member of a group can send over the links of level `index`, of whose
/// islands within it the group has `inner` members at the most.
static double findRate(const Cluster &cluster, const GroupSpread &spread, size_t index,
                       size_t inner) {
  const LinkLevel &level = cluster.levels[index];
  if (level.topology == Topology::Switch)
    return level.bytesPerSecond;
  size_t joined = level.devices / (index > 0 ? cluster.levels[index - 1].devices : 1);
  size_t reached = (spread[index] + inner - 1) / inner;
  return level.bytesPerSecond * double(reached - 1) / double(joined - 1);
}

/// Seconds for which parts of `part` bytes are on the links of each level: one from each rank of
/// the group to each other one.
static std::vector<double> exchangeDirectly(const Cluster &cluster, const GroupSpread &spread,
                                            double part) {
  std::vector<double> seconds;
  for (size_t i = 0, inner = 1; i < spread.size(); inner = spread[i++])
    seconds.push_back(spread[i] == inner
                          ? 0
                          : double(spread[i] - inner) * part / findRate(cluster, spread, i, inner));
  return seconds;
}

/// The same of parts that go once around a ring which enters each island once. The links out of an
/// island are as many as members of the group in it, and each carries its share.
static std::vector<double> passAround(const Cluster &cluster, const GroupSpread &spread,
                                      double part) {
  std::vector<double> seconds;
  for (size_t i = 0, inner = 1; i < spread.size(); inner = spread[i++])
    seconds.push_back(spread[i] == inner
                          ? 0
                          : double(spread.back() - 1) * part /
                                (double(inner) * findRate(cluster, spread, i, inner)));
  return seconds;
}

/// Seconds that messages take before their bytes, one after the other: from each rank to each other
/// one, or around a ring.
static double waitForMessages(const Cluster &cluster, const GroupSpread &spread, bool inRing) {
  double seconds = 0;
  size_t inner = 1, members = spread.empty() ? 1 : spread.back();
  for (size_t i = 0; i < spread.size(); inner = spread[i++])
    seconds += cluster.levels[i].alpha *
               (inRing ? double(members) / double(inner) - double(members) / double(spread[i])
                       : double(spread[i] - inner));
  return seconds;
}

TransferTime predictTransfer(const Cluster &cluster, const GroupSpread &spread,
                             fb::CollectiveKind kind, uint64_t bytes) {
  size_t members = spread.empty() ? 1 : spread.back();
  double part = double(bytes) / double(members);
  if (kind == fb::CollectiveKind::AllSlice) // nothing is sent
    return {part / cluster.device.memoryRate, 0, std::vector<double>(spread.size())};
  bool inRing = cluster.routing == Routing::Ring && kind != fb::CollectiveKind::AllToAll;
  TransferTime time;
  time.alpha = waitForMessages(cluster, spread, inRing);
  time.shares = (inRing ? passAround : exchangeDirectly)(cluster, spread, part);
  // All links of a ring move bytes at a time.
  for (double seconds : time.shares)
    time.moving = inRing ? std::max(time.moving, seconds) : time.moving + seconds;
  for (double &share : time.shares)
    share = time.moving > 0 ? share / time.moving : 0;
  if (kind == fb::CollectiveKind::AllReduce) { // sums of parts, which are then gathered
    time.alpha *= 2;
    time.moving *= 2;
  }
  return time;
}

double predictCollective(const Cluster &cluster, const GroupSpread &spread, fb::CollectiveKind kind,
                         uint64_t bytes) {
  TransferTime time = predictTransfer(cluster, spread, kind, bytes);
  return time.alpha + time.moving;
}

std::vector<Link> listLinks(const Cluster &cluster, const RankGroup &group, size_t device) {
  std::vector<Link> links;
  size_t within = 1; // devices of an island of the level below
  for (size_t i = 0; i < cluster.levels.size(); within = cluster.levels[i++].devices) {
    const LinkLevel &level = cluster.levels[i];
    std::set<size_t> peers;
    for (size_t other : group.ranks)
      if (other / level.devices == device / level.devices && other / within != device / within)
        peers.insert(level.topology == Topology::Switch ? 0 : other / within);
    for (size_t peer : peers)
      links.push_back({i, device, peer});
  }
  return links;
}

uint64_t countSentBytes(fb::CollectiveKind kind, size_t members, uint64_t bytes) {
  uint64_t part = bytes / members * (members - 1);
  switch (kind) {
  case fb::CollectiveKind::AllGather:
  case fb::CollectiveKind::AllToAll:
    return part;
  case fb::CollectiveKind::AllReduce:
    return 2 * part;
  case fb::CollectiveKind::AllSlice:
    break;
  }
  return 0;
}

} // namespace sinter::runtime
