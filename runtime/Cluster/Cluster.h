//===- Cluster.h - Devices and the links between them -----------*- C++ -*-===//
//
// What steps are predicted on: a small JSON file, or one that comes along. Rank r runs on device r,
// and devices that are neighbours share the inner links:
//
//   {
//     "name": "128 x H100",
//     "source": "where the figures are from",
//     "device": { "name": "NVIDIA H100 SXM", "target": "cuda:sm_90", "memory_gib": 80,
//                 "f32_gflops": 67000, "bf16_gflops": 989000, "memory_gb_per_s": 3350,
//                 "efficiency": 0.9 },
//     "routing": "ring",
//     "levels": [ { "name": "NVLink", "devices": 8, "alpha_us": 2, "gb_per_s": 360 },
//                 { "name": "InfiniBand", "devices": 128, "alpha_us": 5, "gb_per_s": 45 } ]
//   }
//
// A level joins as many devices as `devices` says, 0 to 7, 8 to 15, ...; the last one joins all.
// Two devices talk over the first level that joins both. The first byte of a message takes alpha,
// each further one 1 / rate, in every direction at a time. `efficiency` (1 where it is left out) is
// the part that steps reach of what the compiler's cost model predicts of such a device.
//
// A level's `topology` is "switch" (where it is left out) or "fully-connected": each of the n that
// it joins has 1 / (n - 1) of its rate to each other one, and no switch lends it the rest. Of four
// such GPUs, a group of all uses all links of each, and a group of two a third of them:
//
//   0 --- 1
//   | \ / |     data = {0, 1}, {2, 3}: one link of the three that a GPU has
//   | / \ |     tensor = {0, 2}, {1, 3}: another one
//   2 --- 3
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Collective/Communicator.h"
#include "runtime/Format/Executable_generated.h"
#include <compare>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::runtime {

/// What one rank runs on. Rates are per second.
struct ClusterDevice {
  std::string name;
  std::string target; ///< as the option `target` takes it
  uint64_t memoryBytes = 0;
  double flops = 0, narrowFlops = 0; ///< of products in f32 and in bf16
  double memoryRate = 0;             ///< bytes that are read
  double efficiency = 1;
};

/// What a device's links of a level lead to.
enum class Topology : uint8_t {
  Switch,        ///< any other device, at the rate of all links
  FullyConnected ///< each other device has its share of them
};

/// Links that join neighbouring devices.
struct LinkLevel {
  std::string name;
  size_t devices = 1;        ///< that it joins
  double alpha = 0;          ///< seconds that a message takes before its bytes
  double bytesPerSecond = 0; ///< of one device over all of its links, in each direction
  Topology topology = Topology::Switch;
};

/// How a collective's bytes go.
enum class Routing : uint8_t {
  Direct, ///< each rank sends to each other one, as MPI's messages here
  Ring    ///< each passes on to the next what it got, as NCCL does; all-to-all is direct
};

struct Cluster {
  std::string name, source;
  ClusterDevice device;
  Routing routing = Routing::Direct;
  std::vector<LinkLevel> levels; ///< the innermost first; none: one device

  /// Fails, in a line that names `file`, where it is no such description.
  static Expected<Cluster> parse(std::string_view text, const std::string &file);

  /// The one that comes along by this name, else of this file. Fails where there is neither.
  static Expected<Cluster> find(const std::string &nameOrFile);

  /// The text that parse() reads.
  std::string toJson() const;

  /// Devices that there are.
  size_t size() const { return levels.empty() ? 1 : levels.back().devices; }
};

/// How the members of a group spread over a cluster: for each level the most of them that one
/// island of it holds.
using GroupSpread = std::vector<size_t>;
GroupSpread findSpread(const Cluster &cluster, const RankGroup &group);

/// Seconds from when all of a group are there until a collective is done. `bytes` is the larger one
/// of its source and its result. @pre the spread is of this cluster
double predictCollective(const Cluster &cluster, const GroupSpread &spread, fb::CollectiveKind kind,
                         uint64_t bytes);

/// The same, as what goes on at a time must know it: messages wait for `alpha`, and then their
/// bytes move for as long as nothing else is on the links.
struct TransferTime {
  double alpha = 0, moving = 0; ///< seconds
  std::vector<double> shares; ///< of a level's links, by level: of `moving` the part they are busy
};
TransferTime predictTransfer(const Cluster &cluster, const GroupSpread &spread,
                             fb::CollectiveKind kind, uint64_t bytes);

/// What a device sends over to others of a level, and gets from them: to its switch, or, where
/// there is none, to island `peer` of the level below.
struct Link {
  size_t level, device, peer;

  auto operator<=>(const Link &) const = default;
};

/// The links of a device to the other members of its group.
std::vector<Link> listLinks(const Cluster &cluster, const RankGroup &group, size_t device);

/// Bytes that a rank of a group of `members` sends in a collective; `bytes` as above.
uint64_t countSentBytes(fb::CollectiveKind kind, size_t members, uint64_t bytes);

} // namespace sinter::runtime
