#include "runtime/Checkpoint/BoxFiles.h"
#include "test/unit/Weights/TestFiles.h"
#include <gtest/gtest.h>
#include <numeric>

using namespace sinter;
using namespace sinter::runtime;
using sinter::test::TemporaryDirectory;

namespace {

TEST(TensorBox, Intersects) {
  TensorBox a{{0, 2}, {4, 4}}, b{{3, 0}, {4, 3}};
  EXPECT_EQ(intersect(a, b), (TensorBox{{3, 2}, {1, 1}}));
  EXPECT_EQ(intersect(a, TensorBox{{4, 2}, {4, 4}}), std::nullopt);
  EXPECT_EQ(intersect(TensorBox{}, TensorBox{}), TensorBox{}); // a scalar
  EXPECT_EQ(a.describe(), "[0:4, 2:6]");
}

TEST(TensorBox, CopiesWhatIsInBoth) {
  // Element (i, j, k) of a [5, 4, 3] tensor is its index.
  std::vector<int32_t> whole(60);
  std::iota(whole.begin(), whole.end(), 0);
  TensorBox all = makeWholeBox({5, 4, 3});
  for (const TensorBox &box :
       {all, TensorBox{{1, 0, 0}, {2, 4, 3}}, TensorBox{{0, 1, 0}, {5, 2, 3}},
        TensorBox{{2, 1, 1}, {3, 3, 1}}, TensorBox{{4, 3, 2}, {1, 1, 1}}}) {
    TensorBox larger = box; // with a margin, which stays
    larger.shape[1] += 2;
    std::vector<int32_t> out(larger.getElements(), -1);
    copyBox(box, all, std::as_bytes(std::span(whole)), larger,
            std::as_writable_bytes(std::span(out)), 4);
    for (int64_t i = 0; i < larger.shape[0]; ++i)
      for (int64_t j = 0; j < larger.shape[1]; ++j)
        for (int64_t k = 0; k < larger.shape[2]; ++k) {
          int64_t element = ((box.offset[0] + i) * 4 + box.offset[1] + j) * 3 + box.offset[2] + k;
          EXPECT_EQ(out[size_t((i * larger.shape[1] + j) * larger.shape[2] + k)],
                    j < box.shape[1] ? element : -1)
              << box.describe();
        }
  }
}

TEST(TensorBox, NamesHolesAndOverlaps) {
  auto check = [](std::vector<TensorBox> boxes) {
    auto checked = checkCover(makeWholeBox({4, 6}), boxes, "tensor 'w'");
    return checked ? "" : checked.error().message();
  };
  TensorBox top{{0, 0}, {1, 6}}, left{{1, 0}, {3, 2}}, right{{1, 2}, {3, 4}};
  EXPECT_EQ(check({top, left, right}), "");
  EXPECT_EQ(check({right, top, left}), "");
  EXPECT_EQ(check({top, right}),
            "tensor 'w': its part [1:4, 0:2] is missing; use another checkpoint");
  EXPECT_EQ(check({top, left, right, {{3, 5}, {1, 1}}}),
            "tensor 'w': elements of its part [3:4, 5:6] are there twice; use another checkpoint");
  EXPECT_EQ(check({}), "tensor 'w': its part [0:4, 0:6] is missing; use another checkpoint");
}

/// A checkpoint of files that are written by hand.
struct BoxFilesTest : ::testing::Test {
  TemporaryDirectory directory;
  CheckpointFolder folder{directory.path};
  std::vector<float> numbers = std::vector<float>(24, 1.0f);

  /// A row of numbers that is `rows` rows of [6, 4] from `first` on.
  BoxToWrite rows(int64_t first, int64_t count, const std::string &name = "w") const {
    return {
        {name, DType::F32, {count, 4}, std::as_bytes(std::span(numbers)).first(size_t(count) * 16)},
        name,
        {6, 4},
        {first, 0}};
  }

  void write(const std::vector<SnapshotFile> &files) const {
    auto snapshot = Snapshot::plan(files);
    ASSERT_TRUE(snapshot) << snapshot.error().message();
    ASSERT_TRUE(folder.write(1, snapshot->getLive()));
  }

  std::string errorOf() const {
    auto opened = BoxFiles::open(folder.at(1), "optimizer.safetensors");
    return opened ? "" : opened.error().message();
  }

