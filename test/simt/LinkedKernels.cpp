//===- LinkedKernels.cpp - Kernels that are linked into the test ----------===//

template <bool sync> __device__ void reverse(const float *in, float *out) {
  __shared__ float box[64];
  box[threadIdx.x] = in[threadIdx.x];
  if (sync)
    __syncthreads();
  out[threadIdx.x] = box[63 - threadIdx.x];
}

extern "C" __global__ void __launch_bounds__(64) reverseRight(const float *in, float *out) {
  reverse<true>(in, out);
}
extern "C" __global__ void __launch_bounds__(64) reverseRacing(const float *in, float *out) {
  reverse<false>(in, out);
}
