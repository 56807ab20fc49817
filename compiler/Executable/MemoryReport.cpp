#include "compiler/Executable/MemoryReport.h"
#include "compiler/Executable/Contents.h"
#include "compiler/Memory/Liveness.h"
#include "dialects/Plan/PlanDialect.h"
#include "runtime/Base/Json.h"
#include "runtime/Format/PipelineStages.h"
#include "llvm/ADT/MapVector.h"
#include <nlohmann/json.hpp>

using namespace mlir;
using namespace sinter;
using nlohmann::json;

/// Owners that are listed by name.
static constexpr size_t kLargest = 20;

namespace {

struct Owner {
  std::string name;
  const char *space;
  int64_t bytes;
};

/// Adds up spaces and owners while it goes through the programs.
class Reporter {
public:
  Reporter(ModuleOp plan, int64_t codeBytes) : plan(plan), codeBytes(codeBytes) {}

  std::string run() {
    json programs = json::array();
    for (auto program : plan.getOps<plan::ProgramOp>()) {
      programs.push_back(describe(program));
      addSlices(program);
    }
    for (auto constant : plan.getOps<plan::ConstantOp>())
      constants = std::max<int64_t>(
          constants, llvm::alignTo(constant.getOffset() + constant.getBytes().size(), kLineBytes));
    // What MemoryUse::resident and MemoryUse::peak say.
    int64_t always = parameters + constants + codeBytes;
    int64_t resident = always + states + arena + input + output;
    json report;
    report["planned_bytes"] = std::max(resident, always + preprocessArena);
    report["resident_bytes"] = resident;
    report["spaces"] = {{"parameter", parameters}, {"state", states},  {"arena", arena},
                        {"input", input},          {"output", output}, {"constant", constants},
                        {"code", codeBytes}};
    report["preprocess_arena_bytes"] = preprocessArena;
    report["checkpoint_bytes"] = checkpoint;
    report["largest"] = describeOwners();
    report["programs"] = std::move(programs);
    return writeJson(report);
  }

private:
  /// "launch", "gemm", ...
  static std::string getKind(Operation *op) { return op->getName().stripDialect().str(); }

  json describe(plan::ProgramOp program) {
    json commands = json::array(), buffers = json::array();
    SmallVector<plan::CommandInterface> list = getCommands(program);
    for (plan::CommandInterface command : list)
      commands.push_back({{"label", command.getLabel().str()},
                          {"layer", command.getLayer().str()},
                          {"stage", command.getStage().str()},
                          {"kind", getKind(command)},
                          {"flops", command.getFlops()},
                          {"bytes", command.getBytes()},
                          {"predicted_ns", command.getPredictedNs()}});
    SmallVector<Life> lives = getLives(program);
    SmallVector<int64_t> live(list.size() + 1);
    int64_t alignment = getArenaAlignment(program);
    for (const Life &life : lives) {
      plan::CommandInterface writer = list[life.first];
      int64_t bytes = getSliceBytes(life.slice);
      auto slice = life.slice.getDefiningOp<plan::SliceOp>();
      buffers.push_back({{"label", writer.getLabel().str()},
                         {"layer", writer.getLayer().str()},
                         {"stage", writer.getStage().str()},
                         {"bytes", bytes},
                         {"offset", slice.getOffset()},
                         {"first", life.first},
                         {"last", life.last}});
      live[life.first] += llvm::alignTo(bytes, alignment);
      live[life.last + 1] -= llvm::alignTo(bytes, alignment);
    }
    int64_t peak = 0, sum = 0, peakBytes = 0;
    for (auto [time, change] : llvm::enumerate(live))
      if (sum += change; sum > peakBytes) {
        peakBytes = sum;
        peak = time;
      }
    json atPeak = json::array();
    for (auto [index, life] : llvm::enumerate(lives))
      if (life.first <= peak && peak <= life.last) {
        atPeak.push_back(index);
        noteArenaOwner(program, buffers[index]);
      }
    auto [inputBytes, outputBytes] = getStepBytes(program);
    return {{"name", program.getSymName().str()},
            {"arena_bytes", program.getArenaBytes().value_or(0)},
            {"arena_lower_bound_bytes", program.getArenaLowerBound().value_or(0)},
            {"input_bytes", inputBytes},
            {"output_bytes", outputBytes},
            {"peak_command", peak},
            {"live_at_peak_bytes", peakBytes},
            {"live_at_peak", std::move(atPeak)},
            {"commands", std::move(commands)},
            {"buffers", std::move(buffers)}};
  }

