#include "runtime/Generate/Generator.h"
#include "test/unit/runtime/TestExecutable.h"
#include <array>
#include <cmath>
#include <gtest/gtest.h>

using namespace sinter;
using namespace sinter::runtime;
using namespace sinter::runtime::testing;
using fb::Space;

namespace {

constexpr int64_t vocab = 50, maxSequence = 24;

// What a step's sampling inputs come to: 0 for those of a greedy choice.
int64_t mixOptions(float temperature, int32_t topK, float topP, float minP, const int32_t *seed) {
  return static_cast<int64_t>(temperature * 10) + 3 * topK +
         static_cast<int64_t>(std::lround((1 - topP) * 100 + 13 * minP)) + 7 * seed[0] +
         11 * seed[1];
}

// A model whose next token is (sum of the cached tokens + their number + what it is sampled by) mod
// vocab. It notices when a token is fed twice, left out or put at a wrong position.
template <int64_t chunk> void step(void *const *slices, int64_t begin, int64_t end) {
  auto *tokens = static_cast<const int32_t *>(slices[0]);
  auto *start = static_cast<const int32_t *>(slices[1]);
  auto *count = static_cast<const int32_t *>(slices[2]);
  auto *temperature = static_cast<const float *>(slices[3]);
  auto *topK = static_cast<const int32_t *>(slices[4]);
  auto *topP = static_cast<const float *>(slices[5]);
  auto *minP = static_cast<const float *>(slices[6]);
  auto *seed = static_cast<const int32_t *>(slices[7]);
  auto *cache = static_cast<int32_t *>(slices[8]);
  auto *token = static_cast<int32_t *>(slices[9]);
  for (int64_t slot = begin; slot < end; ++slot) {
    for (int64_t i = 0; i < count[slot]; ++i)
      cache[slot * maxSequence + start[slot] + i] = tokens[slot * chunk + i];
    int64_t sum = start[slot] + count[slot];
    for (int64_t i = 0; i < start[slot] + count[slot]; ++i)
      sum += cache[slot * maxSequence + i];
    sum += mixOptions(temperature[slot], topK[slot], topP[slot], minP[slot], seed + 2 * slot);
    token[slot] = static_cast<int32_t>(sum % vocab);
  }
}

constexpr int64_t prefillChunk = 4;

Parts counterModel(uint64_t batch, bool withPrefill = true, bool withDecode = true) {
  Parts parts;
  parts.kernels = {"prefill", "decode"};
  uint64_t cacheBytes = batch * maxSequence * 4;
  parts.stateBytes = cacheBytes;
  parts.metadata = {{"vocab_size", std::to_string(vocab)},
                    {"max_seq", std::to_string(maxSequence)},
                    {"eos_token_ids", "49"}};
  for (auto [name, chunk, wanted] :
       {std::tuple("prefill", prefillChunk, withPrefill), {"decode", int64_t(1), withDecode}}) {
    if (!wanted)
      continue;
    int64_t b = static_cast<int64_t>(batch);
    Parts::Program program;
    program.name = name;
    std::vector<fb::Slice> slices;
    auto input = [&](const char *tensor, fb::DType type, const std::vector<int64_t> &shape) {
      uint64_t bytes = 4;
      for (int64_t extent : shape)
        bytes *= static_cast<uint64_t>(extent);
      slices.push_back(slice(Space::Input, program.inputBytes, bytes));
      program.inputs.push_back({tensor, type, shape, slices.back()});
      program.inputBytes += bytes;
    };
    input("tokens", fb::DType::I32, {b, chunk});
    input("start", fb::DType::I32, {b});
    input("count", fb::DType::I32, {b});
    input("temperature", fb::DType::F32, {b});
    input("top_k", fb::DType::I32, {b});
    input("top_p", fb::DType::F32, {b});
    input("min_p", fb::DType::F32, {b});
    input("seed", fb::DType::I32, {b, 2});
    program.outputBytes = batch * 4;
    slices.push_back(slice(Space::State, 0, cacheBytes));
    slices.push_back(slice(Space::Output, 0, program.outputBytes));
    program.outputs = {{"token", fb::DType::I32, {b}, slices.back()}};
    program.commands = {launch(chunk == 1 ? 1 : 0, batch, slices)};
    parts.programs.push_back(program);
  }
  return parts;
}

std::unique_ptr<Session> bind(const Parts &parts) {
  BindOptions options;
  options.threads = 2;
  options.kernels["prefill"] = step<prefillChunk>;
  options.kernels["decode"] = step<1>;
  return *Session::bind(*parts.load(), options);
}

std::vector<int32_t> expected(const GenerateRequest &request) {
  std::vector<int32_t> sequence = request.prompt, added;
  const SamplingOptions &sampling = request.sampling;
  int32_t seed[] = {static_cast<int32_t>(sampling.seed), static_cast<int32_t>(sampling.seed >> 32)};
  int64_t mixed = mixOptions(sampling.temperature, static_cast<int32_t>(sampling.topK),
                             sampling.topP, sampling.minP, seed);
  while (static_cast<int64_t>(added.size()) < request.maxNewTokens &&
         static_cast<int64_t>(sequence.size()) <= maxSequence) {
    int64_t sum = static_cast<int64_t>(sequence.size()) + mixed;
    for (int32_t token : sequence)
      sum += token;
    sequence.push_back(static_cast<int32_t>(sum % vocab));
    added.push_back(sequence.back());
    if (added.back() == 49)
      break;
  }
  return added;
}

TEST(GeneratorTest, RaggedBatches) {
  for (auto [withPrefill, withDecode] : {std::pair(true, true), {true, false}, {false, true}}) {
    auto session = bind(counterModel(3, withPrefill, withDecode));
    auto generator = Generator::create(*session);
    ASSERT_TRUE(generator) << generator.error().message();
    std::vector<GenerateRequest> requests = {
        {{3}, 6, {}}, {{1, 2, 3, 4, 5, 6, 7, 8, 9}, 5, {}}, {{10, 20, 30, 40, 1}, 7, {}}};
    std::vector<std::vector<int32_t>> streamed(3);
    auto results = generator->run(requests, [&](size_t request, int32_t token) {
      streamed[request].push_back(token);
      return true;
    });
    ASSERT_TRUE(results);
    for (size_t i = 0; i < requests.size(); ++i) {
      EXPECT_EQ((*results)[i].tokens, expected(requests[i])) << i;
      EXPECT_EQ((*results)[i].tokens, streamed[i]);
    }
    EXPECT_EQ(generator->getTimes().promptTokens, 15u);
    // Fewer prompts than slots, in a cache that holds older ones.
    auto again = generator->run(std::span(requests).subspan(2));
    EXPECT_EQ((*again)[0].tokens, expected(requests[2]));
  }
}

// Each slot is sampled by the options of its own request.
TEST(GeneratorTest, MoreRequestsThanSlots) {
  for (auto [withPrefill, withDecode] : {std::pair(true, true), {true, false}, {false, true}})
    for (uint64_t slots : {1, 2, 5}) {
      auto session = bind(counterModel(slots, withPrefill, withDecode));
      auto generator = *Generator::create(*session);
      std::vector<GenerateRequest> requests;
      for (int32_t i = 0; i < 17; ++i)
        requests.push_back({std::vector<int32_t>(1 + i * 5 % 11, i), i * 7 % 9, {}});
      std::vector<std::vector<int32_t>> streamed(requests.size());
      auto results = generator.run(requests, [&](size_t request, int32_t token) {
        streamed[request].push_back(token);
        return true;
      });
      ASSERT_TRUE(results) << results.error().message();
      size_t tokens = 0;
      for (size_t i = 0; i < requests.size(); ++i) {
        EXPECT_EQ((*results)[i].tokens, expected(requests[i])) << i << " in " << slots;
        EXPECT_EQ((*results)[i].tokens, streamed[i]);
        tokens += streamed[i].size();
      }
      EXPECT_EQ(generator.getTimes().newTokens, tokens);
    }
}

// The programs that see a request's tokens, and the chunks, are the same beside any others: step
// kernels write down which chunks each slot was given.
TEST(GeneratorTest, ChunksDependOnTheRequestAlone) {
  using Chunks = std::vector<std::pair<int64_t, int32_t>>; // of a program with chunks of, how many
  auto chunksOf = [](std::span<const GenerateRequest> requests) {
    static std::array<Chunks, 3> chunks;
    chunks = {};
    auto note = []<int64_t chunk>(void *const *slices, int64_t begin, int64_t end) {
      step<chunk>(slices, begin, end);
      for (int64_t slot = begin; slot < end; ++slot)
        if (int32_t count = static_cast<const int32_t *>(slices[2])[slot])
          chunks[static_cast<size_t>(slot)].push_back({chunk, count});
    };
    BindOptions options;
    options.kernels["prefill"] = [](void *const *slices, int64_t begin, int64_t end) {
      decltype(note)().template operator()<prefillChunk>(slices, begin, end);
    };
    options.kernels["decode"] = [](void *const *slices, int64_t begin, int64_t end) {
      decltype(note)().template operator()<1>(slices, begin, end);
    };
    auto session = *Session::bind(*counterModel(3).load(), options);
    EXPECT_TRUE(Generator::create(*session)->run(requests));
    return chunks;
  };
  std::vector<GenerateRequest> requests = {
      {{3}, 6, {}}, {{1, 2, 3, 4, 5, 6, 7, 8, 9}, 5, {}}, {{10, 20, 30, 40, 1, 2, 3}, 7, {}}};
  std::array<Chunks, 3> together = chunksOf(requests);
  for (size_t i = 0; i < requests.size(); ++i)
    EXPECT_EQ(chunksOf(std::span(requests).subspan(i, 1))[0], together[i]) << i;
}

TEST(GeneratorTest, SamplingOptions) {
  auto session = bind(counterModel(3));
  auto generator = *Generator::create(*session);
  std::vector<GenerateRequest> requests = {
      {{1, 2, 3, 4, 5}, 6, {.temperature = 0.5f, .topK = 4}},
      {{7}, 6, {.temperature = 1, .minP = 0.5f}},
      {{9, 8}, 4, {.temperature = 1, .topP = 0.25f, .seed = (uint64_t(2) << 32) + 5}}};
  auto results = generator.run(requests);
  ASSERT_TRUE(results);
  for (size_t i = 0; i < requests.size(); ++i)
    EXPECT_EQ((*results)[i].tokens, expected(requests[i])) << i;
  // More than there are tokens is all of them.
  requests = {{{1}, 2, {.topK = vocab + 1}}, {{1}, 2, {.topK = int64_t(1) << 40}}};
  results = generator.run(requests);
  EXPECT_EQ((*results)[0].tokens, (*results)[1].tokens);
}

TEST(GeneratorTest, StopReasons) {
  auto session = bind(counterModel(1));
  auto generator = *Generator::create(*session);
  auto run = [&](std::vector<int32_t> prompt, int64_t most,
                 const Generator::Callback &callback = {}) {
    GenerateRequest request{std::move(prompt), most, {}};
    return generator.run(std::span(&request, 1), callback)->front();
  };
  GenerateResult end = run({48}, 10);
  EXPECT_EQ(end.tokens, std::vector<int32_t>{49});
  EXPECT_EQ(end.reason, StopReason::EndOfSequence);
  GenerateRequest beyond{.prompt = {48}, .maxNewTokens = 3, .ignoresEnd = true};
  GenerateResult passed = generator.run(std::span(&beyond, 1))->front();
  EXPECT_EQ(passed.tokens.size(), 3u);
  EXPECT_EQ(passed.reason, StopReason::MaxNewTokens);
  EXPECT_EQ(run({1}, 3).reason, StopReason::MaxNewTokens);
  EXPECT_TRUE(run({1}, 0).tokens.empty());
  EXPECT_EQ(run({1}, 10, [](size_t, int32_t) { return false; }).reason, StopReason::Caller);
  std::vector<int32_t> full(maxSequence, 2);
  GenerateResult last = run(full, 100); // the cache is full, yet the last logits give one token
  EXPECT_EQ(last.tokens.size(), 1u);
  EXPECT_EQ(last.reason, StopReason::MaxSequence);
}

TEST(GeneratorTest, CallbackMayFail) {
  auto session = bind(counterModel(1));
  auto generator = *Generator::create(*session);
  GenerateRequest request{{1}, 10, {}};
  int calls = 0;
  auto results = generator.run(std::span(&request, 1), [&](size_t, int32_t) -> Expected<bool> {
    if (++calls == 2)
      return fail("rank 1", "is silent", "");
    return true;
  });
  ASSERT_FALSE(results);
  EXPECT_EQ(results.error().message(), "rank 1: is silent");
  EXPECT_EQ(calls, 2);
}

TEST(GeneratorTest, PenaltiesNeedInputs) {
  auto session = bind(counterModel(1));
  auto generator = *Generator::create(*session);
  for (Penalties penalties : {Penalties{.repetition = 1.1f}, {.presence = 1}, {.frequency = -1}}) {
    GenerateRequest request{{1}, 1, {.penalties = penalties}};
    auto results = generator.run(std::span(&request, 1));
    ASSERT_FALSE(results);
    EXPECT_NE(results.error().message().find("takes none; compile the model with `penalties`"),
              std::string::npos);
  }
}

// Finds nothing to draw by after the token 13.
void stepOrNothing(void *const *slices, int64_t begin, int64_t end) {
  step<1>(slices, begin, end);
  auto *tokens = static_cast<const int32_t *>(slices[0]);
  auto *token = static_cast<int32_t *>(slices[9]);
  for (int64_t slot = begin; slot < end; ++slot)
    if (tokens[slot] == 13)
      token[slot] = -1;
}

TEST(GeneratorTest, LogitsThatAreNotFiniteEndTheRun) {
  BindOptions options;
  options.threads = 1;
  options.kernels["prefill"] = step<prefillChunk>;
  options.kernels["decode"] = stepOrNothing;
  auto session = *Session::bind(*counterModel(2, false).load(), options);
  auto generator = *Generator::create(*session);
  // In the prompt nothing is drawn.
  std::vector<GenerateRequest> requests = {{{5, 13, 2}, 3, {}}, {{1}, 3, {}}};
  auto results = generator.run(requests);
  ASSERT_TRUE(results) << results.error().message();
  EXPECT_EQ((*results)[0].tokens, expected(requests[0]));
  requests[1].prompt = {4, 13};
  results = generator.run(requests);
  ASSERT_FALSE(results);
  EXPECT_EQ(
      results.error().message(),
      "token 2: its logits are not finite; compute in a type of a larger range (`dtype` f32), "
      "or take other weights");
}

TEST(GeneratorTest, BadRequests) {
  auto session = bind(counterModel(1));
  auto generator = *Generator::create(*session);
  auto message = [&](std::vector<int32_t> prompt) {
    GenerateRequest request{std::move(prompt), 4, {}};
    return generator.run(std::span(&request, 1)).error().message();
  };
  EXPECT_EQ(message({}), "prompt: it has no tokens; give a text or at least one token");
  EXPECT_EQ(
      message(std::vector<int32_t>(25)),
      "prompt: it has 25 tokens, the model's max_sequence is 24; shorten it or raise `max_seq`");
  EXPECT_EQ(message({1, 50}), "token 50: the vocabulary has the ids 0 to 49; use ids of this "
                              "model's tokenizer");
  EXPECT_EQ(message({-1}), "token -1: the vocabulary has the ids 0 to 49; use ids of this "
                           "model's tokenizer");
  std::vector<GenerateRequest> two(2, GenerateRequest{{1, 2}, 1, {}});
  two[1].cached = 1;
  EXPECT_EQ(generator.run(two).error().message(),
            "request 1: no slot has tokens of it in its cache: there are 1; compile the model with "
            "a larger `batch`");
  auto refusal = [&](SamplingOptions sampling) {
    GenerateRequest request{{1}, 1, sampling};
    return generator.run(std::span(&request, 1)).error().message();
  };
  EXPECT_EQ(refusal({.temperature = -1}),
            "`temperature` -1: is not a number from 0 up; give 0.8, for example");
  EXPECT_NE(refusal({.temperature = NAN}).find("temperature"), std::string::npos);
  EXPECT_NE(refusal({.temperature = HUGE_VALF}).find("temperature"), std::string::npos);
  EXPECT_EQ(refusal({.topK = -1}), "`top_k` -1: is not a number from 0 up; give 40, or 0 for all");
  EXPECT_EQ(refusal({.topP = 0}),
            "`top_p` 0: is not a number above 0 and up to 1; give 0.9, or 1 for all");
  EXPECT_NE(refusal({.topP = 1.5f}).find("`top_p` 1.5"), std::string::npos);
  EXPECT_EQ(refusal({.minP = 2}),
            "`min_p` 2: is not a number from 0 to 1; give 0.05, or 0 for all");
  EXPECT_EQ(refusal({.penalties = {.repetition = 0}}),
            "`repetition_penalty` 0: is not a number above 0; give 1.1, or 1 for none");
  EXPECT_NE(refusal({.penalties = {.presence = NAN}}).find("`presence_penalty`"),
            std::string::npos);
  EXPECT_NE(refusal({.penalties = {.frequency = INFINITY}}).find("`frequency_penalty`"),
            std::string::npos);
  EXPECT_NE(refusal({.minP = NAN}).find("`min_p`"), std::string::npos);
  EXPECT_NE(refusal({.topP = NAN}).find("`top_p`"), std::string::npos);
}

TEST(GeneratorTest, UnfitExecutables) {
  auto session = bind(counterModel(1, false, false));
  EXPECT_FALSE(Generator::create(*session));
  Parts parts = counterModel(1);
  parts.metadata.erase("max_seq");
  session = bind(parts);
  EXPECT_FALSE(Generator::create(*session));
  parts = counterModel(1);
  parts.programs[0].outputs[0].shape = {1, 1};
  session = bind(parts);
  EXPECT_FALSE(Generator::create(*session));
  parts = counterModel(1);
  parts.programs[0].inputs[1].name = "begin";
  session = bind(parts);
  EXPECT_FALSE(Generator::create(*session));
  // Before steps drew tokens, they gave logits.
  parts = counterModel(1);
  parts.programs[0].outputs[0].name = "logits";
  session = bind(parts);
  EXPECT_NE(Generator::create(*session).error().message().find(
                "has no tensor 'token'; compile the model again"),
            std::string::npos);
}

} // namespace
