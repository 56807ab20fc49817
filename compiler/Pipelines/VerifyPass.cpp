#include "compiler/Pipelines/VerifyPass.h"
#include "compiler/Pipelines/Compilation.h"
#include "compiler/Reference/Differential.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace sinter;

/// The last phase that changes graph ops, which the reference evaluates. Codegen leaves them as
/// they are beside the loops that it makes, so a comparison there could not fail.
static constexpr Phase kLastPhase = Phase::Fusion;

static std::vector<PassVerdict> check(ModuleOp module, const PassStep &step,
                                      const PassCheck &options) {
  PassStep verified = step;
  verified.verifies = true;
  RunPass run = [&](ModuleOp candidate) { return runPass(candidate, verified); };
  DifferentialOptions differential{options.tolerance, options.seed};
  std::vector<PassVerdict> verdicts;
  for (const Difference &difference : comparePass(module, run, differential)) {
    PassVerdict &verdict = verdicts.emplace_back();
    verdict.pass = step.argument;
    verdict.entry = difference.entry;
    verdict.holds = difference.holds;
    verdict.error = difference.error;
    verdict.message = difference.message;
    if (!difference.holds) {
      llvm::raw_string_ostream stream(verdict.reproducer);
      reduceFailure(module, difference.entry, run, differential)->print(stream);
    }
  }
  return verdicts;
}

Expected<std::vector<PassVerdict>> sinter::verifyPass(const CompileRequest &request,
                                                      const PassCheck &options) {
  Compilation compilation(request);
  SINTER_CHECK(compilation.begin());
  SINTER_TRY(std::vector<PassStep> steps, compilation.listPasses(kLastPhase));
  SINTER_TRY(std::vector<PassStep> everything, compilation.listPasses(Phase::Memory));
  for (const PassStep &step : everything)
    if (step.argument == options.pass && step.phase > kLastPhase &&
        llvm::none_of(steps,
                      [&](const PassStep &known) { return known.argument == step.argument; }))
      return fail("--pass " + options.pass,
                  "works on loops or commands, which the reference does not evaluate",
                  "the passes up to " + stringifyPhase(kLastPhase).str() + " can be checked");
  bool all = options.pass == "all";
  bool known = all || llvm::any_of(steps, [&](const PassStep &step) {
                 return step.argument == options.pass;
               });
  Phase after = Phase::Import;
  if (!options.after.empty()) {
    SINTER_TRY(after, parsePhase(options.after));
    if (after > kLastPhase)
      return fail("--after " + options.after, "what stands there is no graph any more",
                  "a pass can be checked after the phases up to " +
                      stringifyPhase(kLastPhase).str());
  }
  if (!known && !PassInfo::lookup(options.pass))
    return fail("--pass " + options.pass, "is not a registered pass",
                "load the plugin that has it with --load-pass-plugin");

  std::vector<PassVerdict> verdicts;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (all || steps[i].argument == options.pass)
      for (PassVerdict &verdict : check(compilation.getModule(), steps[i], options))
        verdicts.push_back(std::move(verdict));
    SINTER_CHECK(compilation.run(steps[i]));
    bool phaseEnds = i + 1 == steps.size() || steps[i + 1].phase != steps[i].phase;
    if (!known && phaseEnds && steps[i].phase == after)
      return check(compilation.getModule(), PassStep{after, options.pass, options.pass}, options);
  }
  return verdicts;
}