  /// Writes a file of one tensor with these metadata.
  void writeBoxes(const std::string &boxes) const {
    SnapshotFile file = makeBoxFile("optimizer.safetensors", std::vector{rows(0, 3)}, 0, 2);
    file.metadata["boxes"] = boxes;
    write({file});
  }
};

TEST_F(BoxFilesTest, ReadsAnyBoxOfWhatOthersWrote) {
  std::iota(numbers.begin(), numbers.end(), 0.0f);
  auto part = [&](int64_t first, int64_t count) { // of 24 consecutive numbers
    BoxToWrite box = rows(first, count);
    box.tensor.data = std::as_bytes(std::span(numbers)).subspan(size_t(first) * 16);
    box.tensor.data = box.tensor.data.first(std::min(box.tensor.data.size(), size_t(count) * 16));
    return box;
  };
  for (bool together : {true, false}) {
    std::vector<SnapshotFile> files = {
        makeBoxFile("optimizer.safetensors", std::vector{part(0, 2)}, 0, 3),
        makeBoxFile("optimizer.safetensors", std::vector{part(2, 2)}, 1, 3),
        makeBoxFile("optimizer.safetensors", std::vector{part(4, 2)}, 2, 3)};
    EXPECT_EQ(files[1].name, "optimizer-00002-of-00003.safetensors");
    if (together)
      files = {makeBoxFile("optimizer.safetensors", std::vector{part(0, 6)}, 0, 1)};
    write(files);
    auto opened = BoxFiles::open(folder.at(1), "optimizer.safetensors");
    ASSERT_TRUE(opened) << opened.error().message();
    EXPECT_FALSE(opened->checkAllRead());
    // Four rows a rank, of which the second one's last two are padding.
    std::vector<float> out(16, -1);
    ASSERT_TRUE(opened->read("w", DType::F32, {6, 4}, {{4, 0}, {4, 4}},
                             std::as_writable_bytes(std::span(out))));
    for (size_t i = 0; i < 16; ++i)
      EXPECT_EQ(out[i], i < 8 ? float(16 + i) : -1);
    // By columns.
    out.assign(12, -1);
    ASSERT_TRUE(opened->read("w", DType::F32, {6, 4}, {{0, 2}, {6, 2}},
                             std::as_writable_bytes(std::span(out))));
    for (size_t i = 0; i < 12; ++i)
      EXPECT_EQ(out[i], float(i / 2 * 4 + 2 + i % 2));
    EXPECT_TRUE(opened->checkAllRead());
    auto other = opened->read("w", DType::F32, {4, 6}, {{0, 0}, {4, 6}}, {});
    ASSERT_FALSE(other);
    EXPECT_NE(other.error().message().find("is F32 [6, 4], this model has F32 [4, 6]"),
              std::string::npos);
    EXPECT_FALSE(opened->read("v", DType::F32, {6, 4}, {{0, 0}, {4, 6}}, {}));
  }
}

TEST_F(BoxFilesTest, AFileHasSeveralBoxesOfATensor) {
  std::iota(numbers.begin(), numbers.end(), 0.0f);
  BoxToWrite first = rows(0, 2, "w[0:2, 0:4]"), last = rows(2, 4, "w[2:6, 0:4]");
  first.of = last.of = "w";
  write({makeBoxFile("optimizer.safetensors", std::vector{first, last}, 0, 2)});
  auto opened = BoxFiles::open(folder.at(1), "optimizer.safetensors");
  ASSERT_TRUE(opened) << opened.error().message();
  std::vector<float> out(24, -1);
  ASSERT_TRUE(opened->read("w", DType::F32, {6, 4}, {{0, 0}, {6, 4}},
                           std::as_writable_bytes(std::span(out))));
  for (size_t i = 0; i < 24; ++i)
    EXPECT_EQ(out[i], float(i < 8 ? i : i - 8));
  EXPECT_TRUE(opened->checkAllRead());
}

TEST_F(BoxFilesTest, HolesAndOverlapsNameTensorAndBox) {
  write({makeBoxFile("optimizer.safetensors", std::vector{rows(0, 3)}, 0, 2),
         makeBoxFile("optimizer.safetensors", std::vector{rows(4, 2)}, 1, 2)});
  EXPECT_EQ(errorOf(), (folder.at(1) / "optimizer-*.safetensors").string() +
                           ": tensor 'w': its part [3:4, 0:4] is missing; use another checkpoint");
  write({makeBoxFile("optimizer.safetensors", std::vector{rows(0, 3)}, 0, 2),
         makeBoxFile("optimizer.safetensors", std::vector{rows(2, 4)}, 1, 2)});
  EXPECT_NE(errorOf().find("tensor 'w': elements of its part [2:6, 0:4] are there twice"),
            std::string::npos)
      << errorOf();
  // What only a part of the writers left.
  write({makeBoxFile("model.safetensors", std::vector{rows(0, 6)}, 0, 2)});
  EXPECT_NE(errorOf().find("optimizer.safetensors: is missing"), std::string::npos);
}

TEST_F(BoxFilesTest, RefusesWhatIsNoBox) {
  for (const char *boxes :
       {"", "[]", "{}", R"({"w":1})", R"({"w":{}})", R"({"w":{"whole":[6,4]}})",
        R"({"w":{"whole":[6,4],"offset":[0]}})", R"({"w":{"whole":[6,4,1],"offset":[0,0,0]}})",
        R"({"w":{"whole":[6,4],"offset":[-1,0]}})", R"({"w":{"whole":[6,4],"offset":[7,0]}})",
        R"({"w":{"whole":[6,4],"offset":[0.5,0]}})",
        R"({"w":{"whole":[6,4],"offset":[0,0],"tensor":1}})",
        R"({"w":{"whole":[4611686018427387904,4],"offset":[0,0]}})",
        R"({"w":{"whole":[4294967296,4294967296],"offset":[0,0]}})"}) {
    writeBoxes(boxes);
    EXPECT_NE(errorOf().find("tensor 'w': its"), std::string::npos) << boxes << ": " << errorOf();
  }
  writeBoxes(R"({"w":{"whole":[3,4],"offset":[0,0]}})");
  EXPECT_EQ(errorOf(), "");
}

} // namespace
