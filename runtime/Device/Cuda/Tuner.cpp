#include "runtime/Device/Cuda/Tuner.h"
#include "runtime/Base/CacheFolder.h"
#include "runtime/Base/ContentHash.h"
#include "runtime/Base/ReadFile.h"
#include "runtime/Device/Cuda/CudaEvent.h"
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <optional>
#include <vector>

namespace sinter::runtime::cuda {
namespace {

constexpr int rounds = 3, runsOfRound = 5;
constexpr float hopeless = 1.25f; // times the fastest, after the first round
constexpr uint64_t longestFile = 64;

std::string contentOf(size_t alternative, size_t count) {
  return std::to_string(alternative) + " of " + std::to_string(count) + "\n";
}

// What a file says, if it says one of `count` alternatives and nothing else.
std::optional<size_t> readTuning(const std::filesystem::path &file, size_t count) {
  if (file.empty())
    return std::nullopt;
  Expected<std::string> text = readFile(file.string(), longestFile);
  size_t alternative = 0;
  if (!text ||
      std::from_chars(text->data(), text->data() + text->size(), alternative).ec != std::errc() ||
      alternative >= count || *text != contentOf(alternative, count))
    return std::nullopt;
  Cache::touch(file);
  return alternative;
}

} // namespace

std::string Tuner::keyOf(const std::string &problem, size_t count) const {
  int driver = 0;
  context.getApi().cuDriverGetVersion(&driver);
  ContentHash hash;
  hash.add(problem + "\n" + std::to_string(count) + "\n" + context.getName() + "\n" +
           std::to_string(driver));
  return hash.hex();
}

Expected<size_t> Tuner::choose(const std::string &problem,
                               std::span<const Alternative> alternatives,
                               const std::function<Expected<void>()> &before) {
  if (alternatives.size() == 1)
    return 0;
  const std::string key = keyOf(problem, alternatives.size());
  if (auto known = chosen.find(key); known != chosen.end())
    return known->second;
  SINTER_TRY(Cache cache, Cache::standard());
  std::filesystem::path file = cache.pathOf(CacheKind::Tuning, key);
  std::optional<size_t> alternative = readTuning(file, alternatives.size());
  if (!alternative) {
    if (before)
      SINTER_CHECK(before());
    SINTER_TRY(alternative, measure(alternatives));
    // What cannot be written is timed again the next time.
    std::string text = contentOf(*alternative, alternatives.size());
    std::span<const std::byte> parts[] = {std::as_bytes(std::span(text))};
    cache.write(file, parts);
  }
  chosen[key] = *alternative;
  made.push_back(alternatives[*alternative].name + ", of " + std::to_string(alternatives.size()) +
                 " alternatives");
  return *alternative;
}

DeviceMemory Tuner::takeCacheSize() const {
  int bytes = 0;
  if (!pool || context.getApi().cuDeviceGetAttribute(&bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE,
                                                     context.getDevice()) != CUDA_SUCCESS)
    return {};
  return pool->allocate(static_cast<uint64_t>(bytes), "timing").value_or(DeviceMemory());
}

Expected<size_t> Tuner::measure(std::span<const Alternative> alternatives) const {
  SINTER_TRY(CudaEvent begin, CudaEvent::create(context, /*timed=*/true));
  SINTER_TRY(CudaEvent end, CudaEvent::create(context, /*timed=*/true));
  auto named = [](Expected<void> result, const Alternative &alternative) {
    if (!result) {
      std::string &what = result.error().what;
      what = "trying " + alternative.name + (what.empty() ? "" : ": ") + what;
    }
    return result;
  };
  const DeviceMemory inCache = takeCacheSize();
  constexpr float never = std::numeric_limits<float>::infinity();
  std::vector<float> least(alternatives.size(), never);
  std::optional<Error> refused;
  for (int round = 0; round < rounds; ++round) {
    const float fastest = *std::ranges::min_element(least);
    for (size_t i = 0; i < alternatives.size(); ++i) {
      if (round != 0 && (least[i] == never || least[i] > hopeless * fastest))
        continue;
      if (round == 0) {
        if (Expected<void> begun = named(alternatives[i].run(), alternatives[i]); !begun) {
          refused = refused ? *refused : std::move(begun).error();
          continue;
        }
        SINTER_CHECK(named(context.wait(""), alternatives[i]));
      }
      float time = 0;
      for (int run = 0; run < runsOfRound; ++run) {
        if (inCache.getBytes() != 0)
          SINTER_CHECK(context.check(context.getApi().cuMemsetD8Async(inCache.getAddress(), 0,
                                                                      inCache.getBytes(),
                                                                      context.getStream()),
                                     "clearing the L2 cache"));
        SINTER_CHECK(begin.record());
        SINTER_CHECK(named(alternatives[i].run(), alternatives[i]));
        SINTER_CHECK(end.record());
        SINTER_CHECK(named(end.wait(), alternatives[i]));
        SINTER_TRY(float milliseconds, end.millisecondsSince(begin));
        time += milliseconds;
      }
      least[i] = std::min(least[i], time);
    }
  }
  auto fastest = std::ranges::min_element(least);
  if (*fastest == never)
    return tl::unexpected(*refused);
  return static_cast<size_t>(fastest - least.begin());
}

} // namespace sinter::runtime::cuda
