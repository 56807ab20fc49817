//===- PrecisionOptions.h - In which types a model computes -----*- C++ -*-===//
#pragma once

#include "runtime/Base/Options.h"

namespace sinter {

/// The options of the phase Precision, of the pipeline sinter-precision-pipeline.
struct PrecisionOptions {
#define SINTER_OPTION SINTER_OPTION_MEMBER
#include "compiler/Precision/PrecisionOptions.def"

  template <typename Self, typename Visitor>
  static void visit(Self &self, Visitor &&visitor){
#define SINTER_OPTION SINTER_OPTION_VISIT
#include "compiler/Precision/PrecisionOptions.def"
  }

  // What is compiled for where an option is not set.
  DType getComputeType() const {
    return computeType.value_or(DType::F32);
  }
  DType getCacheType() const { return cacheType.value_or(DType::F32); }
};

} // namespace sinter
