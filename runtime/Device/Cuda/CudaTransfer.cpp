#include "runtime/Device/Cuda/CudaTransfer.h"
#include "runtime/Device/Cuda/KernelCode.h"
#include <algorithm>
#include <cstring>

namespace sinter::runtime::cuda {
namespace {

constexpr const char *copying = "copying between the host and the GPU";
constexpr uint64_t bytesPerPiece = uint64_t(1) << 20;

} // namespace

Expected<std::unique_ptr<CudaTransfer>> CudaTransfer::create(const CudaContext &context,
                                                             ThreadPool &threads) {
  std::unique_ptr<CudaTransfer> result(new CudaTransfer(context, threads));
  SINTER_TRY(result->memory, PinnedMemory::allocate(context, stagingBytes, "copies"));
  uint64_t half = stagingBytes / 2;
  for (size_t i = 0; i < 2; ++i) {
    result->buffers[i].bytes = result->memory.bytes().subspan(i * half, half);
    SINTER_CHECK(context.check(
        context.api().cuEventCreate(&result->buffers[i].done, CU_EVENT_DISABLE_TIMING), copying));
  }
  return result;
}

CudaTransfer::~CudaTransfer() {
  for (const Buffer &buffer : buffers)
    if (buffer.done) {
      context.api().cuEventSynchronize(buffer.done);
      context.api().cuEventDestroy(buffer.done);
    }
}

Expected<void> CudaTransfer::waitFor(const Buffer &buffer) const {
  return context.check(context.api().cuEventSynchronize(buffer.done), copying);
}

void CudaTransfer::copy(std::byte *out, const std::byte *source, uint64_t bytes) const {
  threads.run(bytes, bytesPerPiece, [&](uint64_t begin, uint64_t end) {
    std::memcpy(out + begin, source + begin, end - begin);
  });
}

Expected<void> CudaTransfer::upload(std::span<const std::byte> source, CUdeviceptr out) {
  const CudaApi &api = context.api();
  for (size_t at = 0, turn = 0; at < source.size(); ++turn) {
    Buffer &buffer = buffers[turn % 2];
    SINTER_CHECK(waitFor(buffer));
    uint64_t bytes = std::min<uint64_t>(buffer.bytes.size(), source.size() - at);
    copy(buffer.bytes.data(), source.data() + at, bytes);
    SINTER_CHECK(context.check(
        api.cuMemcpyHtoDAsync(out + at, buffer.bytes.data(), bytes, context.stream()), copying));
    SINTER_CHECK(context.check(api.cuEventRecord(buffer.done, context.stream()), copying));
    at += bytes;
  }
  return {};
}

Expected<void> CudaTransfer::download(CUdeviceptr source, std::span<std::byte> out) {
  const CudaApi &api = context.api();
  auto bytesAt = [&](size_t at) {
    return std::min<uint64_t>(buffers[0].bytes.size(), out.size() - at);
  };
  auto begin = [&](size_t at, size_t turn) -> Expected<void> {
    Buffer &buffer = buffers[turn % 2];
    SINTER_CHECK(context.check(
        api.cuMemcpyDtoHAsync(buffer.bytes.data(), source + at, bytesAt(at), context.stream()),
        copying));
    return context.check(api.cuEventRecord(buffer.done, context.stream()), copying);
  };
  // Copies of a call before have read the buffers, or will before these write them: one stream.
  if (!out.empty())
    SINTER_CHECK(begin(0, 0));
  for (size_t at = 0, turn = 0; at < out.size(); ++turn) {
    size_t next = at + bytesAt(at);
    if (next < out.size())
      SINTER_CHECK(begin(next, turn + 1));
    SINTER_CHECK(waitFor(buffers[turn % 2]));
    copy(out.data() + at, buffers[turn % 2].bytes.data(), next - at);
    at = next;
  }
  return {};
}

} // namespace sinter::runtime::cuda
