// The program sinter-run, called as a person calls it.

#include "test/unit/runtime/TestExecutable.h"
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/wait.h>

using namespace sinter;
using namespace sinter::runtime;
using namespace sinter::runtime::testing;
using fb::Space;

namespace {

struct Outcome {
  int status;
  std::string out, err;
};

// A model whose only kernel does nothing: every token is 0.
Parts silentModel() {
  Parts parts;
  parts.kernels = {"nothing"};
  parts.metadata = {{"vocab_size", "5"}, {"max_seq", "8"}, {"eos_token_ids", "4"}};
  Parts::Program &decode = parts.programs.emplace_back();
  decode.name = "decode";
  decode.inputBytes = 36;
  decode.outputBytes = 4;
  decode.inputs = {{"tokens", fb::DType::I32, {1, 1}, slice(Space::Input, 0, 4)},
                   {"start", fb::DType::I32, {1}, slice(Space::Input, 4, 4)},
                   {"count", fb::DType::I32, {1}, slice(Space::Input, 8, 4)},
                   {"temperature", fb::DType::F32, {1}, slice(Space::Input, 12, 4)},
                   {"top_k", fb::DType::I32, {1}, slice(Space::Input, 16, 4)},
                   {"top_p", fb::DType::F32, {1}, slice(Space::Input, 20, 4)},
                   {"min_p", fb::DType::F32, {1}, slice(Space::Input, 24, 4)},
                   {"seed", fb::DType::I32, {1, 2}, slice(Space::Input, 28, 8)}};
  decode.outputs = {{"token", fb::DType::I32, {1}, slice(Space::Output, 0, 4)}};
  decode.commands = {launch(0, 1, {slice(Space::Output, 0, 4)})};
  return parts;
}

class SinterRunTest : public ::testing::Test {
protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "sinter-XXXXXX";
    folder = mkdtemp(pattern.data());
    model = write("model.sinter", silentModel());
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string write(const std::string &name, const Parts &parts) {
    std::string path = folder + "/" + name;
    EXPECT_TRUE(writeExecutable(path, parts.build()));
    return path;
  }
  std::string read(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  Outcome run(const std::string &arguments) {
    std::string command =
        std::string(SINTER_RUN) + " " + arguments + " >" + folder + "/out 2>" + folder + "/err";
    int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read(folder + "/out"),
            read(folder + "/err")};
  }
  // One clear line and exit status 1.
  void expectError(const std::string &arguments, const std::string &part) {
    Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, 1) << arguments;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.err.find("sinter-run: error: "), 0u) << outcome.err;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }

  std::string folder, model;
};

TEST_F(SinterRunTest, PrintsIds) {
  Outcome outcome = run(model + " --tokens 1,2 --ids --max-new-tokens 3");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "0,0,0\n");
  EXPECT_EQ(run(model + " --tokens 1,2 --ids --max-new-tokens 0").out, "\n");
  Outcome json = run(model + " --tokens 1,2 --json --max-new-tokens 100");
  EXPECT_EQ(json.status, 0) << json.err;
  EXPECT_NE(json.out.find("\"ids\":[0,0,0,0,0,0,0]"), std::string::npos) << json.out;
  EXPECT_NE(json.out.find("\"stop\":\"max_seq\""), std::string::npos) << json.out;
}

TEST_F(SinterRunTest, BadArguments) {
  expectError("", "FILE is required");
  expectError(model, "give --prompt TEXT, --prompt-file FILE or --tokens");
  expectError(model + " --tokens 1 --prompt x", "excludes");
  expectError(model + " --tokens 1,x --ids", "token ids '1,x': are not whole numbers");
  expectError(model + " --tokens 1", "it has no tokenizer; use --tokens and --ids");
  expectError(model + " --prompt x --ids", "it has no tokenizer");
  expectError(model + " --tokens 5 --ids", "token 5: the vocabulary has the ids 0 to 4");
  expectError(model + " --tokens -1 --ids", "token ids '-1': are not whole numbers from 0 on");
  expectError(model + " --tokens 99999999999 --ids", "token ids '99999999999': are not");
  expectError(model + " --tokens 1,1,1,1,1,1,1,1,1 --ids", "the model's max_sequence is 8");
  expectError(model + " --tokens 1 --ids --top-p 2", "--top-p");
  expectError(model + " --tokens 1 --ids --top-p 0", "--top-p 0: is not a number above 0");
  expectError(model + " --tokens 1 --ids --top-k -1", "--top-k");
  expectError(model + " --tokens 1 --ids --temperature -0.5", "--temperature");
}

TEST_F(SinterRunTest, FullDisk) {
  for (const char *what : {"--tokens 1 --ids", "--tokens 1 --json", "--help"}) {
    std::string command =
        std::string(SINTER_RUN) + " " + model + " " + what + " >/dev/full 2>" + folder + "/err";
    int status = std::system(command.c_str());
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1) << what;
    EXPECT_EQ(read(folder + "/err"),
              "sinter-run: error: standard output: cannot be written; make room for it\n");
  }
}

TEST_F(SinterRunTest, BadExecutables) {
  expectError(folder + "/absent --tokens 1", "No such file or directory");
  expectError(folder + " --tokens 1", "not a regular file");
  std::string whole = read(model);
  auto damaged = [&](std::string bytes) {
    std::ofstream(folder + "/damaged", std::ios::binary) << bytes;
    return folder + "/damaged --tokens 1 --ids";
  };
  expectError(damaged(""), "too short");
  expectError(damaged(whole.substr(0, whole.size() / 2)), "is damaged");
  std::string flipped = whole;
  flipped[whole.size() / 2] ^= 1;
  expectError(damaged(flipped), "is damaged");
  expectError(damaged("{\"model_type\": \"gpt2\"}" + std::string(64, ' ')), "is not a Sinter");
  Parts parts = silentModel();
  parts.features = {"warp-drive"};
  expectError(write("other-cpu", parts) + " --tokens 1 --ids", "this one lacks warp-drive");
  parts = silentModel();
  uint64_t huge = uint64_t(1) << 45;
  parts.stateBytes = huge;
  parts.states = {{"cache", fb::DType::F32, {int64_t(huge / 4)}, slice(Space::State, 0, huge)}};
  expectError(write("huge", parts) + " --tokens 1 --ids", "needs 32768.0 GiB of memory (caches");
  whole[8] = static_cast<char>(executableVersion + 1);
  expectError(damaged(whole),
              "has version " + std::to_string(executableVersion + 1) + " of the format");
}

TEST_F(SinterRunTest, IsSmallAndAlone) {
  std::string copy = folder + "/stripped";
  ASSERT_EQ(std::system(("strip -o " + copy + " " SINTER_RUN).c_str()), 0);
  EXPECT_LT(std::filesystem::file_size(copy), 10u << 20);
  ASSERT_EQ(std::system(("ldd " SINTER_RUN " >" + folder + "/ldd").c_str()), 0);
  std::string libraries = read(folder + "/ldd");
  EXPECT_EQ(libraries.find("LLVM"), std::string::npos) << libraries;
  EXPECT_EQ(libraries.find("MLIR"), std::string::npos) << libraries;
}

} // namespace
