#include "runtime/Device/Cuda/CudaTransfer.h"
#include "runtime/Device/Cuda/KernelCode.h"
#include <algorithm>
#include <cstring>

namespace sinter::runtime::cuda {
namespace {

constexpr const char *copying = "copying between the host and the GPU";
constexpr uint64_t stagedPiece = uint64_t(1) << 20;

} // namespace

Expected<std::unique_ptr<CudaTransfer>> CudaTransfer::create(const CudaContext &context,
                                                             ThreadPool &threads) {
  std::unique_ptr<CudaTransfer> result(new CudaTransfer(context, threads));
  SINTER_TRY(result->memory, PinnedMemory::allocate(context, stagingBytes, "copies"));
  uint64_t half = stagingBytes / 2;
  for (size_t i = 0; i < 2; ++i) {
    SINTER_TRY(CudaEvent done, CudaEvent::create(context, /*timed=*/false));
    result->buffers.push_back({result->memory.getBytes().subspan(i * half, half), std::move(done)});
  }
  return result;
}

CudaTransfer::~CudaTransfer() {
  for (const Buffer &buffer : buffers)
    (void)buffer.done.wait();
}

void CudaTransfer::copy(std::byte *out, const std::byte *source, uint64_t bytes) const {
  threads.run(bytes, stagedPiece, [&](uint64_t begin, uint64_t end) {
    std::memcpy(out + begin, source + begin, end - begin);
  });
}

Expected<void> CudaTransfer::upload(std::span<const std::byte> source, CUdeviceptr out) {
  const CudaApi &api = context.getApi();
  for (size_t at = 0, turn = 0; at < source.size(); ++turn) {
    Buffer &buffer = buffers[turn % 2];
    SINTER_CHECK(buffer.done.wait());
    uint64_t bytes = std::min<uint64_t>(buffer.bytes.size(), source.size() - at);
    copy(buffer.bytes.data(), source.data() + at, bytes);
    SINTER_CHECK(context.check(
        api.cuMemcpyHtoDAsync(out + at, buffer.bytes.data(), bytes, context.getStream()), copying));
    SINTER_CHECK(buffer.done.record());
    at += bytes;
  }
  return {};
}

Expected<void> CudaTransfer::download(CUdeviceptr source, std::span<std::byte> out) {
  const CudaApi &api = context.getApi();
  auto bytesAt = [&](size_t at) {
    return std::min<uint64_t>(buffers[0].bytes.size(), out.size() - at);
  };
  auto begin = [&](size_t at, size_t turn) -> Expected<void> {
    Buffer &buffer = buffers[turn % 2];
    SINTER_CHECK(context.check(
        api.cuMemcpyDtoHAsync(buffer.bytes.data(), source + at, bytesAt(at), context.getStream()),
        copying));
    return buffer.done.record();
  };
  // Copies of a call before have read the buffers, or will before these write them: one stream.
  if (!out.empty())
    SINTER_CHECK(begin(0, 0));
  for (size_t at = 0, turn = 0; at < out.size(); ++turn) {
    size_t next = at + bytesAt(at);
    if (next < out.size())
      SINTER_CHECK(begin(next, turn + 1));
    SINTER_CHECK(buffers[turn % 2].done.wait());
    copy(out.data() + at, buffers[turn % 2].bytes.data(), next - at);
    at = next;
  }
  return {};
}

} // namespace sinter::runtime::cuda
