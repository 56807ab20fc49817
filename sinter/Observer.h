//===- Observer.h - Who is told how long work goes on -----------*- C++ -*-===//
#pragma once

#include "runtime/Base/Error.h"
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace sinter {

/// Callbacks of the library, which prints nothing itself. Each may be left out; all are called on
/// the thread that called the library.
struct Observer {
  /// Long work goes on: `done` of `total` parts, 0 for a total that is not known. Work begins with
  /// 0 parts done and has ended, with or without success, at `done` == `total` > 0.
  std::function<void(std::string_view what, uint64_t done, uint64_t total)> onProgress;
  /// What is worth knowing: which checkpoint the weights are of, which positions are stretched.
  std::function<void(const std::string &text)> onNote;
  /// What went wrong but does not end the work.
  std::function<void(const Error &warning)> onWarning;
  /// Set by another thread or a signal handler: long work ends after its current step. Training
  /// saves a checkpoint first; other work fails.
  const std::atomic<bool> *stop = nullptr;

  void note(const std::string &text) const {
    if (onNote)
      onNote(text);
  }
  void warn(const Error &warning) const {
    if (onWarning)
      onWarning(warning);
  }
  /// The error of work that was stopped, or nothing.
  Expected<void> checkStop(const std::string &what) const {
    if (stop && stop->load())
      return fail(what, "was stopped", "");
    return {};
  }
};

/// Reports work to an observer from its beginning to its end.
class Progress {
public:
  Progress(const Observer &observer, std::string what, uint64_t total)
      : observer(observer), what(std::move(what)), total(total) {
    advance(0);
  }
  ~Progress() {
    if (observer.onProgress)
      observer.onProgress(what, std::max<uint64_t>(total, 1), std::max<uint64_t>(total, 1));
  }
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  /// @param done less than the total, or the work counts as ended
  void advance(uint64_t done) {
    if (observer.onProgress && (total == 0 || done < total))
      observer.onProgress(what, done, total);
  }

private:
  const Observer &observer;
  std::string what;
  uint64_t total;
};

} // namespace sinter
