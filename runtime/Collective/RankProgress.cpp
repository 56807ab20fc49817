#include "runtime/Collective/RankProgress.h"

namespace sinter::runtime {

static const fb::Program *findProgram(const Executable *executable, uint64_t index) {
  const auto *programs = executable ? executable->getRoot().programs() : nullptr;
  return programs && index < programs->size()
             ? programs->Get(static_cast<flatbuffers::uoffset_t>(index))
             : nullptr;
}

static std::string describe(const fb::Command &command) {
  std::string text;
  for (const flatbuffers::String *part : {command.label(), command.layer()})
    if (part && part->size() != 0)
      text += (text.empty() ? "" : ", ") + part->str();
  return text.empty() ? text : " (" + text + ")";
}

void RankProgress::setExecutable(std::shared_ptr<const Executable> bound) {
  std::lock_guard lock(mutex);
  executable = std::move(bound);
}

RankProgress::Place RankProgress::read() const {
  std::lock_guard lock(mutex);
  Place place;
  place.begun = begun.load(std::memory_order_relaxed);
  uint64_t number = step.load(std::memory_order_relaxed),
           now = where.load(std::memory_order_relaxed);
  place.text = number == nowhere ? "before its first step" : "at step " + std::to_string(number);
  const fb::Program *program = findProgram(executable.get(), now >> 32);
  if (now == nowhere || !program)
    return place;
  if (number == nowhere)
    place.text.clear();
  auto index = static_cast<uint32_t>(now);
  place.text += (place.text.empty() ? "at command " : ", command ") + std::to_string(index) +
                " of " + program->name()->str();
  if (!program->commands() || index >= program->commands()->size())
    return place;
  const fb::Command &command = *program->commands()->Get(index);
  place.text += describe(command);
  bool waits = command.action_type() == fb::Action::Collective ||
               command.action_type() == fb::Action::Receive;
  if (!waits)
    place.busy = std::chrono::nanoseconds(command.predicted_ns());
  return place;
}

} // namespace sinter::runtime
