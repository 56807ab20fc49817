// RUN: sinter-opt %s --sinter-expand-math --verify-diagnostics

module {
module @kernels {
func.func @wide(%x: f64) -> f64 {
  // expected-error @below {{expected a function of f32 that has a polynomial}}
  %0 = math.tanh %x : f64
  return %0 : f64
}
}
}
