// RUN: not sinter-opt %s --sinter-evaluate=function=missing 2>&1 | FileCheck %s

// CHECK: error: expected a function named missing
func.func @present() {
  return
}
