//===- Streams.h - Which commands run beside which --------------*- C++ -*-===//
//
// A GPU runs the commands of one stream one after the other, those of several side by side. Two
// that fill it take as long beside each other as one after the other. But most programs have some
// that do not: second stages of sums over columns, small products, casts of biases. Beside others
// these cost little more than an event.
//
// Hazards. The list of commands is right when it runs in order. It is still right when any two
// commands of which one writes what the other touches keep their order: these are found from the
// ranges of bytes, after everything has its place, so that memory that is used again counts too.
//
// Streams. In the list's order each command goes where it could begin first, its hazards done: to
// stream 0, unless it leaves a part of the GPU idle and would begin earlier in another by more than
// an event costs, which the wait for what it needs is counted with. What moves bytes to other ranks
// has stream 1 for itself, on a processor, too, where a thread runs it, and on a GPU as many as its
// caller says, one for each group of axes that is to have one: a gather of parameters that takes
// long is then not waited for by the sums of activations behind it. All ranks begin these commands
// in the order of the list, whatever streams they are in, which is how it is safe to have several
// communicators at work (NcclRanks.h), and what they move computes nothing.
//
// Waits. A command is ordered behind all before it in its stream and what those waited for. Of its
// hazards in other streams the last of each is left, and of these the ones that follow from none of
// the rest: the transitive reduction of the order, so that there are no fewer events with which the
// hazards are kept.
//
//   list      0 a -> x    1 b(x) -> y    2 c(x) -> z    3 d(y, z)
//   stream 0  a           b                             d, waits for 2
//   stream 1                             c, waits for 0
//
// What that takes is predicted by running it: a command starts for `launchNs`, an event longer if
// it waits for others, and then works on its share of the machine. Where the shares of those that
// work at a time add up to more than the machine, all get as much slower. What moves bytes along
// other axes is taken to have links of its own: over the same ones two at a time take as long as
// one after the other.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sinter {

/// Bytes [begin, end) of a space that a command reads or writes.
struct ByteRange {
  unsigned space = 0;
  int64_t begin = 0, end = 0;
  bool writes = false;
};

/// A command, as far as streams go.
struct StreamCommand {
  std::vector<ByteRange> ranges;
  double ns = 0;       ///< alone
  double share = 1;    ///< of the machine that it keeps busy
  unsigned stream = 0; ///< where it moves bytes to other ranks its stream, from 1; else 0
};

struct StreamCosts {
  unsigned streams = 1; ///< at the most, without that of communication
  double launchNs = 0;  ///< of a command's time those in which the machine is idle
  double eventNs = 0;   ///< by which a wait for another stream delays a command
};

/// Numbers of commands, of each of a list; all before it.
using CommandLists = std::vector<std::vector<unsigned>>;

/// For each command earlier ones that it must follow, ascending. Of what follows from these some
/// may be left out.
CommandLists findHazards(std::span<const StreamCommand> commands);

struct StreamPlan {
  std::vector<unsigned> streams; ///< of each command
  CommandLists waits;            ///< for commands of other streams

  /// Commands that others wait for.
  unsigned countEvents() const;
};

/// The stream of each command.
std::vector<unsigned> assignStreams(std::span<const StreamCommand> commands,
                                    const CommandLists &hazards, const StreamCosts &costs);

/// The fewest waits that keep hazards between streams.
CommandLists deriveWaits(std::span<const unsigned> streams, const CommandLists &hazards);

/// The time that all takes.
double predictNs(std::span<const StreamCommand> commands, const StreamPlan &plan,
                 const StreamCosts &costs);

} // namespace sinter
