// RUN: sinter-opt %s --sinter-print-cuda -o /dev/null | FileCheck %s

module {
module @kernels {
func.func private @is_kept(i64, i32, i32, i32, i32) -> i1 attributes {sinter.library}
func.func private @stochastic_round(f32, i64, i32, i32, i32, i32) -> f32 attributes {sinter.library}

// CHECK: // relu
// CHECK-NEXT: // x0 4x8xbf16 -> y0 4x8xbf16
// CHECK-NEXT: // 32 operations on 128 bytes; 4 items of 1 threads in 1 blocks of 32
// CHECK-NEXT: extern "C" __global__ void __launch_bounds__(32)
// CHECK-NEXT: code(const __nv_bfloat16 *__restrict__ x0, __nv_bfloat16 *y0) {
// CHECK-NEXT:   const int thread = static_cast<int>(threadIdx.x);
// CHECK-NEXT:   if (thread < 4) {
// CHECK-NEXT:     const sinter::Vector<__nv_bfloat16, 8> x0_row = sinter::load<__nv_bfloat16, 8>(x0 + thread * 8);
// CHECK-NEXT:     sinter::Vector<__nv_bfloat16, 8> result;
// CHECK-NEXT: #pragma unroll
// CHECK-NEXT:     for (int i = 0; i < 8; ++i) {
// CHECK-NEXT:       result[i] = sinter::from_float<__nv_bfloat16>(sinter::maximum(sinter::to_float(x0_row[i]), -0.1f));
// CHECK-NEXT:     }
// CHECK-NEXT:     sinter::store(y0 + thread * 8, result);
// CHECK-NEXT:   }
// CHECK-NEXT: }
func.func @code(%x: memref<32xbf16> {llvm.noalias}, %y: memref<32xbf16>) attributes {sinter.items = 4 : i64, sinter.threads = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %least = arith.constant -0.1 : f32
  %thread = gpu.thread_id x
  %exists = arith.cmpi slt, %thread, %c4 : index
  scf.if %exists {
    %at = affine.apply affine_map<(d0) -> (d0 * 8)>(%thread)
    %row = vector.load %x[%at] : memref<32xbf16>, vector<8xbf16>
    %empty = ub.poison : vector<8xbf16>
    %result = scf.for %i = %c0 to %c8 step %c1 iter_args(%r = %empty) -> vector<8xbf16> {
      %0 = vector.extract %row[%i] : bf16 from vector<8xbf16>
      %1 = arith.extf %0 : bf16 to f32
      %2 = arith.maximumf %1, %least : f32
      %3 = arith.truncf %2 : f32 to bf16
      %4 = vector.insert %3, %r[%i] : bf16 into vector<8xbf16>
      scf.yield %4 : vector<8xbf16>
    } {sinter.unroll = 8 : i64}
    %to = affine.apply affine_map<(d0) -> (d0 * 8)>(%thread)
    vector.store %result, %y[%to] : memref<32xbf16>, vector<8xbf16>
  }
  return
}

// What may be approximate is; a row that was loaded before is carried on under its name.
// CHECK: fast(
// CHECK: sinter::Vector<float, 4> ahead = x0_row;
// CHECK: y0[i] = sinter::divide_fast(1.0f, sinter::exp_fast(sinter::exp2(sinter::exp2_fast(v))));
// CHECK: ahead = x0_row1;
func.func @fast(%x: memref<128xf32> {llvm.noalias}, %y: memref<32xf32> {llvm.noalias}) attributes {sinter.items = 1 : i64, sinter.threads = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %one = arith.constant 1.0 : f32
  %first = vector.load %x[%c0] : memref<128xf32>, vector<4xf32>
  %last = scf.for %i = %c0 to %c32 step %c1 iter_args(%ahead = %first) -> vector<4xf32> {
    %at = affine.apply affine_map<(d0) -> (d0 * 4)>(%i)
    %next = vector.load %x[%at] : memref<128xf32>, vector<4xf32>
    %0 = vector.extract %ahead[0] : f32 from vector<4xf32>
    %fast = math.exp2 %0 fastmath<afn> : f32
    %power = math.exp2 %fast : f32
    %1 = math.exp %power fastmath<afn> : f32
    %2 = arith.divf %one, %1 fastmath<afn> : f32
    memref.store %2, %y[%i] : memref<32xf32>
    scf.yield %next : vector<4xf32>
  }
  return
}

// A sum is added to in its place, also under a condition; memory of the block is dynamic.
// CHECK: sums(
// CHECK:   float *const row = sinter::dynamic_shared<float>();
// CHECK:   float *const row1 = reinterpret_cast<float *>(sinter::dynamic_shared<unsigned char>() + 48);
// CHECK:   float part = 0.0f;
// CHECK-NEXT: #pragma unroll 4
// CHECK-NEXT:   for (int i = 0; i < 9; ++i) {
// CHECK-NEXT:     const int [[N:.*]] = i * 128 + thread;
// CHECK-NEXT:     if ([[N]] < 1100) {
// CHECK-NEXT:       const float x0_at = x0[[[N]]];
// CHECK-NEXT:       part = part + x0_at;
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   const float total = sinter::block_reduce_sum<128>(part);
// CHECK-NEXT:   __syncthreads();
// CHECK-NEXT:   if (thread == 0) {
// CHECK-NEXT:     row[0] = total;
// CHECK-NEXT:     row1[0] = 0.333333343f;
// CHECK-NEXT:     y0[0] = total / -(1e+10f + total);
func.func @sums(%x: memref<1100xf32> {llvm.noalias}, %y: memref<1xf32> {llvm.noalias}) attributes {sinter.items = 1 : i64, sinter.threads = 128 : i64} {
  %row = memref.alloca() : memref<10xf32, #gpu.address_space<workgroup>>
  %other = memref.alloca() : memref<4xf32, #gpu.address_space<workgroup>>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %c1100 = arith.constant 1100 : index
  %zero = arith.constant 0.0 : f32
  %third = arith.constant 0x3EAAAAAB : f32
  %large = arith.constant 1.0e10 : f32
  %thread = gpu.thread_id x
  %sum = scf.for %k = %c0 to %c9 step %c1 iter_args(%s = %zero) -> f32 {
    %i = affine.apply affine_map<(d0, d1) -> (d0 * 128 + d1)>(%k, %thread)
    %inside = arith.cmpi slt, %i, %c1100 : index
    %next = scf.if %inside -> f32 {
      %0 = memref.load %x[%i] : memref<1100xf32>
      %1 = arith.addf %s, %0 : f32
      scf.yield %1 : f32
    } else {
      scf.yield %s : f32
    }
    scf.yield %next : f32
  } {sinter.unroll = 4 : i64}
  %total = gpu.all_reduce add %sum uniform {} : (f32) -> f32
  gpu.barrier
  %first = arith.cmpi eq, %thread, %c0 : index
  scf.if %first {
    memref.store %total, %row[%c0] : memref<10xf32, #gpu.address_space<workgroup>>
    memref.store %third, %other[%c0] : memref<4xf32, #gpu.address_space<workgroup>>
    %2 = arith.addf %large, %total : f32
    %3 = arith.negf %2 : f32
    %4 = arith.divf %total, %3 : f32
    memref.store %4, %y[%c0] : memref<1xf32>
  }
  return
}

// Indices have 64 bits where 32 do not suffice.
// CHECK: large(
// CHECK: const long long block = static_cast<long long>(blockIdx.x);
// CHECK: sinter::is_kept(block, 7u, make_uint2(static_cast<unsigned>(
// CHECK-SAME: ), 2147483648u)
// CHECK: sinter::stochastic_round({{.*}}, block, make_uint2(7u, 2147483648u), make_uint2(static_cast<unsigned>(
// CHECK: sinter::min_of<long long>(sinter::max_of<long long>({{.*}}, 0), 255999)
func.func @large(%x: memref<2xi32>, %y: memref<4294967296xf32>) attributes {sinter.items = 1 : i64, sinter.threads = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %stream = arith.constant 7 : i32
  %threshold = arith.constant -2147483648 : i32
  %one = arith.constant 1.0 : f32
  %zero = arith.constant 0.0 : f32
  %block = gpu.block_id x
  %low = memref.load %x[%c0] : memref<2xi32>
  %high = memref.load %x[%c1] : memref<2xi32>
  %number = arith.index_cast %block : index to i64
  %kept = func.call @is_kept(%number, %stream, %low, %high, %threshold) : (i64, i32, i32, i32, i32) -> i1
  %0 = arith.select %kept, %one, %zero : f32
  %again = arith.index_cast %block : index to i64
  %1 = func.call @stochastic_round(%0, %again, %stream, %threshold, %low, %high) : (f32, i64, i32, i32, i32, i32) -> f32
  memref.store %1, %y[%block] : memref<4294967296xf32>
  %last = arith.constant 255999 : index
  %row = arith.index_cast %high : i32 to index
  %above = arith.maxsi %row, %c0 : index
  %inside = arith.minsi %above, %last : index
  memref.store %0, %y[%inside] : memref<4294967296xf32>
  return
}

// CHECK: struct instance_parameters {
// CHECK-NEXT:   using Element = __nv_bfloat16;
// CHECK-NEXT:   using Post = sinter::Gelu;
// CHECK-NEXT:   static constexpr bool causal = true;
// CHECK-NEXT:   static constexpr int heads = 12;
// CHECK-NEXT:   static constexpr float scale = 0.125f;
// CHECK-NEXT:   static constexpr long long stride = 4294967296ll;
// CHECK-NEXT: };
// CHECK-NEXT: static_assert(sinter::attend_grid<instance_parameters>() == {{[0-9]+}});
// CHECK-NEXT: static_assert(sinter::attend_shared<instance_parameters>() == 4096);
// CHECK: instance(const __nv_bfloat16 *__restrict__ x0, __nv_bfloat16 *__restrict__ y0) {
// CHECK-NEXT:   sinter::attend<instance_parameters>(x0, nullptr, y0);
// CHECK-NEXT: }
func.func private @instance(memref<32xbf16> {llvm.noalias}, memref<32xbf16> {llvm.noalias}) attributes {sinter.template = {header = "attend.cuh", function = "attend", arguments = array<i64: 0, -1, 1>, figures = ["grid", "shared"], parameters = {Element = bf16, Post = "sinter::Gelu", causal = true, heads = 12 : i64, scale = 0.125 : f32, stride = 4294967296 : i64}}}
}

func.func private @code(%x: tensor<4x8xbf16>) -> tensor<4x8xbf16> attributes {sinter.block = 32 : i64, sinter.grid = 1 : i64, sinter.kernel = "rows", sinter.shared = 0 : i64} {
  %0 = sinter.relu %x : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
  return %0 : tensor<4x8xbf16>
}
func.func private @fast(%x: tensor<32x4xf32>) -> tensor<32xf32> attributes {sinter.block = 32 : i64, sinter.grid = 1 : i64, sinter.kernel = "rows", sinter.shared = 0 : i64} {
  %0 = sinter.slice %x {offsets = array<i64: 0, 0>} : (tensor<32x4xf32>) -> tensor<32x1xf32>
  %1 = sinter.reshape %0 : (tensor<32x1xf32>) -> tensor<32xf32>
  return %1 : tensor<32xf32>
}
func.func private @sums(%x: tensor<1x1100xf32>) -> tensor<1xf32> attributes {sinter.block = 128 : i64, sinter.grid = 1 : i64, sinter.kernel = "rows", sinter.shared = 64 : i64} {
  %0 = sinter.reduce sum %x : (tensor<1x1100xf32>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}
func.func private @large(%x: tensor<2xi32>) -> tensor<4294967296xf32> attributes {sinter.block = 32 : i64, sinter.grid = 1 : i64, sinter.kernel = "rows", sinter.shared = 0 : i64} {
  %0 = sinter.constant dense<1.0> : tensor<4294967296xf32>
  return %0 : tensor<4294967296xf32>
}
func.func private @instance(%x: tensor<4x8xbf16>) -> tensor<4x8xbf16> attributes {sinter.block = 32 : i64, sinter.grid = 1 : i64, sinter.kernel = "attention", sinter.shared = 4096 : i64} {
  %0 = sinter.relu %x : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
  return %0 : tensor<4x8xbf16>
}
}
