// A model of pairs that a person wrote: a row for each token, and a product that makes logits of it.
module {
  func.func @train_step(
      %tokens: tensor<2x16xi32> {sinter.input = "tokens"},
      %targets: tensor<2x16xi32> {sinter.input = "targets"},
      %weight: tensor<f32> {sinter.input = "loss_weight"},
      %table: tensor<64x32xf32> {sinter.parameter = "table",
                                 sinter.initializer = #sinter.normal<mean = 0.0, deviation = 0.5>},
      %head: tensor<64x32xf32> {sinter.parameter = "head",
                                sinter.initializer = #sinter.normal<mean = 1.0, deviation = 0.0>})
      -> (tensor<f32> {sinter.output = "loss"}) attributes {sinter.entry, sinter.differentiate} {
    %0 = sinter.embedding %table, %tokens : (tensor<64x32xf32>, tensor<2x16xi32>) -> tensor<2x16x32xf32>
    %1 = sinter.reshape %0 : (tensor<2x16x32xf32>) -> tensor<32x32xf32>
    %2 = sinter.reshape %targets : (tensor<2x16xi32>) -> tensor<32xi32>
    %3 = sinter.linear_cross_entropy %1, %head, %2 {transpose_weight, chunk = 32 : i64}
       : (tensor<32x32xf32>, tensor<64x32xf32>, tensor<32xi32>) -> tensor<32xf32>
    %4 = sinter.reduce sum %3 : (tensor<32xf32>) -> tensor<f32>
    %5 = sinter.mul %4, %weight : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %5 : tensor<f32>
  }
}
