#include "compiler/Pipelines/ErrorCollector.h"

using namespace mlir;
using namespace sinter;

/// The position in a text that a location has, or is made of.
static std::string getPosition(Location location) {
  std::string position;
  location->walk([&](Location part) {
    auto line = dyn_cast<FileLineColLoc>(part);
    if (!line)
      return WalkResult::advance();
    position = line.getFilename().str() + ":" + std::to_string(line.getLine()) + ":" +
               std::to_string(line.getColumn());
    return WalkResult::interrupt();
  });
  return position;
}

ErrorCollector::ErrorCollector(MLIRContext &context)
    : handler(&context, [this](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == DiagnosticSeverity::Warning)
          warnings.push_back(diagnostic.str());
        if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
          return success();
        if (first.empty()) {
          first = diagnostic.str();
          place = getPosition(diagnostic.getLocation());
        }
        return success();
      }) {}
