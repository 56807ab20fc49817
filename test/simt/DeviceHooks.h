//===- DeviceHooks.h - What a kernel asks of the emulator -------*- C++ -*-===//
//
// Device code has PTX in two headers (device.cuh and warpgroup.cuh of kernels_templates/cuda).
// Where SINTER_SIMT is defined, there is no PTX: each of its wrappers calls the function here that
// does the same thing in the emulator. Everything else that CUDA C++ knows by itself (threadIdx,
// __shared__, __syncthreads, shuffles, ballots, atomics, __ldg, fast mathematics) is in
// KernelPrelude.h, which the emulator includes before the kernel's own text.
//
// Wrappers should be __forceinline__: findings name the source line that called the hook.
//
// `extern __shared__ T name[];` is the one thing that a macro cannot make work on a host. Write
//
//   #ifdef SINTER_SIMT
//     T *name = static_cast<T *>(sinter::simt::dynamicShared());
//
// behind a macro of the device header instead. Fixed-size <cstdint> types are declared here
// already; the device header must not declare them again under SINTER_SIMT.
//
// The fragments' layouts are those of the PTX ISA, "Matrix fragments for mma.m16n8k16" and
// "Warp-level matrix load instruction: ldmatrix".
//
//===----------------------------------------------------------------------===//
#pragma once

namespace sinter::simt {

/// d += a * b, mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32: two values to a register, the
/// one of the lower column in the lower half. All 32 lanes of the warp must call it.
void mmaM16N8K16Bf16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]);

/// The same of f16: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32.
void mmaM16N8K16F16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]);

/// The same of elements of 8 bits, four to a register in their order along k:
/// mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32, and .f32 of e4m3 or e5m2 on either side .f32.
void mmaM16N8K32S8(int (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]);
void mmaM16N8K32Fp8(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2], bool aIsE5M2,
                    bool bIsE5M2);

/// ldmatrix.sync.aligned.m8n8.x{1,2,4}.shared.b16: lane 8 * i + r gives the address of row r of
/// matrix i (16 bytes, aligned so); with x1 and x2 the other lanes' addresses are not used. All 32
/// lanes must call it.
void ldmatrixX1(unsigned (&matrices)[1], const void *row);
void ldmatrixX2(unsigned (&matrices)[2], const void *row);
void ldmatrixX4(unsigned (&matrices)[4], const void *row);

/// The same with .trans: every matrix arrives transposed.
void ldmatrixX1Trans(unsigned (&matrices)[1], const void *row);
void ldmatrixX2Trans(unsigned (&matrices)[2], const void *row);
void ldmatrixX4Trans(unsigned (&matrices)[4], const void *row);

/// Where dynamic shared memory stands in the address space of shared memory, which matrix
/// descriptors are in.
unsigned sharedAddress(const void *shared);

/// wgmma.fence.sync.aligned, and the registers that it is to order: those of products that begin
/// after it are to be among them.
void wgmmaFence();
void wgmmaFenceRegisters(const void *registers, unsigned long bytes);

/// wgmma.mma_async.sync.aligned.m64n64k16.f32 of bf16 or f16: d = a * b, added to d with `adds`.
/// Both by their descriptors (MatrixDescriptor.h), not transposed. d is the thread's 32 numbers.
/// All threads of the warpgroup must call it, with the same descriptors.
void wgmmaM64N64K16(float *d, unsigned long long a, unsigned long long b, bool adds, bool isF16);

/// The same added to d, with a in registers, and b transposed ("MN-major").
void wgmmaM64N64K16(float *d, const unsigned (&a)[4], unsigned long long b, bool isF16);

/// wgmma.commit_group and wgmma.wait_group, as of cp.async below. The products take place no
/// earlier than the wait.
void wgmmaCommit();
void wgmmaWait(unsigned pending);

/// fence.proxy.async: what this thread has written to shared memory so far, wgmma may read once it
/// is ordered behind this.
void fenceProxyAsync();

/// cp.async.cg.shared.global of 16 bytes: the first `bytes` (0 to 16) come from `global`, the rest
/// become zero. The copy takes place no earlier than this thread's wait for its group; until then
/// nobody may touch `shared`.
void cpAsync16(void *shared, const void *global, unsigned bytes = 16);

/// cp.async.ca.shared.global of 4 or 8 bytes, of which the first `bytes` come from `global`.
void cpAsync8(void *shared, const void *global, unsigned bytes = 8);
void cpAsync4(void *shared, const void *global, unsigned bytes = 4);

/// cp.async.commit_group: what this thread issued since the last commit is a group.
void cpAsyncCommit();

/// cp.async.wait_group: returns when at most `pending` groups of this thread, the latest ones, are
/// not complete. What arrived is visible to this thread; to others after a barrier.
void cpAsyncWait(unsigned pending);

/// griddepcontrol.wait: where the launch overlaps with what is before it (Launch::before), this
/// thread goes on when no other thread of the block can.
void pdlWait();

/// griddepcontrol.launch_dependents: kernels run one after another here, so it has nothing to do.
inline void pdlLaunchDependents() {}

/// The block's dynamic shared memory, aligned to 128 bytes and no more.
void *dynamicShared();

} // namespace sinter::simt
