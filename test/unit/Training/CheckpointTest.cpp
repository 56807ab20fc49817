#include "runtime/Base/AtomicFile.h"
#include "runtime/Base/ContentHash.h"
#include "runtime/Checkpoint/CheckpointWriter.h"
#include "runtime/Checkpoint/Manifest.h"
#include "runtime/Checkpoint/Snapshot.h"
#include "runtime/Train/RunState.h"
#include "test/unit/Training/FileSizeLimit.h"
#include "test/unit/Weights/TestFiles.h"
#include <cstring>

using namespace sinter;
using namespace sinter::runtime;
using namespace sinter::runtime::testing;
using sinter::test::bytesOf;
using sinter::test::TemporaryDirectory;
namespace fs = std::filesystem;

namespace {

std::string readFile(const fs::path &path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::vector<uint64_t> stepsIn(const CheckpointFolder &folder) {
  std::vector<uint64_t> steps;
  for (const CheckpointEntry &entry : folder.list())
    steps.push_back(entry.step);
  return steps;
}

using Steps = std::vector<uint64_t>;

TEST(Manifest, ReadsWhatItWrites) {
  Manifest manifest;
  manifest.files["state.json"] = {7, std::string(32, 'a')};
  manifest.files["model.safetensors"] = {uint64_t(1) << 40, std::string(32, '0')};
  auto read = Manifest::parse(manifest.toJson(), "m");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->files, manifest.files);
}

TEST(Manifest, RefusesWhatIsNone) {
  std::string hash = "\"xxh3\":\"" + std::string(32, 'a') + "\"";
  auto entry = [&](const std::string &name, const std::string &fields) {
    return R"({"format":1,"files":{")" + name + "\":{" + fields + "}}}";
  };
  EXPECT_TRUE(Manifest::parse(entry("a", "\"bytes\":1," + hash), "m"));
  for (const std::string &bad :
       {std::string(), std::string("[]"), std::string("{\"format\":1}"),
        std::string("{\"format\":2,\"files\":{}}"), std::string("{\"format\":1,\"files\":[]}"),
        entry("", "\"bytes\":1," + hash), entry("../a", "\"bytes\":1," + hash),
        entry("a/b", "\"bytes\":1," + hash), entry(".", "\"bytes\":1," + hash),
        entry("a", "\"bytes\":-1," + hash), entry("a", "\"bytes\":1.5," + hash), entry("a", hash),
        entry("a", "\"bytes\":1"), entry("a", "\"bytes\":1,\"xxh3\":\"abc\"")}) {
    auto read = Manifest::parse(bad, "m.json");
    ASSERT_FALSE(read) << bad;
    EXPECT_EQ(read.error().what, "m.json");
  }
}

RunState someState() {
  RunState state;
  state.step = 12;
  state.updates = 11;
  state.scaler = LossScalerState{0.1f, 3};
  state.options = {{"batch", "4"}, {"lr", "0.001"}};
  return state;
}

TEST(RunState, ReadsWhatItWrites) {
  for (bool scaled : {true, false}) {
    RunState state = someState();
    if (!scaled)
      state.scaler.reset();
    auto read = RunState::parse(state.toJson(), "s");
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->step, 12u);
    EXPECT_EQ(read->updates, 11u);
    EXPECT_EQ(read->scaler, state.scaler);
    EXPECT_EQ(read->options, state.options);
  }
}

TEST(RunState, RefusesWhatIsNone) {
  for (const char *bad :
       {"", "[]", R"({"format":2,"step":1,"updates":1,"options":{}})",
        R"({"format":1,"updates":1,"options":{}})", R"({"format":1,"step":-1,"updates":1})",
        R"({"format":1,"step":1,"updates":2,"options":{}})", R"({"format":1,"step":1,"updates":1})",
        R"({"format":1,"step":1,"updates":1,"options":{"a":1}})",
        R"({"format":1,"step":1,"updates":1,"options":{},"scaler":3})",
        R"({"format":1,"step":1,"updates":1,"options":{},"scaler":{"scale":1}})",
        R"({"format":1,"step":1,"updates":1,"options":{},"scaler":{"scale":-1,"count":1}})",
        R"({"format":1,"step":1,"updates":1,"options":{},"scaler":{"scale":1e99,"count":1}})"}) {
    auto read = RunState::parse(bad, "s.json");
    ASSERT_FALSE(read) << bad;
    EXPECT_EQ(read.error().what, "s.json");
  }
}

