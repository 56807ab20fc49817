#include "frontends/Weights/WeightFiles.h"
#include "test/unit/Weights/TestFiles.h"

using namespace sinter;
using namespace sinter::test;

namespace {

std::string oneTensor(const std::string &name, const std::string &dtype = "F32") {
  return safetensors("{\"" + name + "\":{\"dtype\":\"" + dtype +
                         "\",\"shape\":[2],\"data_offsets\":[0,8]}}",
                     "12345678");
}

std::string messageOf(const Expected<WeightFiles> &weights) {
  return weights ? "" : weights.error().message();
}

TEST(WeightFiles, OpensADirectoryWithOneFile) {
  TemporaryDirectory directory;
  directory.write("model.safetensors", oneTensor("a"));
  auto weights = WeightFiles::open(directory.path);
  ASSERT_TRUE(weights) << messageOf(weights);
  ASSERT_NE(weights->find("a"), nullptr);
  EXPECT_EQ(weights->find("b"), nullptr);
  EXPECT_EQ(weights->getNames(), std::vector<std::string>{"a"});
  EXPECT_EQ(weights->getFiles()[0].bytes, oneTensor("a").size());
}

TEST(WeightFiles, OpensTheOnlyFileOfAnyName) {
  TemporaryDirectory directory;
  directory.write("weights.safetensors", oneTensor("a"));
  EXPECT_TRUE(WeightFiles::open(directory.path));
}

TEST(WeightFiles, OpensShards) {
  TemporaryDirectory directory;
  directory.write("1.safetensors", oneTensor("b"));
  directory.write("2.safetensors", oneTensor("a"));
  directory.write("model.safetensors.index.json",
                  R"({"weight_map":{"a":"2.safetensors","b":"1.safetensors"}})");
  auto weights = WeightFiles::open(directory.path);
  ASSERT_TRUE(weights) << messageOf(weights);
  EXPECT_EQ(weights->getNames(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(weights->getFiles()[weights->find("a")->file].path.filename(), "2.safetensors");
}

TEST(WeightFiles, FindsTensorsOfABareBaseModel) {
  std::string file = oneTensor("wte.weight");
  auto weights = WeightFiles::fromBytes(bytesOf(file));
  ASSERT_TRUE(weights);
  EXPECT_NE(weights->find("transformer.wte.weight"), nullptr);
  EXPECT_EQ(weights->find("other.wte.weight"), nullptr);
}

TEST(WeightFiles, FindsTensorsUnderTheirNewerName) {
  std::string file = oneTensor("lm_head.weight");
  auto weights = WeightFiles::fromBytes(bytesOf(file));
  ASSERT_TRUE(weights);
  EXPECT_NE(weights->find("embed_out.weight"), nullptr);
}

TEST(WeightFiles, TakesTheDecoderOfAModelOfSeveralParts) {
  auto named = [](const char *embedding, const char *head) {
    return safetensors(std::string("{\"") + embedding +
                       R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},")" + head +
                       R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
                       R"("vision_tower.a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})");
  };
  for (const std::string &file :
       {named("language_model.model.embed", "language_model.lm_head.weight"),
        named("model.language_model.embed", "lm_head.weight")}) {
    auto weights = WeightFiles::fromBytes(bytesOf(file));
    ASSERT_TRUE(weights) << messageOf(weights);
    EXPECT_EQ(weights->getNames(), (std::vector<std::string>{"lm_head.weight", "model.embed"}));
  }
}

TEST(WeightFiles, SplitsStackedExpertsBesideAGatedSharedOne) {
  auto stacked = [](const std::string &gate) {
    auto tensor = [](const std::string &name, const std::string &rest) {
      return "\"model.layers.0.mlp." + name + "\":{\"dtype\":\"U8\"," + rest + "}";
    };
    std::string header =
        "{" + tensor("experts.gate_up_proj", R"("shape":[2,4,1],"data_offsets":[0,8])") + "," +
        tensor("experts.down_proj", R"("shape":[2,1,2],"data_offsets":[8,12])") + "," +
        tensor(gate, R"("shape":[0],"data_offsets":[12,12])") + "}";
    return safetensors(header, "abcdefghijkl");
  };
  std::string file = stacked("shared_expert_gate.weight");
  auto weights = WeightFiles::fromBytes(bytesOf(file));
  ASSERT_TRUE(weights) << messageOf(weights);
  const std::vector<int64_t> ofGate = {2, 1}, ofDown = {1, 2};
  for (const auto &[name, data, shape] :
       {std::tuple("0.gate_proj", "ab", ofGate), std::tuple("0.up_proj", "cd", ofGate),
        std::tuple("1.gate_proj", "ef", ofGate), std::tuple("1.up_proj", "gh", ofGate),
        std::tuple("0.down_proj", "ij", ofDown), std::tuple("1.down_proj", "kl", ofDown)}) {
    const Tensor *part =
        weights->find(std::string("model.layers.0.mlp.experts.") + name + ".weight");
    ASSERT_NE(part, nullptr) << name;
    EXPECT_EQ(part->shape, shape);
    EXPECT_EQ(std::string(reinterpret_cast<const char *>(part->data.data()), part->data.size()),
              data);
  }
  EXPECT_EQ(weights->getNames().size(), 7U);
  file = stacked("router.weight");
  auto others = WeightFiles::fromBytes(bytesOf(file));
  ASSERT_TRUE(others) << messageOf(others);
  EXPECT_NE(others->find("model.layers.0.mlp.experts.gate_up_proj"), nullptr);
}

TEST(WeightFiles, DoesNotStripAPrefixThatIsUsed) {
  std::string file = safetensors(R"({"model.a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
                                 R"("b":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})");
  auto weights = WeightFiles::fromBytes(bytesOf(file));
  ASSERT_TRUE(weights);
  EXPECT_EQ(weights->find("model.b"), nullptr);
}

TEST(WeightFiles, HashesContentNotNames) {
  TemporaryDirectory directory;
  auto a = WeightFiles::open(directory.write("a.safetensors", oneTensor("t")));
  auto b = WeightFiles::open(directory.write("b.safetensors", oneTensor("t")));
  auto c = WeightFiles::open(directory.write("c.safetensors", oneTensor("u")));
  ASSERT_TRUE(a && b && c);
  EXPECT_EQ(a->contentHash(0).size(), 32u);
  EXPECT_EQ(a->contentHash(0), b->contentHash(0));
  EXPECT_NE(a->contentHash(0), c->contentHash(0));
}

TEST(WeightFiles, DataSurviveARelease) {
  TemporaryDirectory directory;
  auto weights = WeightFiles::open(directory.write("a.safetensors", oneTensor("t")));
  ASSERT_TRUE(weights);
  weights->release(*weights->find("t"));
  weights->release();
  EXPECT_EQ(std::to_integer<char>(weights->find("t")->data[7]), '8');
}

TEST(WeightFiles, NamesWhatCannotBeOpened) {
  TemporaryDirectory directory;
  EXPECT_NE(messageOf(WeightFiles::open(directory.path / "none")).find("No such file"),
            std::string::npos);
  EXPECT_NE(messageOf(WeightFiles::open(directory.path)).find("holds no model.safetensors"),
            std::string::npos);
  directory.write("pytorch_model.bin", "");
  EXPECT_NE(messageOf(WeightFiles::open(directory.path)).find("convert"), std::string::npos);
  directory.write("a.safetensors", oneTensor("a"));
  directory.write("b.safetensors", oneTensor("b"));
  EXPECT_NE(messageOf(WeightFiles::open(directory.path)).find("2 safetensors files"),
            std::string::npos);
}

struct BadIndex {
  const char *index, *message;
};

void PrintTo(const BadIndex &bad, std::ostream *out) { *out << bad.message; }

class WeightIndex : public testing::TestWithParam<BadIndex> {};

TEST_P(WeightIndex, IsRefused) {
  TemporaryDirectory directory;
  directory.write("1.safetensors", oneTensor("a"));
  auto path = directory.write("model.safetensors.index.json", GetParam().index);
  std::string message = messageOf(WeightFiles::open(path));
  EXPECT_NE(message.find(GetParam().message), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(
    Bad, WeightIndex,
    testing::Values(BadIndex{"", "weight_map"}, BadIndex{"[]", "weight_map"},
                    BadIndex{R"({"weight_map":[]})", "weight_map"},
                    BadIndex{R"({"weight_map":{"a":1}})", "'a' is not a file name"},
                    BadIndex{R"({"weight_map":{"a":"../1.safetensors"}})", "not a file name"},
                    BadIndex{R"({"weight_map":{"a":".."}})", "not a file name"},
                    BadIndex{R"({"weight_map":{"a":"2.safetensors"}})", "2.safetensors: No such"},
                    BadIndex{R"({"weight_map":{"b":"1.safetensors"}})",
                             "the index does not place its tensor 'a' here"},
                    BadIndex{R"({"weight_map":{"a":"1.safetensors","b":"1.safetensors"}})",
                             "places tensor 'b' here"}));

TEST(PackWeights, GathersWhatIsNeededUnderItsName) {
  TemporaryDirectory directory;
  directory.write("1.safetensors", oneTensor("lm_head.weight"));
  directory.write("2.safetensors", oneTensor("surplus"));
  directory.write("model.safetensors.index.json",
                  R"({"weight_map":{"lm_head.weight":"1.safetensors","surplus":"2.safetensors"}})");
  auto weights = WeightFiles::open(directory.path);
  ASSERT_TRUE(weights) << messageOf(weights);
  ExpectedTensor expected[] = {{"embed_out.weight", {2}}};
  auto bytes = packWeights(expected, *weights);
  ASSERT_TRUE(bytes) << bytes.error().message();
  auto packed = WeightFiles::fromBytes(*bytes);
  ASSERT_TRUE(packed) << messageOf(packed);
  EXPECT_EQ(packed->getNames(), std::vector<std::string>{"embed_out.weight"});
  EXPECT_EQ(std::to_integer<char>(packed->getTensors()[0].data[7]), '8');
}

TEST(PackWeights, NamesWhatIsMissing) {
  std::string integers = oneTensor("a", "I32");
  auto weights = WeightFiles::fromBytes(bytesOf(integers));
  ASSERT_TRUE(weights);
  for (const char *name : {"a", "b"}) {
    ExpectedTensor expected[] = {{name, {2}}};
    auto bytes = packWeights(expected, *weights);
    ASSERT_FALSE(bytes);
    EXPECT_NE(bytes.error().message().find("tensor '" + std::string(name) + "'"),
              std::string::npos);
  }
}

TEST(CheckTensors, AcceptsTheExpectedAndKnownSurplus) {
  std::string file =
      safetensors(R"({"a":{"dtype":"F16","shape":[2],"data_offsets":[0,4]},)"
                  R"("h.0.attn.bias":{"dtype":"BOOL","shape":[4],"data_offsets":[4,8]}})",
                  "12345678");
  auto weights = WeightFiles::fromBytes(bytesOf(file));
  ASSERT_TRUE(weights);
  ExpectedTensor expected[] = {{"a", {2}}};
  auto surplus = [](std::string_view name) { return name.ends_with("attn.bias"); };
  EXPECT_TRUE(checkTensors(expected, *weights, surplus));
}

TEST(CheckTensors, NamesTheOffender) {
  std::string file = oneTensor("a"), integers = oneTensor("a", "I32");
  auto weights = WeightFiles::fromBytes(bytesOf(file));
  auto ofIntegers = WeightFiles::fromBytes(bytesOf(integers));
  ASSERT_TRUE(weights && ofIntegers);
  auto none = [](std::string_view) { return false; };
  auto message = [&](std::vector<ExpectedTensor> expected, const WeightFiles &weights) {
    auto checked = checkTensors(expected, weights, none);
    return checked ? std::string() : checked.error().message();
  };
  EXPECT_NE(message({{"b", {7}}}, *weights).find("tensor 'b': the weights do not hold it"),
            std::string::npos);
  EXPECT_NE(message({{"a", {3}}}, *weights).find("its shape is [2], config.json asks for [3]"),
            std::string::npos);
  EXPECT_NE(message({{"a", {2}}}, *ofIntegers).find("dtype I32 is not supported"),
            std::string::npos);
  EXPECT_NE(message({}, *weights).find("has no use for it"), std::string::npos);
}

} // namespace
