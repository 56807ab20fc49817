// Executables whose bytes were changed before their checksum was computed. Machine code apart,
// nothing in them may do harm: what changed is refused in one line, or what is left runs to its
// end.
//
// $SINTER_DAMAGES is how many changes each executable gets (200 without it).

#include "frontends/Graph/ModelGraph.h"
#include "runtime/Format/ExecutableFile.h"
#include "runtime/Train/Trainer.h"
#include "test/e2e/CompiledModel.h"
#include "test/e2e/KeptWeights.h"
#include "test/support/TestCache.h"
#include "test/support/ValueOf.h"
#include "gtest/gtest.h"
#include <random>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace sinter;
using namespace sinter::test;

namespace {

constexpr int64_t kBatch = 2, kLength = 8;

/// What became of an executable, shared by a child and its parent.
struct Outcomes {
  uint64_t next = 0; ///< the change that the child is at
  uint64_t refused = 0, failed = 0, ran = 0;
  char message[256] = {}; ///< of a refusal that is no line
};

class Damaged : public testing::TestWithParam<const char *> {
protected:
  Damaged()
      : model(GetParam()), spec(valueOf(loadModelSpec(modelsFolder() / model))),
        weights(openWeights(modelsFolder() / model, spec)) {}

  void compile(std::vector<std::string> entries) {
    CompileRequest request;
    request.kernelCache = kernelCache();
    request.graph = makeModelGraph(spec);
    request.options.entries = std::move(entries);
    request.options.batch = kBatch;
    request.options.chunk = kLength;
    request.options.maxSequence = 2 * kLength;
    request.contents.metadata = {{"vocab_size", std::to_string(spec.vocabSize)},
                                 {"max_seq", std::to_string(2 * kLength)},
                                 {"eos_token_ids", "1,2"},
                                 {"model_type", spec.modelType}};
    request.contents.attachments = {{"tokenizer.json", "{}"}};
    for (const ParameterInfo &parameter : spec.getParameters())
      request.parameterTypes[parameter.name] = weights->find(parameter.name)->dtype;
    bytes = valueOf(sinter::compile(request)).executable;
    // What is not machine code.
    auto executable = valueOf(runtime::Executable::fromFlatbuffer(bytes, "whole"));
    const auto *code = executable->getRoot().code();
    const auto *begin = reinterpret_cast<const std::byte *>(code->data());
    size_t codeBegin = begin - executable->getFlatbuffer().data();
    for (size_t i = 0; i < bytes.size(); ++i)
      if (i < codeBegin || i >= codeBegin + code->size())
        places.push_back(i);
    ASSERT_LT(places.size(), bytes.size());
  }

  /// A file with one change: a bit, a byte, or a whole word that becomes a number near an edge.
  std::vector<std::byte> damage(uint64_t change) const {
    std::mt19937_64 random(change);
    std::vector<std::byte> flatbuffer = bytes;
    size_t place = places[random() % places.size()];
    switch (random() % 4) {
    case 0: {
      static constexpr uint32_t edges[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0x10000};
      uint32_t word = edges[random() % std::size(edges)];
      size_t at = place / sizeof word * sizeof word;
      bool isData = std::binary_search(places.begin(), places.end(), at) &&
                    std::binary_search(places.begin(), places.end(), at + sizeof word - 1);
      if (isData && at + sizeof word <= flatbuffer.size())
        std::memcpy(flatbuffer.data() + at, &word, sizeof word);
      break;
    }
    case 1:
      flatbuffer[place] = std::byte(random() & 0xff);
      break;
    default:
      flatbuffer[place] ^= std::byte(1 << random() % 8);
    }
    auto header = runtime::makeExecutableHeader(flatbuffer);
    flatbuffer.insert(flatbuffer.begin(), header.begin(), header.end());
    return flatbuffer;
  }

  /// Loads, binds and runs what is left of the executable.
  using Run = std::function<Expected<void>(std::shared_ptr<const runtime::Executable>)>;