TEST(RunState, NamesTheOptionThatDiffers) {
  RunState state = someState();
  EXPECT_TRUE(state.checkOptions(state.options, {}, "c"));
  auto messageFor = [&](std::map<std::string, std::string> wanted) {
    auto checked = state.checkOptions(wanted, {}, "step-12");
    return checked ? "" : checked.error().message();
  };
  EXPECT_EQ(messageFor({{"batch", "8"}, {"lr", "0.001"}}),
            "step-12: `batch` was 4 when it was written and is 8 now; give the options of then, or "
            "begin anew in another `out`");
  EXPECT_NE(messageFor({{"batch", "4"}})
                .find("`lr` was 0.001 when it was written and is not "
                      "set now"),
            std::string::npos);
  EXPECT_NE(messageFor({{"batch", "4"}, {"lr", "0.001"}, {"x", "1"}})
                .find("`x` was not set when it was written and is 1 now"),
            std::string::npos);
  // What versions did in which it was no option.
  EXPECT_EQ(messageFor({{"batch", "4"}, {"lr", "0.001"}, {"fp8", "none"}, {"fp8_history", "16"}}),
            "");
  EXPECT_NE(messageFor({{"batch", "4"}, {"lr", "0.001"}, {"fp8", "history"}})
                .find("`fp8` was none when it was written and is history now"),
            std::string::npos);
  auto adjusted = state.checkOptions({{"batch", "4"}}, {{"lr", ""}, {"warmup", "3"}}, "c");
  ASSERT_TRUE(adjusted) << adjusted.error().message();
  ASSERT_EQ(adjusted->size(), 1u);
  EXPECT_EQ(adjusted->front().name + adjusted->front().was + adjusted->front().is, "lr0.001");
}

