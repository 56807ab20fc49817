#include "runtime/Format/Executable.h"
#include "runtime/Base/AtomicFile.h"
#include "test/unit/runtime/ExpectError.h"
#include <cmath>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace sinter;
using namespace sinter::runtime;
using namespace sinter::runtime::testing;
using fb::Space;

namespace {

class FileTest : public ::testing::Test {
protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "sinter-XXXXXX";
    folder = mkdtemp(pattern.data());
    path = folder + "/model.sinter";
    ASSERT_TRUE(writeExecutable(path, smallModel().build()));
    std::ifstream file(path, std::ios::binary);
    std::string text(std::istreambuf_iterator<char>(file), {});
    auto view = std::as_bytes(std::span(text));
    bytes.assign(view.begin(), view.end());
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::string folder, path;
  std::vector<std::byte> bytes;
};

TEST_F(FileTest, LoadsWhatWasWritten) {
  auto executable = Executable::open(path);
  ASSERT_TRUE(executable) << executable.error().message();
  EXPECT_NE((*executable)->program("run"), nullptr);
  EXPECT_EQ((*executable)->program("walk"), nullptr);
  EXPECT_TRUE(Executable::fromFile(bytes, "copy"));
}

TEST_F(FileTest, EveryTruncationIsNoticed) {
  for (size_t size = 0; size < bytes.size(); ++size)
    ASSERT_FALSE(Executable::fromFile(std::span(bytes).first(size), "cut")) << size;
}

TEST_F(FileTest, EveryFlippedBitIsNoticed) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::byte flip{static_cast<uint8_t>(1 << i % 8)};
    bytes[i] ^= flip;
    ASSERT_FALSE(Executable::fromFile(bytes, "flipped")) << i;
    bytes[i] ^= flip;
  }
}

TEST_F(FileTest, TrailingBytesAreNoticed) {
  bytes.push_back(std::byte(0));
  auto loaded = Executable::fromFile(bytes, "long");
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().message().find("is damaged"), std::string::npos);
}

TEST_F(FileTest, MessagesSayWhatIsWrong) {
  auto message = [&] { return Executable::fromFile(bytes, "m.sinter").error().message(); };
  constexpr uint32_t another = executableVersion + 1;
  bytes[8] = std::byte(another);
  std::string version = "m.sinter: has version " + std::to_string(another) + " of the format";
  std::string reads =
      "; this Sinter reads version " + std::to_string(executableVersion) +
      "; compile the model again with this Sinter: sinter compile MODEL -o m.sinter";
  EXPECT_EQ(message(), version + ", written by sinter test" + reads);
  // Where the writer is not found, the version is said alone; nothing outside the file is read.
  std::vector<std::byte> whole = bytes;
  for (size_t i = executableHeaderBytes; i < whole.size(); ++i)
    for (uint8_t flip : {0x01, 0x80, 0xff}) {
      bytes[i] ^= std::byte(flip);
      EXPECT_TRUE(message().starts_with(version)) << i;
      bytes[i] = whole[i];
    }
  for (size_t size = executableHeaderBytes; size < whole.size(); ++size) {
    bytes.assign(whole.begin(), whole.begin() + size);
    EXPECT_TRUE(message().starts_with(version)) << size;
  }
  bytes.resize(executableHeaderBytes + 4, std::byte(0xff));
  EXPECT_EQ(message(), version + reads);
  bytes = whole;
  bytes[8] = std::byte(executableVersion);
  bytes[200] ^= std::byte(1);
  EXPECT_EQ(message(), "m.sinter: is damaged: its content does not match its checksum; copy or "
                       "compile it again");
  bytes[0] = std::byte('{');
  EXPECT_EQ(message(), "m.sinter: is not a Sinter executable; give a file that 'sinter compile' "
                       "wrote");
}

TEST_F(FileTest, AbsentFile) {
  EXPECT_FALSE(Executable::open(folder + "/absent.sinter"));
  EXPECT_FALSE(Executable::open(folder));
}

