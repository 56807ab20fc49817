// RUN: sinter-opt %s --sinter-verify-sharding | FileCheck %s

// CHECK-LABEL: func.func @uneven
module attributes {sinter.grid = #sinter.grid<data = 2>} {
  func.func @uneven(%w: tensor<3xf32> {sinter.state = "w", sinter.whole = tensor<5xf32>, sinter.sharding = #sinter.sharding<[["data"]]>}) attributes {sinter.entry} {
    return
  }
}