TEST(Snapshot, KeepsWhatWas) {
  ThreadPool pool(2);
  std::vector<float> weight(700'000, 1.5f), moment(3, 2.5f);
  auto bytes = [](std::vector<float> &values) { return std::as_bytes(std::span(values)); };
  std::vector<SnapshotFile> files = {
      {"model.safetensors", {{"w", DType::F32, {700, 1000}, bytes(weight)}}},
      {"optimizer.safetensors", {{"m", DType::F32, {3}, bytes(moment)}}}};
  auto snapshot = Snapshot::plan(files);
  ASSERT_TRUE(snapshot);
  EXPECT_GE(snapshot->getBytes(), 700'003u * 4);
  EXPECT_LE(snapshot->getBytes(), 700'003u * 4 + 4 * 4096);
  for (float value : {3.0f, 4.0f}) {
    std::fill(weight.begin(), weight.end(), value);
    ASSERT_TRUE(snapshot->capture(pool));
    std::fill(weight.begin(), weight.end(), 0.0f);
    std::vector<CheckpointFile> images = snapshot->getCaptured();
    ASSERT_EQ(images.size(), 2u);
    EXPECT_EQ(images[1].name, "optimizer.safetensors");
    for (const CheckpointFile &image : images) {
      ASSERT_EQ(image.parts.size(), 1u);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(image.parts[0].data()) % 4096, 0u);
    }
    auto read = readSafetensors(images[0].parts[0], "image");
    ASSERT_TRUE(read) << read.error().message();
    ASSERT_EQ((*read)[0].name, "w");
    std::vector<float> kept(weight.size());
    std::memcpy(kept.data(), (*read)[0].data.data(), kept.size() * 4);
    EXPECT_EQ(kept, std::vector<float>(weight.size(), value));
  }
}

TEST(Snapshot, LiveFilesAreTheCapturedOnes) {
  ThreadPool pool(2);
  std::vector<float> a(5, 1.5f), b(7, 2.5f);
  std::vector<SnapshotFile> files = {{"f",
                                      {{"b", DType::F32, {7}, std::as_bytes(std::span(b))},
                                       {"a", DType::F32, {5}, std::as_bytes(std::span(a))}}},
                                     {"g", {}}};
  auto snapshot = Snapshot::plan(files);
  ASSERT_TRUE(snapshot);
  ASSERT_TRUE(snapshot->capture(pool));
  std::vector<CheckpointFile> captured = snapshot->getCaptured(), live = snapshot->getLive();
  ASSERT_EQ(live.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    std::vector<std::byte> joined;
    for (std::span<const std::byte> part : live[i].parts)
      joined.insert(joined.end(), part.begin(), part.end());
    EXPECT_EQ(live[i].name, captured[i].name);
    EXPECT_TRUE(std::ranges::equal(joined, captured[i].parts[0]));
  }
}

TEST(Snapshot, TensorsElsewhereAreReadToMemoryThatIsGiven) {
  ThreadPool pool(1);
  std::vector<SnapshotFile> files = {
      {"f", {{"w", DType::F32, {2}, {}}, {"v", DType::F32, {1}, {}}}}};
  auto snapshot = Snapshot::plan(files);
  ASSERT_TRUE(snapshot);
  std::vector<std::byte> memory(snapshot->getBytes());
  snapshot->useMemory(memory);
  std::vector<TensorCopy> asked;
  ASSERT_TRUE(snapshot->capture(pool, [&](std::span<const TensorCopy> copies) -> Expected<void> {
    asked.assign(copies.begin(), copies.end());
    return {};
  }));
  std::vector<CheckpointFile> captured = snapshot->getCaptured();
  EXPECT_EQ(captured[0].parts[0].data(), memory.data());
  for (const TensorCopy &copy : asked) // later than capture()
    std::fill(copy.out.begin(), copy.out.end(), std::byte(copy.name == "w" ? 1 : 2));
  auto read = readSafetensors(captured[0].parts[0], "image");
  ASSERT_TRUE(read) << read.error().message();
  ASSERT_EQ(read->size(), 2u);
  for (const Tensor &tensor : *read)
    EXPECT_EQ(tensor.data[0], std::byte(tensor.name == "w" ? 1 : 2));
  EXPECT_FALSE(snapshot->capture(pool, [](std::span<const TensorCopy>) {
    return fail("the GPU", "it is lost", "restart it");
  }));
}

TEST(Snapshot, RefusesTwoTensorsOfOneName) {
  std::vector<SnapshotFile> files = {
      {"f", {{"w", DType::F32, {0}, {}}, {"w", DType::F32, {0}, {}}}}};
  auto snapshot = Snapshot::plan(files);
  ASSERT_FALSE(snapshot);
  EXPECT_NE(snapshot.error().message().find("two tensors are named 'w'"), std::string::npos);
}

// Files that begin on a page go another way to the disk, whatever their length.
TEST(WriteFileSynced, WritesEveryLength) {
  TemporaryDirectory directory;
  std::vector<std::byte> storage((size_t(33) << 20) + 4096);
  for (size_t i = 0; i < storage.size(); ++i)
    storage[i] = static_cast<std::byte>(i * 2654435761u >> 13);
  void *page = storage.data();
  size_t space = storage.size();
  std::align(4096, size_t(33) << 20, page, space);
  auto *begin = static_cast<const std::byte *>(page);
  int number = 0;
  for (size_t size : {size_t(0), size_t(5), size_t(4096), size_t(1) << 20, (size_t(1) << 20) + 1,
                      (size_t(33) << 20) - 4095})
    for (size_t shift : {0, 64}) {
      std::span<const std::byte> content(begin + shift, size - std::min(size, shift));
      std::string path = (directory.path / std::to_string(number++)).string();
      ASSERT_TRUE(writeFileSynced(path, std::span(&content, 1)));
      std::string read = readFile(path);
      EXPECT_TRUE(std::ranges::equal(bytesOf(read), content)) << size << " " << shift;
    }
}

TEST(WriteFileSynced, TakesNoFileThatIsThere) {
  TemporaryDirectory directory;
  std::string path = directory.write("a", "old");
  std::span<const std::byte> content = bytesOf(path);
  EXPECT_FALSE(writeFileSynced(path, std::span(&content, 1)));
  EXPECT_EQ(readFile(path), "old");
}

struct CheckpointFolderTest : ::testing::Test {
  TemporaryDirectory directory;
  CheckpointFolder folder{directory.path / "checkpoints"};
  std::string model = std::string(1000, 'm'), state = "state";
  std::vector<CheckpointFile> files = {
      {"model", {bytesOf(model).first(10), bytesOf(model).subspan(10)}},
      {"state", {bytesOf(state)}}};
  std::vector<std::string> damaged;

  void SetUp() override { ASSERT_TRUE(folder.open()); }

  fs::path at(const std::string &name) const { return directory.path / "checkpoints" / name; }

  std::optional<uint64_t> newest() {
    damaged.clear();
    auto entry =
        folder.findNewestWhole([&](const Error &error) { damaged.push_back(error.message()); });
    return entry ? std::optional(entry->step) : std::nullopt;
  }
};

TEST_F(CheckpointFolderTest, WritesWholeOnes) {
  EXPECT_EQ(newest(), std::nullopt);
  for (uint64_t step : {8, 9, 10, 100})
    ASSERT_TRUE(folder.write(step, files));
  EXPECT_EQ(stepsIn(folder), (Steps{100, 10, 9, 8}));
  EXPECT_EQ(newest(), 100u);
  EXPECT_TRUE(damaged.empty());
  EXPECT_EQ(readFile(at("step-100/model")), model);
  auto manifest = Manifest::parse(readFile(at("step-100/manifest.json")), "m");
  ASSERT_TRUE(manifest);
  EXPECT_EQ(manifest->files["model"].bytes, 1000u);
  EXPECT_EQ(manifest->files["model"].hash, contentHash(bytesOf(model)));
}

TEST_F(CheckpointFolderTest, PassesOverDamagedOnes) {
  for (uint64_t step = 1; step <= 6; ++step)
    ASSERT_TRUE(folder.write(step, files));
  fs::remove(at("step-6/model"));
  fs::resize_file(at("step-5/model"), 999);
  std::string changed = model;
  changed[500] = 'x';
  std::ofstream(at("step-4/model"), std::ios::binary) << changed;
  fs::remove(at("step-3/manifest.json"));
  std::ofstream(at("step-2/manifest.json"), std::ios::binary) << "{";
  EXPECT_EQ(newest(), 1u);
  ASSERT_EQ(damaged.size(), 5u);
  for (const auto &[index, parts] :
       {std::pair(0, std::vector<std::string>{"step-6/model", "step-6 is passed over"}),
        std::pair(1, std::vector<std::string>{"it has 999 bytes, its manifest says 1000"}),
        std::pair(2, std::vector<std::string>{"step-4/model", "hash"}),
        std::pair(3, std::vector<std::string>{"step-3/manifest.json"}),
        std::pair(4, std::vector<std::string>{"step-2/manifest.json", "no manifest"})})
    for (const std::string &part : parts)
      EXPECT_NE(damaged[size_t(index)].find(part), std::string::npos) << damaged[size_t(index)];
}

TEST_F(CheckpointFolderTest, ReplacesADamagedOne) {
  ASSERT_TRUE(folder.write(5, files));
  fs::resize_file(at("step-5/model"), 1);
  ASSERT_TRUE(folder.write(5, files));
  EXPECT_EQ(newest(), 5u);
}

TEST_F(CheckpointFolderTest, KeepsTheNewest) {
  for (uint64_t step : {1, 2, 3, 4, 9})
    ASSERT_TRUE(folder.write(step, files));
  ASSERT_TRUE(folder.removeOld(4, 0));
  EXPECT_EQ(stepsIn(folder).size(), 5u);
  ASSERT_TRUE(folder.removeOld(4, 2)); // 9 is none of these
  EXPECT_EQ(stepsIn(folder), (Steps{9, 4, 3}));
}

TEST_F(CheckpointFolderTest, ClearsWhatAKilledProcessLeft) {
  ASSERT_TRUE(folder.write(1, files));
  for (const char *name : {".writing-step-2", ".removing-step-0", "mine"}) {
    fs::create_directory(at(name));
    std::ofstream(at(name) / "model") << "half";
  }
  std::ofstream(at("step-x")) << "no checkpoint";
  EXPECT_EQ(newest(), 1u);
  EXPECT_TRUE(damaged.empty());
  ASSERT_TRUE(folder.open());
  EXPECT_FALSE(fs::exists(at(".writing-step-2")));
  EXPECT_FALSE(fs::exists(at(".removing-step-0")));
  EXPECT_TRUE(fs::exists(at("mine")));
  EXPECT_TRUE(fs::exists(at("step-x")));
}

TEST_F(CheckpointFolderTest, FullDiskLosesNothing) {
  ASSERT_TRUE(folder.write(1, files));
  {
    FileSizeLimit limit(900);
    auto written = folder.write(2, files);
    ASSERT_FALSE(written);
    EXPECT_NE(written.error().message().find("step-2/model: cannot be written"), std::string::npos)
        << written.error().message();
  }
  EXPECT_FALSE(fs::exists(at(".writing-step-2")));
  EXPECT_EQ(stepsIn(folder), (Steps{1}));
  EXPECT_EQ(newest(), 1u);
  EXPECT_TRUE(folder.write(2, files));
  EXPECT_EQ(newest(), 2u);
}

TEST(CheckpointFolder, NamesAPlaceThatCannotBe) {
  TemporaryDirectory directory;
  fs::path file = directory.write("file", "");
  CheckpointFolder folder(file / "checkpoints");
  auto opened = folder.open();
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message().find("file/checkpoints"), std::string::npos);
  EXPECT_TRUE(folder.list().empty());
}

TEST_F(CheckpointFolderTest, WriterWritesBesideAndKeepsTheNewest) {
  CheckpointWriter writer(folder, 2);
  for (uint64_t step : {1, 2, 3}) {
    ASSERT_TRUE(writer.wait());
    writer.start(step, files);
  }
  ASSERT_TRUE(writer.wait());
  EXPECT_EQ(stepsIn(folder), (Steps{3, 2}));
}

TEST_F(CheckpointFolderTest, WriterWritesWhatIsReadyAndNothingElse) {
  CheckpointWriter writer(folder, 0);
  std::thread::id caller = std::this_thread::get_id(), asked;
  writer.start(1, files, [&]() -> Expected<void> {
    asked = std::this_thread::get_id();
    EXPECT_TRUE(stepsIn(folder).empty());
    return {};
  });
  ASSERT_TRUE(writer.wait());
  EXPECT_NE(asked, caller);
  EXPECT_EQ(stepsIn(folder), Steps{1});
  writer.start(2, files, [] { return fail("the GPU", "it is lost", "restart it"); });
  auto result = writer.wait();
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message().find("it is lost"), std::string::npos);
  EXPECT_EQ(stepsIn(folder), Steps{1});
}

TEST_F(CheckpointFolderTest, WriterFinishesBeforeItGoes) {
  {
    CheckpointWriter(folder, 0).start(1, files);
  }
  EXPECT_EQ(newest(), 1u);
}

TEST_F(CheckpointFolderTest, WriterTellsAnErrorOnce) {
  CheckpointWriter writer(folder, 2);
  {
    FileSizeLimit limit(900);
    writer.start(1, files);
    auto result = writer.wait();
    ASSERT_FALSE(result);
    EXPECT_NE(result.error().message().find("cannot be written"), std::string::npos);
  }
  EXPECT_TRUE(writer.wait());
  writer.start(2, files);
  EXPECT_TRUE(writer.wait());
  EXPECT_EQ(stepsIn(folder), (Steps{2}));
}

} // namespace