// What the checksum cannot see: damage made before it was computed.
TEST_F(FileTest, VerifierSurvivesEveryFlippedByte) {
  std::vector<std::byte> flatbuffer = smallModel().build();
  size_t accepted = 0;
  for (size_t i = 0; i < flatbuffer.size(); ++i)
    for (uint8_t flip : {0x01, 0x80, 0xff}) {
      flatbuffer[i] ^= std::byte(flip);
      accepted += Executable::fromFlatbuffer(flatbuffer, "flipped").has_value();
      flatbuffer[i] ^= std::byte(flip);
    }
  EXPECT_LT(accepted, flatbuffer.size() * 3);
  for (size_t size = 0; size < flatbuffer.size(); size += 3)
    (void)Executable::fromFlatbuffer(std::span(flatbuffer).first(size), "cut");
}

TEST(ExecutableTest, AcceptsTheSmallModel) {
  auto loaded = smallModel().load();
  EXPECT_TRUE(loaded) << loaded.error().message();
}

TEST(ExecutableTest, OtherVersion) {
  Parts parts = smallModel();
  parts.version = 1;
  expectError(parts, "has version 1 of the format, this Sinter reads " +
                         std::to_string(executableVersion));
}

TEST(ExecutableTest, KernelsAndTables) {
  Parts parts = smallModel();
  for (uint64_t outside : {uint64_t(7), uint64_t(192), ~uint64_t(0)}) {
    parts.entries = {outside};
    expectError(parts, "kernel 'double' has its entry outside of the code");
  }
  for (uint64_t other : {8, 63, 65}) {
    parts.entries = {other};
    expectError(parts, "kernel 'double' has an entry where the code has none of it");
  }
  parts = smallModel();
  parts.kernels = {"double", "double"};
  expectError(parts, "kernel 'double' appears twice");
  parts = smallModel();
  parts.checkpoint[0].shape = {int64_t(1) << 40, int64_t(1) << 40};
  expectError(parts, "tensor 'w.weight' has no possible type and shape");
  parts.checkpoint[0].shape = {-1, 4};
  expectError(parts, "tensor 'w.weight' has no possible type and shape");
  parts = smallModel();
  for (Initializer bad : {Initializer{NAN, 1}, Initializer{0, -1}, Initializer{0, HUGE_VAL}}) {
    parts.checkpoint[1].initializer = bad;
    expectError(parts, "tensor 'w.bias' has no possible mean and deviation");
  }
  parts = smallModel();
  parts.checkpoint[1].name = "w.weight";
  expectError(parts, "tensor 'w.weight' appears twice");
  parts = smallModel();
  parts.programs.push_back(parts.programs[1]);
  expectError(parts, "two programs of this name");
  parts = smallModel();
  parts.parameterBytes = ~uint64_t(0);
  expectError(parts, "asks for 18446744073709551615 bytes of weights, of which it uses 16664");
  parts = smallModel();
  parts.programs[1].arenaBytes += 4096;
  expectError(parts, "program 'run': asks for 5192 bytes of arena, of which it uses 904");
  parts = smallModel();
  parts.tune = true;
  expectError(parts, "is to be tuned, which is for GPUs");
  parts = smallModel();
  parts.kernelPrograms = {{"source", {}}};
  expectError(parts, "has kernels of the other device");
}

TEST(ExecutableTest, Bindings) {
  Parts parts = smallModel();
  parts.programs[1].inputs[0].shape = {3, 21};
  expectError(parts, "binding 'x' has a shape that is not its slice's size");
  parts = smallModel();
  parts.programs[1].outputs[0].slice = slice(Space::Arena, 0, 3 * 70 * 4);
  expectError(parts, "binding 'y' lies in the wrong space");
  parts = smallModel();
  parts.states = {{"cache", fb::DType::F32, {4}, slice(Space::State, 0, 16)}};
  expectError(parts, "binding 'cache' [0, +16) leaves its space of 0 bytes");
  parts.stateBytes = 16;
  EXPECT_TRUE(parts.load());
}

TEST(ExecutableTest, BindingsDoNotOverlap) {
  Parts parts = smallModel();
  std::vector<Parts::Tensor> &inputs = parts.programs[1].inputs;
  inputs.push_back({"z", fb::DType::F32, {1}, slice(Space::Input, 236, 4)});
  expectError(parts, "binding 'z' overlaps 'x'");
  inputs.back() = {"z", fb::DType::F32, {0}, slice(Space::Input, 236, 0)};
  EXPECT_TRUE(parts.load());
}

