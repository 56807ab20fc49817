//===- Watch.h - Which rank has failed, and where ---------------*- C++ -*-===//
//
// A collective waits for all ranks, so one rank that was killed, stopped, is stuck or has ended
// with an error would let all others wait forever. Each rank has a thread that watches:
//
//   - Every rank but 0 has a TCP connection to rank 0. Whoever dies closes it, which shows at once.
//   - Five times a second each end tells the other that it lives and where its rank is
//     (RankProgress). Who is silent for the timeout has failed: stopped, swapping, without network.
//   - A rank that lives but stays in one command for the timeout and ten times what the cost model
//     predicts for it, does not wait for others there, and has had a processor for half of that
//     time, is stuck; without one, after ten times as long.
//   - A rank that ends with an error says so (end()).
//
// Who notices is rank 0, or, of rank 0, everyone. Rank 0 tells all others the verdict, one error
// that names rank, host and place; then the collectives of each rank fail with it, and onFailure is
// called.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Collective/Communicator.h"
#include "runtime/Collective/RankProgress.h"
#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace sinter::runtime {

struct WatchOptions {
  std::chrono::duration<double> timeout{3.5};
  /// Called once, by the thread that watches, with what has happened to another rank, or to this
  /// one as others see it. Where it ends the process, the others already know.
  std::function<void(const Error &)> onFailure;
};

class Watch {
public:
  /// Connects all ranks; a collective. Errors: ranks of different versions, rank 0 cannot be
  /// reached. The communicator outlives the watch, which sets its `progress`.
  static Expected<std::unique_ptr<Watch>> start(Communicator &communicator, WatchOptions options);

  /// Says that this rank is done: others may go on without it.
  ~Watch();

  /// Tells the others that this rank ends with `error`, and gives them a moment to say the same.
  /// True if there is no more to say: another rank says it, or another one has failed and
  /// onFailure was called.
  bool end(const Error &error);

private:
  struct Impl;
  explicit Watch(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace sinter::runtime