  /// Makes all changes, each in a child: one goes on until something ends it.
  void tryAll(const Run &run) {
    const char *given = std::getenv("SINTER_DAMAGES");
    uint64_t count = given ? std::strtoull(given, nullptr, 10) : 200;
    auto *outcomes = new (mmap(nullptr, sizeof(Outcomes), PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Outcomes;
    ASSERT_TRUE(run(valueOf(runtime::Executable::fromFlatbuffer(bytes, "whole"))));
    for (size_t failures = 0; outcomes->next < count && failures < 20;) {
      pid_t child = fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        for (; outcomes->next < count; ++outcomes->next)
          tryOne(outcomes->next, run, *outcomes);
        _exit(0);
      }
      int status = 0;
      ASSERT_EQ(waitpid(child, &status, 0), child);
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        continue;
      ++failures;
      ADD_FAILURE() << "change " << outcomes->next << " of " << model << " ended with "
                    << (WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "an exit status");
      ++outcomes->next;
    }
    EXPECT_STREQ(outcomes->message, "");
    // Of what is changed, much is noticed and much does not matter.
    EXPECT_GT(outcomes->refused, count / 10);
    EXPECT_GT(outcomes->ran, 0u);
    RecordProperty("refused", std::to_string(outcomes->refused));
    RecordProperty("failed", std::to_string(outcomes->failed));
    RecordProperty("ran", std::to_string(outcomes->ran));
    munmap(outcomes, sizeof(Outcomes));
  }

  const char *model;
  ModelSpec spec;
  std::unique_ptr<runtime::WeightSource> weights;

private:
  static void tryOne(uint64_t change, const Run &run, Outcomes &outcomes, const Damaged &test) {
    constexpr unsigned seconds = 20;
    constexpr rlim_t memory = rlim_t(16) << 30;
    rlimit limit{memory, memory};
    setrlimit(RLIMIT_AS, &limit);
    alarm(seconds);
    auto executable = runtime::Executable::fromFile(test.damage(change), "damaged");
    Expected<void> result;
    if (executable)
      result = run(*executable);
    const Error *error = !executable ? &executable.error() : !result ? &result.error() : nullptr;
    ++(!executable ? outcomes.refused : !result ? outcomes.failed : outcomes.ran);
    if (error && error->message().find('\n') != std::string::npos)
      std::snprintf(outcomes.message, sizeof outcomes.message, "%s", error->message().c_str());
    alarm(0);
  }
  void tryOne(uint64_t change, const Run &run, Outcomes &outcomes) const {
    tryOne(change, run, outcomes, *this);
  }

  std::vector<std::byte> bytes;
  std::vector<size_t> places; ///< outside of the machine code
};

TEST_P(Damaged, InferenceDoesNoHarm) {
  compile({"prefill", "decode"});
  if (HasFatalFailure())
    return;
  tryAll([&](std::shared_ptr<const runtime::Executable> executable) -> Expected<void> {
    runtime::BindOptions options;
    options.threads = 1;
    options.weights = weights.get();
    SINTER_TRY(std::unique_ptr<runtime::Session> session,
               runtime::Session::bind(executable, options));
    SINTER_TRY(runtime::Generator generator, runtime::Generator::create(*session));
    runtime::GenerateRequest greedy{{1, 2, 3}, 4, {}},
        sampled{{3, 4, 5, 6, 7, 8, 9, 10, 11}, 3, {}};
    sampled.sampling.temperature = 0.8f;
    sampled.sampling.topP = 0.9f;
    SINTER_TRY(auto results, generator.run(std::vector{greedy, sampled}));
    return {};
  });
}

TEST_P(Damaged, TrainingDoesNoHarm) {
  compile({"train_step"});
  if (HasFatalFailure())
    return;
  std::vector<int32_t> tokens(kBatch * kLength * 4);
  for (size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = static_cast<int32_t>(i * 7 % spec.vocabSize);
  tryAll([&](std::shared_ptr<const runtime::Executable> executable) -> Expected<void> {
    auto width = runtime::TokenWidth::Two;
    std::vector<runtime::TokenFile> files;
    SINTER_TRY(
        runtime::TokenFile file,
        runtime::TokenFile::fromMemory("tokens", packTokens(tokens, width), width, spec.vocabSize));
    files.push_back(std::move(file));
    runtime::TrainOptions options;
    options.schedule.steps = 2;
    options.weights = weights.get();
    options.session.threads = 1;
    SINTER_TRY(std::unique_ptr<runtime::Trainer> trainer,
               runtime::Trainer::create(
                   executable, {runtime::TokenStream(std::move(files)), std::nullopt}, options));
    for (uint64_t step = 0; step < options.schedule.steps; ++step) {
      SINTER_TRY(runtime::StepRecord record, trainer->step());
      (void)record;
    }
    return {};
  });
}

// A table of positions and one head size; rotations, windows and soft caps.
INSTANTIATE_TEST_SUITE_P(Models, Damaged, testing::Values("gpt2", "gemma2"));

} // namespace
