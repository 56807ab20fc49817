//===- Trace.h - When every command ran -------------------------*- C++ -*-===//
//
// A session that has been given a trace notes when every command and every run of a program began
// and ended: one reading of the clock a command and one store into memory that was reserved before.
// Since runs are noted as well, what lies between commands shows up as a row of its own and the
// table's sum is the measured time.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/Error.h"
#include "runtime/Format/Executable.h"
#include "runtime/Trace/Limits.h"
#include <chrono>
#include <string>
#include <vector>

namespace sinter::runtime {

/// The times of one command, or of a whole run of a program.
struct TraceEvent {
  static constexpr uint32_t wholeRun = ~uint32_t(0);

  uint32_t program = 0; ///< index into the executable's programs
  uint32_t command = 0; ///< index into the program's commands, or wholeRun
  int64_t begin = 0;    ///< ns of the steady clock
  int64_t end = 0;
};

/// A list of events that never grows beyond its capacity.
class Trace {
public:
  /// Reserves memory for `capacity` events.
  explicit Trace(size_t capacity) { list.reserve(capacity); }

  /// ns of the steady clock.
  static int64_t now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }

  /// Notes an event, or counts it as dropped where the capacity is used up.
  void add(const TraceEvent &event) {
    if (list.size() < list.capacity())
      list.push_back(event);
    else
      ++lost;
  }

  /// Forgets all events.
  void clear() {
    list.clear();
    lost = 0;
  }

  const std::vector<TraceEvent> &getEvents() const { return list; }

  /// How many events did not fit.
  uint64_t getDropped() const { return lost; }

private:
  std::vector<TraceEvent> list;
  uint64_t lost = 0;
};

/// A row of a profile: all commands that share a label, a layer, a stage, or several of these.
struct ProfileRow {
  std::string stage; ///< of a training step: "forward", "backward", "recompute" or "optimizer"
  std::string label;
  std::string layer;
  uint64_t count = 0;     ///< commands that ran
  int64_t measuredNs = 0; ///< time that they took together
  double rooflineNs = 0;  ///< the least that they could have taken by the device's limits
  uint64_t flops = 0;
  uint64_t bytes = 0;
};

/// What makes one row; what does not is empty in it.
struct ProfileBy {
  bool label = true, layer = false, stage = false;
};

/// The label of the row that holds the time between commands, the last one.
inline constexpr const char *unattributedLabel = "(between commands)";

/// Sums the events of a trace over `executable`'s commands: stages in the order in which a step
/// goes through them, in each the longest rows first, then the time between commands. The measured
/// times add up to that of the runs. A command's roofline is never more than the time that it took:
/// one that beat it found its operands nearer than values of their sizes are taken to lie.
std::vector<ProfileRow> profile(const Trace &trace, const Executable &executable,
                                const Limits &limits, ProfileBy by);

/// Time of all runs of programs in the trace, in ns.
int64_t measuredTime(const Trace &trace);

/// Writes the trace as JSON that chrome://tracing and Perfetto open: slices of runs, of layers in
/// them and of commands in these, and counters of the rates that commands reached. Fails where the
/// path cannot be written.
Expected<void> writeChromeTrace(const std::string &path, const Trace &trace,
                                const Executable &executable, const Limits &limits);

} // namespace sinter::runtime
