#include "compiler/Pipelines/DecisionCollector.h"
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

namespace {
class DecisionStreamer : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit DecisionStreamer(std::vector<Decision> &decisions) : decisions(decisions) {}

  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    decisions.push_back(Decision{remark.getRemarkType() == llvm::remarks::Type::Passed,
                                 remark.getCombinedCategoryName().str(),
                                 remark.getRemarkName().str(), remark.getFunction().str(),
                                 describeLocation(remark.getLocation()), remark.getMsg()});
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
