func.func @logits(%x: tensor<10x24xf32> {sinter.input = "x"}, %w: tensor<24x96xf32> {sinter.input = "w"})
    -> (tensor<10x24xf32> {sinter.output = "y"}) attributes {sinter.entry} {
  %0 = sinter.slice %w {offsets = array<i64: 0, 24>} : (tensor<24x96xf32>) -> tensor<24x24xf32>
  %1 = sinter.matmul %x, %0 : (tensor<10x24xf32>, tensor<24x24xf32>) -> tensor<10x24xf32>
  return %1 : tensor<10x24xf32>
}
