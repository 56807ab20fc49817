//===- TraceCommands.h - What the events of a trace are ---------*- C++ -*-===//
#pragma once

#include "runtime/Trace/Trace.h"
#include <algorithm>
#include <cctype>

namespace sinter::runtime {

inline const fb::Program &programOf(const TraceEvent &event, const Executable &executable) {
  return *executable.getRoot().programs()->Get(event.program);
}

inline const fb::Command &commandOf(const TraceEvent &event, const Executable &executable) {
  return *programOf(event, executable).commands()->Get(event.command);
}

inline std::string text(const flatbuffers::String *string) { return string ? string->str() : ""; }

inline const char *kindOf(const fb::Command &command) {
  return fb::EnumNameAction(command.action_type());
}

inline std::string labelOf(const fb::Command &command) {
  std::string label = text(command.label());
  return label.empty() ? kindOf(command) : label;
}

inline std::string stageOf(const fb::Command &command) {
  std::string name = fb::EnumNameStage(command.stage());
  for (char &letter : name)
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return name;
}

/// The least time that a command could have taken, in ns.
inline double rooflineNs(const TraceEvent &event, const fb::Command &command,
                         const Limits &limits) {
  return std::min(1e9 * leastSeconds(workOf(command), limits), double(event.end - event.begin));
}

} // namespace sinter::runtime
