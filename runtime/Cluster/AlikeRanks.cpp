#include "runtime/Cluster/AlikeRanks.h"
#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <utility>

namespace sinter::runtime {
namespace {

/// What tells things apart, as numbers.
using Key = std::vector<size_t>;

/// Numbers keys: equal ones alike.
class Numbering {
public:
  size_t number(Key key) {
    return numbers.try_emplace(std::move(key), numbers.size()).first->second;
  }
  size_t size() const { return numbers.size(); }

private:
  std::map<Key, size_t> numbers;
};

/// What goes over a link.
struct Use {
  enum Kind : uint8_t { Collective, Sent, Received } kind;
  size_t index; ///< of a group, or of the stage that gets a message
  size_t rank;  ///< that sends it
};

class Refinement {
public:
  Refinement(const Cluster &cluster, std::span<const SimulatedRank> ranks)
      : ranks(ranks), uses(ranks.size()), senders(ranks.size()), classes(ranks.size()) {
    std::map<const TaskList *, size_t> lists;
    Numbering numbering;
    for (size_t rank = 0; rank < ranks.size(); ++rank) {
      const SimulatedRank &own = ranks[rank];
      Key key = {own.beginsInOrder, own.groups.size(), own.stages.size()};
      for (const TaskList *list : own.lists)
        key.push_back(lists.try_emplace(list, lists.size()).first->second);
      classes[rank] = numbering.number(std::move(key));
      for (size_t i = 0; i < own.groups.size(); ++i)
        use(listLinks(cluster, own.groups[i], rank), {Use::Collective, i, rank});
      for (size_t stage = 0; stage < own.stages.size(); ++stage) {
        size_t to = own.stages[stage];
        use(listLinks(cluster, {{rank, to}}, rank), {Use::Sent, stage, rank});
        use(listLinks(cluster, {{rank, to}}, to), {Use::Received, stage, rank});
        senders[to].push_back(rank);
      }
    }
    for (size_t rank = 0; rank < ranks.size(); ++rank)
      for (size_t i = 0; i < ranks[rank].groups.size(); ++i)
        if (const RankGroup &group = ranks[rank].groups[i]; group.ranks.front() == rank)
          spreads[{i, rank}] = findSpread(cluster, group);
    count = numbering.size();
  }

  std::vector<size_t> run() {
    while (refine())
      ;
    std::vector<size_t> first(ranks.size());
    std::iota(first.begin(), first.end(), 0);
    if (!areSendersApart())
      return first;
    std::map<size_t, size_t> firsts;
    for (size_t &rank : first)
      rank = firsts.try_emplace(classes[rank], rank).first->second;
    return first;
  }

private:
  void use(const std::vector<Link> &links, const Use &what) {
    for (const Link &link : links)
      uses[link.device][link].push_back(what);
  }

  /// Whether anything parted.
  bool refine() {
    std::map<std::pair<size_t, size_t>, size_t> groups;
    Numbering groupNumbers, numbering;
    for (const auto &[group, spread] : spreads)
      groups[group] = groupNumbers.number(describeGroup(group, spread));
    std::vector<size_t> refined;
    for (size_t rank = 0; rank < ranks.size(); ++rank) {
      Key key = {classes[rank]};
      for (size_t i = 0; i < ranks[rank].groups.size(); ++i)
        key.push_back(groups.at({i, ranks[rank].groups[i].ranks.front()}));
      for (size_t to : ranks[rank].stages)
        key.push_back(classes[to]);
      std::vector<Key> links;
      for (const auto &[link, of] : uses[rank])
        links.push_back(describeLink(link, of));
      std::ranges::sort(links);
      for (const Key &link : links)
        key.insert(key.end(), link.begin(), link.end());
      refined.push_back(numbering.number(std::move(key)));
    }
    classes = std::move(refined);
    return std::exchange(count, numbering.size()) != count;
  }

  /// Which classes are in a group matters, not how often.
  Key describeGroup(const std::pair<size_t, size_t> &group, const GroupSpread &spread) const {
    auto [index, first] = group;
    Key members;
    for (size_t rank : ranks[first].groups[index].ranks)
      members.push_back(classes[rank]);
    std::ranges::sort(members);
    members.erase(std::ranges::unique(members).begin(), members.end());
    Key key = {index, ranks[first].groups[index].size()};
    key.insert(key.end(), spread.begin(), spread.end());
    key.insert(key.end(), members.begin(), members.end());
    return key;
  }

  Key describeLink(const Link &link, const std::vector<Use> &of) const {
    std::vector<std::array<size_t, 3>> parts;
    for (const Use &use : of)
      parts.push_back({use.kind, use.index, classes[use.rank]});
    std::ranges::sort(parts);
    Key key = {link.level, parts.size()};
    for (const auto &part : parts)
      key.insert(key.end(), part.begin(), part.end());
    return key;
  }

  /// Whether all that send to one rank are of classes of their own: of several that are alike only
  /// one would play.
  bool areSendersApart() {
    return std::ranges::all_of(senders, [&](std::vector<size_t> &of) {
      std::ranges::sort(of);
      of.erase(std::ranges::unique(of).begin(), of.end());
      std::ranges::sort(of, {}, [&](size_t rank) { return classes[rank]; });
      return std::ranges::adjacent_find(of, {}, [&](size_t rank) { return classes[rank]; }) ==
             of.end();
    });
  }

  std::span<const SimulatedRank> ranks;
  std::vector<std::map<Link, std::vector<Use>>> uses;       ///< of each rank's links
  std::vector<std::vector<size_t>> senders;                 ///< of messages to each rank
  std::map<std::pair<size_t, size_t>, GroupSpread> spreads; ///< of groups, by index and first rank
  std::vector<size_t> classes;                              ///< of ranks
  size_t count = 0;                                         ///< of classes
};

} // namespace

std::vector<size_t> findAlikeRanks(const Cluster &cluster, std::span<const SimulatedRank> ranks) {
  return Refinement(cluster, ranks).run();
}

} // namespace sinter::runtime
