#include "compiler/Pipelines/DecisionCollector.h"
#include "compiler/Analysis/GainRemark.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace sinter;

std::string sinter::describeLocation(Location location) {
  llvm::SmallSetVector<StringRef, 4> names;
  location->walk([&](Location part) {
    if (auto named = dyn_cast<NameLoc>(part))
      names.insert(named.getName().strref());
    return WalkResult::advance();
  });
  return llvm::join(names, " + ");
}

/// What a remark says: its sentences, and its figures by name, but for the gain.
static std::string describe(const remark::detail::Remark &remark) {
  std::string text;
  for (const remark::detail::Remark::Arg &argument : remark.getArgs()) {
    if (argument.key == kGainNs)
      continue;
    text += text.empty() ? "" : " ";
    text += argument.key == "Remark" || argument.key == "Reason"
                ? argument.val
                : argument.key + " " + argument.val;
  }
  return text;
}

static std::optional<double> getGainNs(const remark::detail::Remark &remark) {
  double gain;
  for (const remark::detail::Remark::Arg &argument : remark.getArgs())
    if (argument.key == kGainNs && !StringRef(argument.val).getAsDouble(gain))
      return gain;
  return std::nullopt;
}

namespace {
class DecisionStreamer : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit DecisionStreamer(std::vector<Decision> &decisions) : decisions(decisions) {}

  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    // What concerns no function in particular says so with this name.
    StringRef function = remark.getFunction();
    decisions.push_back(
        Decision{remark.getRemarkType() == llvm::remarks::Type::Passed,
                 remark.getCombinedCategoryName().str(), remark.getRemarkName().str(),
                 function == "<unknown function>" ? "" : function.str(),
                 describeLocation(remark.getLocation()), describe(remark), getGainNs(remark)});
  }

private:
  std::vector<Decision> &decisions;
};
} // namespace

LogicalResult sinter::collectDecisions(MLIRContext &context, std::vector<Decision> &decisions) {
  remark::RemarkCategories categories;
  categories.passed = categories.missed = "sinter.*";
  return remark::enableOptimizationRemarks(context, std::make_unique<DecisionStreamer>(decisions),
                                           std::make_unique<remark::RemarkEmittingPolicyAll>(),
                                           categories);
}