TEST(ExecutableTest, TextsAreLines) {
  auto refused = [](auto change, std::string_view part) {
    Parts parts = smallModel();
    change(parts);
    expectError(parts, part);
  };
  refused([](Parts &p) { p.programs[1].commands[0].label = "a\nb"; }, "a label that is no text");
  refused([](Parts &p) { p.programs[1].commands[0].layer = "\xff"; }, "a layer that is no text");
  refused([](Parts &p) { p.programs[1].commands[0].label.assign(1 << 17, 'a'); },
          "a label of 131072 characters");
  refused([](Parts &p) { p.kernels[0] = "\x7f"; }, "a kernel's name that is no text of one line");
  refused([](Parts &p) { p.programs[1].inputs[0].name = "\x01"; }, "a binding's name that is no");
  refused([](Parts &p) { p.checkpoint[0].name = "\xc3"; }, "a tensor's name that is no text");
  refused([](Parts &p) { p.metadata = {{"a", "\t"}}; }, "a value that is no text");
  refused([](Parts &p) { p.programs[1].name = "\x1b[2J"; }, "a program's name that is no text");
}

// Machine code runs only as it was made to: with the slices of its sizes, and over its grid.
TEST(ExecutableTest, LaunchesAreThoseOfTheirKernels) {
  fb::Slice product = slice(Space::Arena, 64, 840), y = slice(Space::Output, 0, 840);
  fb::Slice half = slice(Space::Output, 0, 420);
  const Parts::Command others[] = {launch(0, 4, {product, y}),
                                   launch(0, 3, {product, half}),
                                   launch(0, 3, {product}),
                                   launch(0, 3, {product, y, y}),
                                   launch(0, 3, {product, y}, "", "", {fb::DType::F32}),
                                   launch(0, 0, {product, y})};
  for (const Parts::Command &other : others) {
    Parts parts = smallModel();
    parts.programs[1].commands.push_back(other);
    expectError(parts, "launches kernel 'double' otherwise than it was made for");
  }
  Parts parts = smallModel();
  parts.programs[1].commands.push_back(launch(0, 3, {y, product}));
  EXPECT_TRUE(parts.load());
  parts.fingerprints = {{0, 1}};
  expectError(parts, "launches kernel 'double' otherwise than it was made for");
  // Nothing launches it.
  parts.programs[1].commands.resize(1);
  EXPECT_TRUE(parts.load());
}

TEST(ExecutableTest, PreprocessHasNoInputs) {
  Parts parts = smallModel();
  parts.programs[0].inputBytes = 280;
  parts.programs[0].commands[1] =
      copy(slice(Space::Input, 0, 280), slice(Space::Parameter, 16384, 280));
  expectError(parts, "source [0, +280) leaves its space of 0 bytes");
}

// Replaces a command of "run" and expects an error about it.
void expectCommandError(Parts::Command command, std::string_view part) {
  Parts parts = smallModel();
  parts.stateBytes = 4096;
  parts.constants.resize(100);
  parts.programs[1].commands[1] = std::move(command);
  expectError(parts, part);
}

TEST(ExecutableTest, Launches) {
  fb::Slice arena = slice(Space::Arena, 0, 64);
  expectCommandError(launch(2, 1, {}), "launches kernel 2, which does not exist");
  expectCommandError(launch(0, uint64_t(1) << 60, {}), "has a grid of");
  expectCommandError(launch(0, 1, {arena, slice(Space::Arena, 1 << 20, 64)}, "bad"),
                     "program 'run', command 1 (bad): slice 1 [1048576, +64) leaves its space");
  expectCommandError(launch(0, 1, {slice(Space::Arena, ~uint64_t(0) - 3, 64)}), "leaves its space");
  expectCommandError(launch(0, 1, {slice(Space::Constant, 99, 2)}), "leaves its space of 100");
  expectCommandError(launch(0, 1, {slice(Space::Checkpoint, 0, 4, 0)}), "does not exist here");
  expectCommandError(launch(0, 1, {arena}, "k", "", {fb::DType::F32, fb::DType::F32}),
                     "more outputs than slices");
  expectCommandError(launch(0, 1, {arena}, "k", "", {static_cast<fb::DType>(99)}), "no known type");
  expectCommandError(launch(0, 1, {slice(Space::Input, 0, 4)}, "k", "", {fb::DType::F32}),
                     "slice 0 lies in a space that is only read here");
  expectCommandError(launch(0, 1, {slice(Space::Arena, 0, 4, 1)}), "slice 0 is of tensor 1 of a");
}

