// RUN: sinter-opt %s --split-input-file --verify-diagnostics

func.func @softcap_c1(%x: tensor<8xf32>) {
  // expected-error @below {{'sinter.softcap' op expected}}
  %0 = sinter.softcap %x {cap = 0.0 : f64} : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @reduce_c1(%x: tensor<4x8xf32>) {
  // expected-error @below {{expected the operand's type without its last dimension}}
  %0 = sinter.reduce sum %x : (tensor<4x8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @rms_norm_c1(%x: tensor<4x8xf32>, %w: tensor<4xf32>) {
  // expected-error @below {{expected parameters of the operand's last dimension}}
  %0 = sinter.rms_norm %x, %w {eps = 1.0e-5} : (tensor<4x8xf32>, tensor<4xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @rms_norm_c2(%x: tensor<4x8xf32>, %w: tensor<8xf32>) {
  // expected-error @below {{expected eps not to be negative}}
  %0 = sinter.rms_norm %x, %w {eps = -1.0} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @layer_norm_c1(%x: tensor<4x8xf32>, %w: tensor<8xf32>, %b: tensor<2x8xf32>) {
  // expected-error @below {{expected parameters of the operand's last dimension}}
  %0 = sinter.layer_norm %x, %w, %b {eps = 1.0e-5} : (tensor<4x8xf32>, tensor<8xf32>, tensor<2x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @layer_norm_c2(%x: tensor<4x8xf32>, %w: tensor<8xf32>) {
  // expected-error @below {{expected eps not to be negative}}
  %0 = sinter.layer_norm %x, %w {eps = -0.5} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @fusion_c1(%x: tensor<8xf32>) {
  // expected-error @below {{expected block arguments of the operands' types}}
  %0 = sinter.fusion rows(%x : tensor<8xf32>) -> (tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>):
    sinter.yield %a : tensor<4xf32>
  }
  return
}

// -----

func.func @fusion_c2(%x: tensor<8xf32>) {
  // expected-error @below {{expected yielded values of the results' types}}
  %0 = sinter.fusion rows(%x : tensor<8xf32>) -> (tensor<4xf32>) {
  ^bb0(%a: tensor<8xf32>):
    sinter.yield %a : tensor<8xf32>
  }
  return
}

// -----

func.func private @no_kernel(tensor<8xf32>) -> tensor<8xf32>
func.func @call_kernel_c1(%x: tensor<8xf32>) {
  // expected-error @below {{expected a kernel (a func.func with sinter.kernel) named no_kernel}}
  %0 = sinter.call_kernel @no_kernel(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func private @kernel(%x: tensor<8xf32>) -> tensor<8xf32> attributes {sinter.kernel = "rows"} {
  %0 = sinter.relu %x : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func @call_kernel_c2(%x: tensor<4xf32>) {
  // expected-error @below {{expected the kernel's type, '(tensor<8xf32>) -> tensor<8xf32>'}}
  %0 = sinter.call_kernel @kernel(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// expected-error @below {{expected a target of kind "cpu" or "cuda", got "gpu"}}
#target_c1 = #sinter.target<kind = "gpu", chip = "x", features = "", vector_bits = 256, registers = 16, cores = 2, gflops_f32 = 1, gflops_bf16 = 1, memory_gbs = 1, launch_ns = 1, l1_bytes = 1, l2_bytes = 1, l3_bytes = 0>

// -----

// expected-error @below {{expected a target's numbers to be positive}}
#target_c2 = #sinter.target<kind = "cpu", chip = "x", features = "", vector_bits = 256, registers = 16, cores = 0, gflops_f32 = 1, gflops_bf16 = 1, memory_gbs = 1, launch_ns = 1, l1_bytes = 1, l2_bytes = 1, l3_bytes = 0>

// -----

// expected-error @below {{expected panels of 16 values, with interleave 4 and depth 32}}
#panels_c1 = #sinter.panels<width = 32, interleave = 4, depth = 32, values = [1, 2]>

// -----

// expected-error @below {{expected vector_bits to be a multiple of 64, got 100}}
#target_c3 = #sinter.target<kind = "cpu", chip = "x", features = "", vector_bits = 100, registers = 16, cores = 2, gflops_f32 = 1, gflops_bf16 = 1, memory_gbs = 1, launch_ns = 1, l1_bytes = 1, l2_bytes = 1, l3_bytes = 0>

// -----

func.func @column_sum_c1(%x: tensor<4x8xf32>) {
  // expected-error @below {{expected the operand's shape without the dimension before the last, got 'tensor<4x8xf32>' -> 'tensor<4xf32>'}}
  %0 = sinter.column_sum %x : (tensor<4x8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @column_sum_c1_rank(%x: tensor<8xf32>) {
  // expected-error @below {{expected the operand's shape without the dimension before the last}}
  %0 = sinter.column_sum %x : (tensor<8xf32>) -> tensor<f32>
  return
}

// -----

func.func @sum_parts_c1(%x: tensor<4x8xf32>) {
  // expected-error @below {{expected at least one part and a result of a part's type, got 'tensor<4x8xf32>' -> 'tensor<4xf32>'}}
  %0 = sinter.sum_parts %x : (tensor<4x8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @sum_parts_c1_element(%x: tensor<4x8xbf16>) {
  // expected-error @below {{expected at least one part and a result of a part's type, got 'tensor<4x8xbf16>' -> 'tensor<8xf32>'}}
  %0 = sinter.sum_parts %x : (tensor<4x8xbf16>) -> tensor<8xf32>
  return
}

// -----

func.func @sum_parts_c1_none(%x: tensor<0x8xf32>) {
  // expected-error @below {{expected at least one part and a result of a part's type}}
  %0 = sinter.sum_parts %x : (tensor<0x8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @sum_parts_c1_rank(%x: tensor<f32>) {
  // expected-error @below {{expected at least one part and a result of a part's type}}
  %0 = sinter.sum_parts %x : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @column_sum_c2(%x: tensor<4x8xbf16>) {
  // expected-error @below {{expected a result of 'f32', got 'tensor<8xbf16>'}}
  %0 = sinter.column_sum %x : (tensor<4x8xbf16>) -> tensor<8xbf16>
  return
}

// -----

func.func @cross_entropy_c1(%x: tensor<4x8xf32>, %t: tensor<8xi32>) {
  // expected-error @below {{expected logits [n, v], targets [n] and a result [n]}}
  %0 = sinter.cross_entropy %x, %t : (tensor<4x8xf32>, tensor<8xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @cross_entropy_c2(%x: tensor<4x8xbf16>, %t: tensor<4xi32>) {
  // expected-error @below {{expected a result of 'f32', got 'tensor<4xbf16>'}}
  %0 = sinter.cross_entropy %x, %t : (tensor<4x8xbf16>, tensor<4xi32>) -> tensor<4xbf16>
  return
}

// -----

func.func @cross_entropy_c3(%x: tensor<4x8xf32>, %t: tensor<4xi32>) {
  // expected-error @below {{expected z_loss not to be negative}}
  %0 = sinter.cross_entropy %x, %t {z_loss = -1.0 : f64} : (tensor<4x8xf32>, tensor<4xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @dropout_c1(%x: tensor<4x8xf32>, %s: tensor<1xi32>) {
  // expected-error @below {{expected seed to be [2], or [3] with an extent of the whole for each dimension, got 'tensor<1xi32>'}}
  %0 = sinter.dropout %x, %s {probability = 0.5 : f64, stream = 0 : i64} : (tensor<4x8xf32>, tensor<1xi32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @dropout_c1_whole(%x: tensor<4x8xf32>, %s: tensor<3xi32>) {
  // expected-error @below {{expected seed to be [2], or [3] with an extent of the whole for each dimension, got 'tensor<3xi32>'}}
  %0 = sinter.dropout %x, %s {probability = 0.5 : f64, stream = 0 : i64, whole = array<i64: 8>} : (tensor<4x8xf32>, tensor<3xi32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @dropout_c2(%x: tensor<4x8xf32>, %s: tensor<2xi32>) {
  // expected-error @below {{expected probability to be at least 0 and below 1, got 1}}
  %0 = sinter.dropout %x, %s {probability = 1.0 : f64, stream = 0 : i64} : (tensor<4x8xf32>, tensor<2xi32>) -> tensor<4x8xf32>
  return
}
