#include "runtime/Generate/Generator.h"
#include "test/unit/runtime/TestExecutable.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace sinter;
using namespace sinter::runtime;
using namespace sinter::runtime::testing;
using fb::Space;

namespace {

constexpr int64_t vocab = 50, capacity = 24;

// A model whose next token is (sum of the cached tokens + their number) mod vocab. It notices when
// a token is fed twice, left out or put at a wrong position.
template <int64_t chunk> void step(void *const *slices, int64_t begin, int64_t end) {
  auto *tokens = static_cast<const int32_t *>(slices[0]);
  auto *start = static_cast<const int32_t *>(slices[1]);
  auto *count = static_cast<const int32_t *>(slices[2]);
  auto *cache = static_cast<int32_t *>(slices[3]);
  auto *logits = static_cast<float *>(slices[4]);
  for (int64_t slot = begin; slot < end; ++slot) {
    for (int64_t i = 0; i < count[slot]; ++i)
      cache[slot * capacity + start[slot] + i] = tokens[slot * chunk + i];
    int64_t sum = start[slot] + count[slot];
    for (int64_t i = 0; i < start[slot] + count[slot]; ++i)
      sum += cache[slot * capacity + i];
    for (int64_t i = 0; i < vocab; ++i)
      logits[slot * vocab + i] = i == sum % vocab ? 5.0f : 0.0f;
  }
}

constexpr int64_t prefillChunk = 4;

Parts counterModel(uint64_t batch, bool withPrefill = true, bool withDecode = true) {
  Parts parts;
  parts.kernels = {"prefill", "decode"};
  uint64_t cacheBytes = batch * capacity * 4;
  parts.stateBytes = cacheBytes;
  parts.metadata = {{"vocab_size", std::to_string(vocab)},
                    {"max_seq", std::to_string(capacity)},
                    {"eos_token_ids", "49"}};
  for (auto [name, chunk, wanted] :
       {std::tuple("prefill", prefillChunk, withPrefill), {"decode", int64_t(1), withDecode}}) {
    if (!wanted)
      continue;
    int64_t b = static_cast<int64_t>(batch);
    uint64_t tokenBytes = batch * static_cast<uint64_t>(chunk) * 4;
    Parts::Program program;
    program.name = name;
    program.inputBytes = tokenBytes + batch * 8;
    program.outputBytes = batch * vocab * 4;
    fb::Slice tokens = slice(Space::Input, 0, tokenBytes);
    fb::Slice start = slice(Space::Input, tokenBytes, batch * 4);
    fb::Slice count = slice(Space::Input, tokenBytes + batch * 4, batch * 4);
    fb::Slice logits = slice(Space::Output, 0, program.outputBytes);
    program.inputs = {{"tokens", fb::DType::I32, {b, chunk}, tokens},
                      {"start", fb::DType::I32, {b}, start},
                      {"count", fb::DType::I32, {b}, count}};
    program.outputs = {{"logits", fb::DType::F32, {b, vocab}, logits}};
    program.commands = {launch(chunk == 1 ? 1 : 0, batch,
                               {tokens, start, count, slice(Space::State, 0, cacheBytes), logits})};
    parts.programs.push_back(program);
  }
  return parts;
}

std::unique_ptr<Session> bind(const Parts &parts) {
  SessionOptions options;
  options.threads = 2;
  options.kernels["prefill"] = step<prefillChunk>;
  options.kernels["decode"] = step<1>;
  return *Session::bind(*parts.load(), options);
}

std::vector<int32_t> expected(const GenerateRequest &request) {
  std::vector<int32_t> sequence = request.prompt, added;
  while (static_cast<int64_t>(added.size()) < request.maxNewTokens &&
         static_cast<int64_t>(sequence.size()) <= capacity) {
    int64_t sum = static_cast<int64_t>(sequence.size());
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
    EXPECT_EQ(generator->times().promptTokens, 15u);
    // Fewer prompts than slots, in a cache that holds older ones.
    auto again = generator->run(std::span(requests).subspan(2));
    EXPECT_EQ((*again)[0].tokens, expected(requests[2]));
  }
}

TEST(GeneratorTest, StopReasons) {
  auto session = bind(counterModel(1));
  auto generator = *Generator::create(*session);
  auto run = [&](std::vector<int32_t> prompt, int64_t most, Generator::Callback callback = {}) {
    GenerateRequest request{std::move(prompt), most, {}};
    return generator.run(std::span(&request, 1), callback)->front();
  };
  GenerateResult end = run({48}, 10);
  EXPECT_EQ(end.tokens, std::vector<int32_t>{49});
  EXPECT_EQ(end.reason, StopReason::EndOfSequence);
  EXPECT_EQ(run({1}, 3).reason, StopReason::MaxNewTokens);
  EXPECT_TRUE(run({1}, 0).tokens.empty());
  EXPECT_EQ(run({1}, 10, [](size_t, int32_t) { return false; }).reason, StopReason::Caller);
  std::vector<int32_t> full(capacity, 2);
  GenerateResult last = run(full, 100); // the cache is full, yet the last logits give one token
  EXPECT_EQ(last.tokens.size(), 1u);
  EXPECT_EQ(last.reason, StopReason::Capacity);
}

TEST(GeneratorTest, BadRequests) {
  auto session = bind(counterModel(1));
  auto generator = *Generator::create(*session);
  auto message = [&](std::vector<int32_t> prompt) {
    GenerateRequest request{std::move(prompt), 4, {}};
    return generator.run(std::span(&request, 1)).error().message();
  };
  EXPECT_EQ(message({}), "prompt: it has no tokens; give a text or at least one token");
  EXPECT_EQ(message(std::vector<int32_t>(25)),
            "prompt: it has 25 tokens, the model's capacity is 24; shorten it or raise --max-seq");
  EXPECT_EQ(message({1, 50}), "token 50: the vocabulary has the ids 0 to 49; use ids of this "
                              "model's tokenizer");
  EXPECT_EQ(message({-1}), "token -1: the vocabulary has the ids 0 to 49; use ids of this "
                           "model's tokenizer");
  std::vector<GenerateRequest> two(2, GenerateRequest{{1}, 1, {}});
  EXPECT_FALSE(generator.run(two));
}

TEST(GeneratorTest, UnfitExecutables) {
  auto session = bind(counterModel(1, false, false));
  EXPECT_FALSE(Generator::create(*session));
  Parts parts = counterModel(1);
  parts.metadata.erase("max_seq");
  session = bind(parts);
  EXPECT_FALSE(Generator::create(*session));
  parts = counterModel(1);
  parts.metadata["vocab_size"] = "51";
  session = bind(parts);
  EXPECT_FALSE(Generator::create(*session));
  parts = counterModel(1);
  parts.programs[0].inputs[1].name = "begin";
  session = bind(parts);
  EXPECT_FALSE(Generator::create(*session));
}

int32_t chooseOnce(const SamplerOptions &options, const std::vector<float> &logits) {
  return Sampler(options, logits.size()).choose(logits);
}

TEST(SamplerTest, GreedyTiesGoToTheLowestId) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(chooseOnce({}, {1, 3, 3, 2}), 1);
  EXPECT_EQ(chooseOnce({}, {nan, -5, nan}), 1);
  EXPECT_EQ(chooseOnce({}, {nan, nan}), 0);
}

