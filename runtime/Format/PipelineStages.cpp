#include "runtime/Format/PipelineStages.h"
#include "runtime/Format/Actions.h"
#include <algorithm>

namespace sinter::runtime {

static constexpr std::string_view preprocessEntry = "preprocess";
static constexpr const char *passNames[] = {"forward", "backward", "weights"};

std::string nameOfPass(std::string_view entry, uint32_t stage, PipelinePass pass) {
  return std::string(entry) + "." + std::to_string(stage) + "." +
         passNames[static_cast<size_t>(pass)];
}

static PipelinePass passOfProgram(const fb::Program &program) {
  std::string_view name = program.name()->string_view();
  for (PipelinePass pass : {PipelinePass::Backward, PipelinePass::Weights})
    if (name.ends_with(nameOfPass("", program.stage(), pass)))
      return pass;
  return PipelinePass::Forward;
}

template <typename Action, typename Fn> static void forEach(const fb::Program &program, Fn fn) {
  if (program.commands())
    for (const fb::Command *command : *program.commands())
      if (const auto *action = command->action_as<Action>())
        fn(*action);
}

std::map<uint32_t, StageLink> findLinks(const fb::Executable &executable) {
  struct Ends {
    const fb::Program *sender = nullptr, *receiver = nullptr;
  };
  std::map<uint32_t, Ends> ends; // by channel
  for (const fb::Program *program : *executable.programs()) {
    forEach<fb::Send>(*program,
                      [&](const fb::Send &send) { ends[send.channel()].sender = program; });
    forEach<fb::Receive>(
        *program, [&](const fb::Receive &receive) { ends[receive.channel()].receiver = program; });
  }
  std::map<uint32_t, StageLink> links;
  for (const auto &[channel, own] : ends)
    if (own.sender && own.receiver)
      links[channel] = {own.sender->stage(), passOfProgram(*own.sender), own.receiver->stage(),
                        passOfProgram(*own.receiver)};
  return links;
}

bool writesSentState(const fb::Executable &executable, const fb::Program &writer,
                     const fb::Program &sender) {
  if (!writer.commands())
    return false;
  bool writes = false;
  forEach<fb::Send>(sender, [&](const fb::Send &send) {
    const fb::Slice &sent = *send.source();
    bool isShared = sent.space() == fb::Space::State &&
                    offsetInSlot(executable, sender.stage(), sent.offset(), 1) == sent.offset();
    if (isShared)
      for (const fb::Command *command : *writer.commands())
        forEachWrittenSlice(*command, [&](const fb::Slice &written) {
          writes |= written.space() == sent.space() &&
                    written.offset() < sent.offset() + sent.bytes() &&
                    sent.offset() < written.offset() + written.bytes();
        });
  });
  return writes;
}

std::string_view entryOfProgram(const fb::Program &program) {
  std::string_view name = program.name()->string_view();
  for (PipelinePass pass : {PipelinePass::Forward, PipelinePass::Backward, PipelinePass::Weights}) {
    std::string end = nameOfPass("", program.stage(), pass);
    if (name.ends_with(end))
      return name.substr(0, name.size() - end.size());
  }
  return name;
}

std::string nameOfPreprocess(bool pipelined, uint64_t place) {
  // The first stage of a place has its number.
  return pipelined
             ? nameOfPass(preprocessEntry, static_cast<uint32_t>(place), PipelinePass::Forward)
             : std::string(preprocessEntry);
}

bool isPreprocess(std::string_view program) {
  return program == preprocessEntry || program.starts_with(std::string(preprocessEntry) + ".");
}

std::vector<EntryPass> listPasses(const Executable &executable, uint64_t place,
                                  std::string_view entry) {
  std::vector<EntryPass> passes;
  uint32_t stages = countStages(executable.getRoot());
  if (stages == 0 && executable.program(entry))
    passes.push_back({std::string(entry)});
  for (PipelinePass pass : {PipelinePass::Forward, PipelinePass::Backward, PipelinePass::Weights})
    for (uint32_t i = 0; i < stages; ++i) {
      uint32_t stage = pass == PipelinePass::Forward ? i : stages - 1 - i;
      std::string name = nameOfPass(entry, stage, pass);
      if (placeOfStage(executable.getRoot(), stage) == place && executable.program(name))
        passes.push_back({name, stage, pass});
    }
  return passes;
}

const fb::Program *findPreprocess(const Executable &executable, uint64_t place) {
  return executable.program(nameOfPreprocess(countStages(executable.getRoot()) != 0, place));
}

uint64_t parameterBytesOf(const Executable &executable, uint64_t place) {
  const fb::Executable &root = executable.getRoot();
  if (countStages(root) == 0)
    return root.parameter_bytes();
  uint64_t bytes = 0;
  for (const fb::Program *program : *root.programs())
    if (program->commands() && placeOfStage(root, program->stage()) == place)
      for (const fb::Command *command : *program->commands())
        forEachSlice(*command, [&](const fb::Slice &slice) {
          if (slice.space() == fb::Space::Parameter)
            bytes = std::max(bytes, slice.offset() + slice.bytes());
        });
  return bytes;
}

} // namespace sinter::runtime
