#include "compiler/Pipelines/Verification.h"
#include "compiler/Reference/Evaluator.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace sinter;

namespace {
/// Checks a whole pipeline: what every entry computes at its ends, and where they differ, by
/// halves, the first pass that makes it so.
class PipelineCheck {
public:
  explicit PipelineCheck(Verification &verification) : verification(verification) {}

  Expected<std::vector<Verdict>> run() {
    SINTER_TRY(std::vector<PassStep> steps,
               verification.getCompilation().listPasses(Phase::Memory));
    if (!runGraphPhases(selectSteps(steps, /*graphs=*/true)))
      return std::move(verdicts);
    std::vector<PassStep> later = selectSteps(steps, /*graphs=*/false);
    ModuleOp fused = states.back().get();
    SmallVector<std::string> right;
    for (const std::string &entry : listEntries(fused))
      if (std::optional<Verdict> wrong = checkGraphs(entry))
        verdicts.push_back(std::move(*wrong));
      else
        right.push_back(entry);
    if (right.empty())
      return std::move(verdicts);
    if (std::string reason = verification.getReasonNotToRun(); !reason.empty()) {
      for (const std::string &entry : right)
        addHolding(entry, 0, "up to " + stringifyPhase(kLastGraphPhase).str() + ": " + reason);
      return std::move(verdicts);
    }
    for (const Difference &difference : verification.compareExecutable(fused, later))
      if (!llvm::is_contained(right, difference.entry))
        continue; // its graph is wrong already
      else if (difference.outcome == Outcome::Holds)
        addHolding(difference.entry, difference.error, "");
      else
        verdicts.push_back(verification.blame(difference, fused, later));
    return std::move(verdicts);
  }

private:
  void addHolding(const std::string &entry, double error, std::string message) {
    Verdict &verdict = verdicts.emplace_back();
    verdict.entry = entry;
    verdict.outcome = Outcome::Holds;
    verdict.error = error;
    verdict.message = std::move(message);
  }

  /// Keeps what stands before and behind every pass that changes something; false where one fails.
  bool runGraphPhases(ArrayRef<PassStep> steps) {
    ModuleOp module = verification.getCompilation().getModule();
    states.push_back(module.clone());
    for (const PassStep &step : steps) {
      OperationFingerPrint before(module);
      if (!verification.getCompilation().run(step)) {
        ModuleOp last = states.back().get();
        for (const Difference &difference : verification.compareGraphs(last, step))
          verdicts.push_back(verification.judge(difference, step, last));
        return false;
      }
      if (OperationFingerPrint(module) == before)
        continue;
      states.push_back(module.clone());
      changing.push_back(step);
    }
    return true;
  }

  /// The names of an entry's results.
  static SmallVector<DictionaryAttr> getResults(ModuleOp module, StringRef entry) {
    auto function = module.lookupSymbol<func::FuncOp>(entry);
    SmallVector<DictionaryAttr> results;
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      results.push_back(function.getResultAttrDict(i));
    return results;
  }

  bool differs(size_t from, size_t to, StringRef entry) {
    auto passes = ArrayRef(changing).slice(from, to - from);
    return compareModules(states[from].get(), states[to].get(), entry,
                          verification.getOptions(passes))
               .outcome != Outcome::Holds;
  }

  /// The verdict on an entry that some pass of a graph phase changes, or none.
  std::optional<Verdict> checkGraphs(StringRef entry) {
    // Passes that give an entry other results, as training steps get theirs, are looked at one by
    // one; behind them stands what all others are to keep.
    size_t base = changing.size();
    while (base > 0 &&
           getResults(states[base - 1].get(), entry) == getResults(states[base].get(), entry))
      --base;
    for (size_t i = 0; i < base; ++i)
      if (differs(i, i + 1, entry))
        return judge(i, entry);
    size_t right = base, wrong = changing.size();
    if (right == wrong || !differs(right, wrong, entry))
      return std::nullopt;
    while (right + 1 < wrong) {
      size_t middle = (right + wrong) / 2;
      (differs(base, middle, entry) ? wrong : right) = middle;
    }
    return judge(right, entry);
  }

  /// The verdict on the pass that makes state `index + 1` of state `index`.
  Verdict judge(size_t index, StringRef entry) {
    const PassStep &step = changing[index];
    ModuleOp before = states[index].get();
    for (const Difference &difference : verification.compareGraphs(before, step))
      if (difference.entry == entry)
        return verification.judge(difference, step, before);
    llvm_unreachable("passes keep entries");
  }

  Verification &verification;
  std::vector<OwningOpRef<ModuleOp>> states; ///< one more than there are passes in `changing`
  std::vector<PassStep> changing;
  std::vector<Verdict> verdicts;
};
} // namespace

Expected<std::vector<Verdict>> sinter::verifyPipeline(const CompileRequest &request,
                                                      const VerifyOptions &options) {
  Verification verification(request, options);
  SINTER_CHECK(verification.begin());
  return PipelineCheck(verification).run();
}
