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