std::vector<double> frequencies(SamplerOptions options, const std::vector<float> &logits) {
  Sampler sampler(options, logits.size());
  std::vector<double> counts(logits.size());
  for (int i = 0; i < 40000; ++i)
    counts[static_cast<size_t>(sampler.choose(logits))] += 1.0 / 40000;
  return counts;
}

TEST(SamplerTest, FollowsTheDistribution) {
  std::vector<float> logits = {0, std::log(2.0f), std::log(5.0f)};
  auto plain = frequencies({1, 0, 1, 3}, logits);
  EXPECT_NEAR(plain[0], 1 / 8.0, 0.01);
  EXPECT_NEAR(plain[1], 2 / 8.0, 0.01);
  EXPECT_NEAR(plain[2], 5 / 8.0, 0.01);
  auto sharp = frequencies({0.5, 0, 1, 3}, logits);
  EXPECT_NEAR(sharp[2], 25 / 30.0, 0.01);
}

TEST(SamplerTest, TopKAndTopP) {
  std::vector<float> logits = {0, std::log(2.0f), std::log(5.0f), 0};
  auto two = frequencies({1, 2, 1, 3}, logits);
  EXPECT_EQ(two[0] + two[3], 0);
  EXPECT_NEAR(two[2], 5 / 7.0, 0.01);
  EXPECT_NEAR(frequencies({1, 1, 1, 3}, logits)[2], 1, 1e-9);
  EXPECT_NEAR(frequencies({1, 0, 0.5, 3}, logits)[2], 1, 1e-9);
  auto most = frequencies({1, 0, 0.6, 3}, logits); // 5/9 does not reach it, 7/9 does
  EXPECT_NEAR(most[1], 2 / 7.0, 0.01);
  EXPECT_EQ(most[0] + most[3], 0);
  EXPECT_NEAR(frequencies({1, 0, 0, 3}, logits)[2], 1, 1e-9);
}

TEST(SamplerTest, SeedsDecide) {
  std::vector<float> logits(100);
  auto draw = [&](uint64_t seed) {
    Sampler sampler({1, 0, 1, seed}, logits.size());
    std::vector<int32_t> ids;
    for (int i = 0; i < 20; ++i)
      ids.push_back(sampler.choose(logits));
    return ids;
  };
  EXPECT_EQ(draw(1), draw(1));
  EXPECT_NE(draw(1), draw(2));
}

} // namespace
