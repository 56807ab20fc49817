// Executables for a GPU whose bytes were changed before their checksum was computed.
#include "runtime/Session/Session.h"
#include "test/cuda/FakeCuda.h"
#include "test/simt/Program.h"
#include "test/unit/cuda/SmallModel.h"
#include <algorithm>

using namespace sinter;
using namespace sinter::runtime;
using namespace sinter::runtime::testing;
using fake::FakeCuda;
using fake::FakeOptions;

namespace {

// What is not code is changed, a bit of every third byte: it is refused, or runs and does no harm.
TEST(CudaDamagedTest, DoesNoHarm) {
  if (std::string reason = simt::Program::whyNot(); !reason.empty())
    GTEST_SKIP() << reason;
  FakeOptions checked;
  checked.checked = true;
  checked.cache = SINTER_FAKE_CACHE;
  FakeCuda gpu(checked);
  std::vector<std::byte> bytes = model().build();
  auto whole = *Executable::fromFlatbuffer(bytes, "whole");
  std::vector<std::pair<size_t, size_t>> code;
  auto add = [&](const auto &vector) {
    auto *begin = reinterpret_cast<const std::byte *>(vector.data());
    code.emplace_back(begin - whole->getFlatbuffer().data(), vector.size());
  };
  const fb::KernelProgram &program = *whole->getRoot().kernel_programs()->Get(0);
  add(*program.source());
  add(*program.cubins()->Get(0)->bytes());
  size_t refused = 0, ran = 0;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    if (std::ranges::any_of(code, [&](auto range) { return i - range.first < range.second; }))
      continue;
    std::vector<std::byte> changed = bytes;
    changed[i] ^= std::byte(1 << i % 8);
    auto executable = Executable::fromFlatbuffer(changed, "changed");
    refused += !executable;
    if (!executable || !(*executable)->program("run") || (*executable)->isForCpu())
      continue;
    Weights fresh;
    BindOptions options;
    options.threads = 1;
    options.weights = &fresh;
    options.onWarning = [](const Error &) {};
    if (auto session = Session::bind(*executable, options))
      ran += (*session)->run(*(*session)->program("run")).has_value();
  }
  EXPECT_GT(refused, bytes.size() / 60);
  EXPECT_GT(ran, 30u);
  for (const std::string &complaint : gpu.complaints())
    if (complaint.find(": race: ") == std::string::npos) // of slices that lie in each other now
      ADD_FAILURE() << complaint;
  EXPECT_EQ(gpu.statistics().handles + gpu.statistics().allocated, 0u);
}

} // namespace
