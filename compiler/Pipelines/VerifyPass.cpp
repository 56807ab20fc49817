#include "compiler/Pipelines/Verification.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace sinter;

/// Puts a pass that is not in the pipeline at the end of a phase.
static Expected<void> insert(std::vector<PassStep> &steps, const std::string &pass,
                             const std::string &after) {
  if (!PassInfo::lookup(pass))
    return fail("`pass` " + pass, "is not a registered pass",
                "load the plugin that has it with `load_pass_plugin`");
  Phase phase = Phase::Import;
  if (!after.empty()) {
    SINTER_TRY(phase, parsePhase(after));
  }
  auto end = std::ranges::find_if(steps, [&](const PassStep &step) { return step.phase > phase; });
  steps.insert(end, PassStep{phase, pass, pass});
  return {};
}

/// Which of some passes change the module that they run on, one after the other.
static llvm::BitVector findChanging(ModuleOp module, ArrayRef<PassStep> steps) {
  OwningOpRef<ModuleOp> running = module.clone();
  llvm::BitVector changing(steps.size(), true);
  ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &) { return success(); });
  for (auto [i, step] : llvm::enumerate(steps)) {
    OperationFingerPrint before(*running);
    if (failed(runPass(*running, step)))
      break;
    changing[i] = OperationFingerPrint(*running) != before;
  }
  return changing;
}

namespace {
/// Checks the selected ones of a pipeline's passes, each where it stands.
class PassCheck {
public:
  PassCheck(Verification &verification, std::vector<PassStep> steps, const std::string &pass)
      : verification(verification), steps(std::move(steps)), pass(pass) {}

  Expected<std::vector<Verdict>> run() {
    std::vector<PassStep> later = selectSteps(steps, /*graphs=*/false);
    bool checksLater = llvm::any_of(later, [&](const PassStep &step) { return isSelected(step); });
    if (std::string reason = verification.getReasonNotToRun(); checksLater && !reason.empty()) {
      if (pass != "all")
        return fail("`pass` " + pass, "it is behind the graph, and " + reason,
                    "give `target` cpu and no `grid`, or a pass of the phases up to " +
                        stringifyPhase(kLastGraphPhase).str());
      checksLater = false;
    }
    for (const PassStep &step : selectSteps(steps, /*graphs=*/true)) {
      if (isSelected(step) && !check(step))
        return std::move(verdicts);
      SINTER_CHECK(verification.getCompilation().run(step));
    }
    if (checksLater)
      checkLater(later);
    return std::move(verdicts);
  }

private:
  bool isSelected(const PassStep &step) const { return pass == "all" || step.argument == pass; }

  /// Checks a pass of a graph phase; false where it fails, so that nothing can follow.
  bool check(const PassStep &step) {
    ModuleOp module = verification.getCompilation().getModule();
    bool ran = true;
    for (const Difference &difference : verification.compareGraphs(module, step)) {
      ran &= difference.outcome != Outcome::Failed;
      verdicts.push_back(verification.judge(difference, step, module));
    }
    return ran;
  }

  void checkLater(ArrayRef<PassStep> later) {
    ModuleOp fused = verification.getCompilation().getModule();
    llvm::BitVector changing = findChanging(fused, later);
    for (const Difference &difference : verification.compareExecutable(fused, later)) {
      if (difference.outcome != Outcome::Holds) {
        verdicts.push_back(verification.blame(difference, fused, later));
        continue;
      }
      // What all of them make holds: so does each.
      for (auto [i, step] : llvm::enumerate(later))
        if (isSelected(step)) {
          Difference own = difference;
          if (!changing[i])
            own = {difference.entry, Outcome::Unchanged, 0, {}};
          verdicts.push_back(makeVerdict(own, step));
        }
    }
  }

  Verification &verification;
  std::vector<PassStep> steps;
  std::string pass;
  std::vector<Verdict> verdicts;
};
} // namespace

Expected<std::vector<Verdict>> sinter::verifyPass(const CompileRequest &request,
                                                  const std::string &pass, const std::string &after,
                                                  const VerifyOptions &options) {
  Verification verification(request, options);
  SINTER_CHECK(verification.begin());
  SINTER_TRY(std::vector<PassStep> steps, verification.getCompilation().listPasses(Phase::Memory));
  bool known = pass == "all" ||
               llvm::any_of(steps, [&](const PassStep &step) { return step.argument == pass; });
  if (!known)
    SINTER_CHECK(insert(steps, pass, after));
  return PassCheck(verification, std::move(steps), pass).run();
}
