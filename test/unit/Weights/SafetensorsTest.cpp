#include "runtime/Weights/Safetensors.h"
#include "test/unit/Weights/TestFiles.h"

using namespace sinter;
using namespace sinter::test;

namespace {

std::string errorOf(const std::string &file) {
  auto tensors = readSafetensors(bytesOf(file), "w");
  return tensors ? "" : tensors.error().message();
}

const std::string goodHeader =
    R"({"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[2],"data_offsets":[24,28]},)"
    R"("a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})";

TEST(Safetensors, ReadsTensorsInTheOrderOfTheData) {
  std::string file = safetensors(goodHeader, std::string(24, 'x') + "yyyy");
  auto tensors = readSafetensors(bytesOf(file), "w", 3);
  ASSERT_TRUE(tensors) << tensors.error().message();
  ASSERT_EQ(tensors->size(), 2u);
  const Tensor &a = (*tensors)[0], &b = (*tensors)[1];
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.dtype, DType::F32);
  EXPECT_EQ(a.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(a.file, 3u);
  EXPECT_EQ(b.dtypeName, "BF16");
  EXPECT_EQ(b.offset, file.size() - 4);
  EXPECT_EQ(std::to_integer<char>(b.data[0]), 'y');
}

TEST(Safetensors, ReadsScalarsEmptyTensorsAndTypesWithoutUse) {
  std::string file = safetensors(R"({"s":{"dtype":"F32","shape":[],"data_offsets":[1,5]},)"
                                 R"("z":{"dtype":"F32","shape":[0,9],"data_offsets":[1,1]},)"
                                 R"("m":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]}})",
                                 "12345");
  auto tensors = readSafetensors(bytesOf(file), "w");
  ASSERT_TRUE(tensors) << tensors.error().message();
  EXPECT_EQ((*tensors)[0].dtype, std::nullopt);
  EXPECT_FALSE((*tensors)[0].isFloat());
  EXPECT_EQ((*tensors)[1].name, "z");
  EXPECT_EQ((*tensors)[2].data.size(), 4u);
}

TEST(Safetensors, AcceptsPaddingAfterTheHeader) { EXPECT_EQ(errorOf(safetensors("{}   ")), ""); }

TEST(Safetensors, RefusesEveryTruncation) {
  std::string file = safetensors(goodHeader, std::string(28, 'x'));
  for (size_t size = 0; size < file.size(); ++size)
    EXPECT_NE(errorOf(file.substr(0, size)), "") << size;
}

TEST(Safetensors, RefusesHeaderBeyondTheFile) {
  std::string file = safetensors("{}");
  file[5] = 1;
  EXPECT_NE(errorOf(file).find("the header says 1099511627778 bytes, the file has 2"),
            std::string::npos)
      << errorOf(file);
}

TEST(Safetensors, RefusesHeaderThatIsNoObject) {
  EXPECT_NE(errorOf(safetensors("[1]")).find("not a JSON object"), std::string::npos);
  EXPECT_NE(errorOf(safetensors("{\"a\":")).find("not a JSON object"), std::string::npos);
}

struct BadEntry {
  const char *entry, *message;
};

void PrintTo(const BadEntry &bad, std::ostream *out) { *out << bad.message; }

class SafetensorsEntry : public testing::TestWithParam<BadEntry> {};

TEST_P(SafetensorsEntry, IsNamedInTheError) {
  std::string message =
      errorOf(safetensors(std::string("{\"t\":") + GetParam().entry + "}", "12345678"));
  EXPECT_NE(message.find("tensor 't'"), std::string::npos) << message;
  EXPECT_NE(message.find(GetParam().message), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(
    Bad, SafetensorsEntry,
    testing::Values(
        BadEntry{R"(7)", "not an object"}, BadEntry{R"({"shape":[2]})", "'dtype'"},
        BadEntry{R"({"dtype":"F32","data_offsets":[0,8]})", "'shape'"},
        BadEntry{R"({"dtype":"F32","shape":[2]})", "'data_offsets'"},
        BadEntry{R"({"dtype":"F32","shape":[2],"data_offsets":[0,4,8]})", "'data_offsets'"},
        BadEntry{R"({"dtype":"F4","shape":[2],"data_offsets":[0,8]})", "unknown dtype 'F4'"},
        BadEntry{R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})", "negative"},
        BadEntry{R"({"dtype":"F32","shape":[2.0],"data_offsets":[0,8]})", "not whole"},
        BadEntry{R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]})",
                 "too large"},
        BadEntry{R"({"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8]})",
                 "too large"},
        BadEntry{R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})", "not a range"},
        BadEntry{R"({"dtype":"F32","shape":[2],"data_offsets":[4,12]})", "not a range"},
        BadEntry{R"({"dtype":"F32","shape":[2],"data_offsets":[-4,4]})", "not a range"},
        BadEntry{R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})", "need 12 bytes"},
        BadEntry{R"({"dtype":"F32","shape":[1],"data_offsets":[4,8]})", "a hole of 4 bytes"}));

TEST(Safetensors, RefusesOverlap) {
  std::string message =
      errorOf(safetensors(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                          R"("b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
                          "123456"));
  EXPECT_NE(message.find("tensor 'b': its data overlap those of 'a'"), std::string::npos);
}

TEST(Safetensors, RefusesBytesOfNoTensor) {
  EXPECT_NE(errorOf(safetensors("{}", "xy")).find("the last 2 bytes"), std::string::npos);
}

TEST(SafetensorsWriter, WritesWhatTheReaderReads) {
  TemporaryDirectory directory;
  std::string a = "12345678", b = "abcdef";
  std::vector<TensorToWrite> tensors = {{"b", DType::BF16, {3}, bytesOf(b)},
                                        {"a", DType::F32, {2, 1}, bytesOf(a)}};
  auto path = directory.path / "model.safetensors";
  auto written = writeSafetensors(path, tensors, {{"step", "7"}});
  ASSERT_TRUE(written) << written.error().message();
  std::ifstream stream(path, std::ios::binary);
  std::string file(std::istreambuf_iterator<char>(stream), {});
  auto read = readSafetensors(bytesOf(file), "w");
  ASSERT_TRUE(read) << read.error().message();
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ((*read)[0].name, "a");
  EXPECT_EQ((*read)[0].offset % 64, 0u);
  EXPECT_EQ(std::to_integer<char>((*read)[1].data[5]), 'f');
  EXPECT_FALSE(std::filesystem::exists(directory.path / "model.safetensors.partial"));
}

TEST(SafetensorsWriter, RefusesTwoTensorsOfOneName) {
  TemporaryDirectory directory;
  std::string a = "1234";
  std::vector<TensorToWrite> tensors(2, {"a", DType::F32, {1}, bytesOf(a)});
  auto written = writeSafetensors(directory.path / "w", tensors);
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().message().find("named 'a'"), std::string::npos);
}

TEST(SafetensorsWriter, NamesAnUnwritablePath) {
  auto written = writeSafetensors("/nowhere/at/all.safetensors", {});
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().message().find("/nowhere/at/all.safetensors"), std::string::npos);
}

} // namespace
