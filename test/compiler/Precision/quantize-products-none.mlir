// RUN: sinter-opt %s --sinter-differentiate --sinter-quantize-products | FileCheck %s

// The last product, one by a table, one by what is no weight, what is no training step, and what is no entry.

// CHECK-NOT: f8E4M3FN
// CHECK-NOT: f8E5M2
func.func @last(%in: tensor<4x8xf32> {sinter.input = "x"}, %b: tensor<4x8xf32> {sinter.parameter = "b"},
                %w: tensor<8x6xf32> {sinter.parameter = "w"})
    -> (tensor<f32> {sinter.output = "loss"}) attributes {sinter.entry, sinter.differentiate} {
  %x = sinter.add %in, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = sinter.matmul %x, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %1 = sinter.exp %0 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %2 = sinter.reshape %1 : (tensor<4x6xf32>) -> tensor<24xf32>
  %3 = sinter.reduce sum %2 : (tensor<24xf32>) -> tensor<f32>
  return %3 : tensor<f32>
}

func.func @others(%ids: tensor<4xi32> {sinter.input = "ids"}, %table: tensor<8x8xf32> {sinter.parameter = "table"},
                  %w: tensor<8x6xf32> {sinter.parameter = "w"})
    -> (tensor<f32> {sinter.output = "loss"}) attributes {sinter.entry, sinter.differentiate} {
  %0 = sinter.embedding %table, %ids : (tensor<8x8xf32>, tensor<4xi32>) -> tensor<4x8xf32>
  %1 = sinter.matmul %0, %table {transpose_rhs} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %2 = sinter.matmul %1, %1 {transpose_lhs} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %3 = sinter.matmul %1, %2 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %4 = sinter.matmul %3, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %5 = sinter.reshape %4 : (tensor<4x6xf32>) -> tensor<24xf32>
  %6 = sinter.reduce sum %5 : (tensor<24xf32>) -> tensor<f32>
  return %6 : tensor<f32>
}

func.func @decode(%x: tensor<4x8xf32>, %w: tensor<8x8xf32> {sinter.parameter = "w"}) -> tensor<4x8xf32>
    attributes {sinter.entry} {
  %0 = sinter.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = sinter.matmul %0, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

func.func @called(%in: tensor<4x8xf32> {sinter.input = "x"}, %w: tensor<8x8xf32> {sinter.parameter = "w"},
                  %h: tensor<8x6xf32> {sinter.parameter = "h"})
    -> (tensor<f32> {sinter.output = "loss"}) attributes {sinter.differentiate} {
  %0 = sinter.matmul %in, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = sinter.matmul %0, %h : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %2 = sinter.reshape %1 : (tensor<4x6xf32>) -> tensor<24xf32>
  %3 = sinter.reduce sum %2 : (tensor<24xf32>) -> tensor<f32>
  return %3 : tensor<f32>
}
