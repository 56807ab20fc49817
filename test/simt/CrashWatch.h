//===- CrashWatch.h - Says which kernel ended the process -------*- C++ -*-===//
#pragma once

#include <csignal>

namespace sinter::simt {

/// While it lives, a segmentation fault first prints which thread of which kernel is to blame, and
/// for what address. An access like that is a finding in checked mode, and the end of the process
/// otherwise.
class CrashWatch {
public:
  CrashWatch();
  ~CrashWatch();
  CrashWatch(const CrashWatch &) = delete;
  CrashWatch &operator=(const CrashWatch &) = delete;

private:
  struct sigaction before;
  stack_t stackBefore;
};

} // namespace sinter::simt