  static int64_t getEnd(plan::SliceOp slice) {
    return llvm::alignTo(slice.getOffset() + slice.getBytes(), kLineBytes);
  }

  static std::pair<int64_t, int64_t> getStepBytes(plan::ProgramOp program) {
    int64_t inputBytes = 0, outputBytes = 0;
    for (auto slice : program.getBlock()->getOps<plan::SliceOp>()) {
      if (slice.getSpace() == plan::Space::Input)
        inputBytes = std::max(inputBytes, getEnd(slice));
      if (slice.getSpace() == plan::Space::Output)
        outputBytes = std::max(outputBytes, getEnd(slice));
    }
    return {inputBytes, outputBytes};
  }

  void addSlices(plan::ProgramOp program) {
    bool preprocess = runtime::isPreprocess(program.getSymName().str());
    auto [inputBytes, outputBytes] = getStepBytes(program);
    int64_t arenaBytes = program.getArenaBytes().value_or(0);
    (preprocess ? preprocessArena : arena) =
        std::max(preprocess ? preprocessArena : arena, arenaBytes);
    if (!preprocess) {
      input = std::max(input, inputBytes);
      output = std::max(output, outputBytes);
    }
    for (auto slice : program.getBlock()->getOps<plan::SliceOp>()) {
      int64_t bytes = slice.getBytes();
      switch (slice.getSpace()) {
      case plan::Space::Parameter:
        parameters = std::max(parameters, getEnd(slice));
        if (slice.getName() && (preprocess || !owners.contains({"parameter", *slice.getName()})))
          owners[{"parameter", *slice.getName()}] = {nameParameter(slice), "parameter", bytes};
        break;
      case plan::Space::State:
        states = std::max(states, getEnd(slice));
        if (slice.getName())
          owners[{"state", *slice.getName()}] = {slice.getName()->str(), "state", bytes};
        break;
      case plan::Space::Output:
        if (slice.getName())
          owners[{"output", *slice.getName()}] = {slice.getName()->str(), "output", bytes};
        break;
      case plan::Space::Checkpoint:
        if (slice.getType())
          checkpoint += bytes;
        break;
      default:
        break;
      }
    }
  }

  /// A preprocessed parameter by the checkpoint's tensors that it is made of.
  static std::string nameParameter(plan::SliceOp slice) {
    std::string names;
    for (Operation *user : slice->getUsers()) {
      auto command = cast<plan::CommandInterface>(user);
      if (!llvm::is_contained(command.getWrites(), slice.getSlice()))
        continue;
      for (Value read : command.getReads())
        if (auto source = read.getDefiningOp<plan::SliceOp>())
          if (source.getSpace() == plan::Space::Checkpoint)
            names += (names.empty() ? "" : " + ") + source.getName()->str();
    }
    return names.empty() ? slice.getName()->str() : names;
  }

  void noteArenaOwner(plan::ProgramOp program, const json &buffer) {
    std::string layer = buffer["layer"].get<std::string>();
    std::string name = program.getSymName().str() + ": " + buffer["label"].get<std::string>() +
                       (layer.empty() ? "" : " of " + layer);
    arenaOwners.push_back({name, "arena", buffer["bytes"].get<int64_t>()});
  }

  json describeOwners() {
    std::vector<Owner> all = arenaOwners;
    for (auto &[key, owner] : owners)
      all.push_back(owner);
    std::sort(all.begin(), all.end(), [](const Owner &a, const Owner &b) {
      return std::tuple(-a.bytes, a.name) < std::tuple(-b.bytes, b.name);
    });
    json list = json::array();
    for (const Owner &owner : ArrayRef(all).take_front(kLargest))
      list.push_back({{"owner", owner.name}, {"space", owner.space}, {"bytes", owner.bytes}});
    return list;
  }

  ModuleOp plan;
  int64_t codeBytes;
  int64_t parameters = 0, states = 0, arena = 0, input = 0, output = 0, constants = 0;
  int64_t preprocessArena = 0, checkpoint = 0;
  llvm::MapVector<std::pair<StringRef, StringRef>, Owner> owners; ///< by space and name
  std::vector<Owner> arenaOwners;
};

} // namespace

std::string sinter::makeMemoryReport(ModuleOp plan, int64_t codeBytes) {
  return Reporter(plan, codeBytes).run();
}
