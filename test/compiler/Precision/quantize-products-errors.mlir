// RUN: not sinter-opt %s --sinter-quantize-products=scales=delayed 2>&1 | FileCheck %s

// CHECK: error: expected scales that are current, got delayed
module {}