TEST(ExecutableTest, CopiesAndFills) {
  fb::Slice a = slice(Space::Arena, 0, 64), b = slice(Space::Arena, 32, 64);
  expectCommandError(copy(a, b), "copies between slices that overlap");
  expectCommandError(copy(a, slice(Space::Arena, 64, 60)), "slices of different sizes");
  expectCommandError(copy(a, slice(Space::Parameter, 0, 64)), "out lies in a space that is only");
  expectCommandError(fill(slice(Space::Input, 0, 4), 0), "out lies in a space that is only read");
  expectCommandError(fill(slice(Space::Constant, 0, 4), 0), "out lies in a space that is only");
}

TEST(ExecutableTest, Stages) {
  Parts::Command moved = copy(slice(Space::Arena, 0, 64), slice(Space::Arena, 64, 64));
  moved.stage = static_cast<fb::Stage>(4);
  expectCommandError(moved, "is of an unknown stage");
}

TEST(ExecutableTest, Packs) {
  uint64_t panels = PackedRhs{20, 70, DType::F32}.getBytes();
  Parts model = smallModel();
  auto expect = [&](auto change, std::string_view part) {
    PackParts parts{20,
                    70,
                    slice(Space::Parameter, 0, panels),
                    {{slice(Space::Checkpoint, 0, 5600, 0), 70, 20}}};
    change(parts);
    Parts changed = model;
    changed.programs[0].commands[0] = pack(parts);
    expectError(changed, part);
  };
  expect([](PackParts &p) { p.width = 48; }, "panels of an unknown layout");
  expect([](PackParts &p) { p.dtype = fb::DType::BF16; }, "panels of an unknown layout");
  expect(
      [](PackParts &p) {
        p.dtype = fb::DType::I8;
        p.interleave = p.depth = 3;
      },
      "panels of an unknown layout");
  expect(
      [](PackParts &p) {
        p.dtype = fb::DType::I8;
        p.interleave = 4;
        p.depth = 2;
      },
      "panels of an unknown layout");
  // Without room for the sums that fours of bytes end with.
  expect(
      [](PackParts &p) {
        p.dtype = p.sources[0].dtype = fb::DType::I8;
        p.interleave = p.depth = 4;
        p.out = slice(Space::Parameter, 0, 20 * 128);
      },
      "has not the size of panels of [20, 70]");
  expect([](PackParts &p) { p.sources[0].n = 69; }, "sources with 69 of its 70 columns");
  expect([](PackParts &p) { p.sources[0].n = 71; }, "more columns than it packs");
  expect([](PackParts &p) { p.sources.push_back(p.sources[0]); }, "more columns than it packs");
  expect([](PackParts &p) { p.sources[0].stride = 21; }, "a source is too small");
  expect([](PackParts &p) { p.sources.clear(); }, "sources with 0 of its 70 columns");
  expect([](PackParts &p) { p.sources[0].slice = slice(Space::Checkpoint, 0, 4, 2); },
         "a source lies in a space that does not exist here");
}

TEST(ExecutableTest, Metadata) {
  Parts parts = smallModel();
  parts.metadata = {{"vocab_size", "50257"}, {"eos_token_ids", "1,22"}, {"name", "x1"}};
  auto executable = *parts.load();
  EXPECT_EQ(executable->metadataNumber("vocab_size").value(), 50257);
  EXPECT_EQ(executable->metadataNumbers("eos_token_ids").value(), (std::vector<int64_t>{1, 22}));
  EXPECT_TRUE(executable->metadataNumbers("absent").value().empty());
  EXPECT_FALSE(executable->metadataNumber("absent"));
  EXPECT_FALSE(executable->metadataNumber("eos_token_ids"));
  EXPECT_FALSE(executable->metadataNumber("name"));
  for (const char *none : {"0", "-3", "2147483648"}) {
    parts.metadata = {{"batch", none}};
    EXPECT_EQ((*parts.load())->metadataNumber("batch").error().message(),
              "test.sinter: its 'batch' is " + std::string(none) +
                  ", which is no count; compile the model again");
  }
}

} // namespace
