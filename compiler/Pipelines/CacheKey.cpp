#include "compiler/Analysis/BuildIdentity.h"
#include "compiler/Pipelines/Compile.h"
#include "runtime/Base/CpuFeatures.h"
#include <cstdio>
#include <xxhash.h>

using namespace sinter;

namespace {
/// A hash of a sequence of fields; each is preceded by its length, so no two sequences collide.
class KeyHasher {
public:
  KeyHasher() : state(XXH3_createState()) { XXH3_128bits_reset(state); }
  ~KeyHasher() { XXH3_freeState(state); }
  KeyHasher(const KeyHasher &) = delete;
  KeyHasher &operator=(const KeyHasher &) = delete;

  void add(uint64_t number) { XXH3_128bits_update(state, &number, sizeof number); }
  void add(std::string_view text) {
    add(text.size());
    XXH3_128bits_update(state, text.data(), text.size());
  }
  void add(const std::vector<std::string> &list) {
    add(list.size());
    for (const std::string &text : list)
      add(text);
  }
  void add(const std::map<std::string, std::string> &map) {
    add(map.size());
    for (const auto &[key, value] : map) {
      add(key);
      add(value);
    }
  }

  std::string finish() const {
    XXH128_hash_t hash = XXH3_128bits_digest(state);
    char text[33];
    std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                  static_cast<unsigned long long>(hash.low64));
    return text;
  }

private:
  XXH3_state_t *state;
};
} // namespace

std::string sinter::getCacheKey(const CompileRequest &request) {
  KeyHasher hasher;
  hasher.add(identifyBuild());
  hasher.add(runtime::cpuFeatures());
  hasher.add(runtime::assumedCpu().value_or(""));
  hasher.add(request.description);
  hasher.add(request.parameterTypes.size());
  for (const auto &[name, type] : request.parameterTypes) {
    hasher.add(name);
    hasher.add(static_cast<uint64_t>(type));
  }
  hasher.add(request.integerFormats.size());
  for (const auto &[name, format] : request.integerFormats) {
    hasher.add(name);
    hasher.add(static_cast<uint64_t>(format.dtype));
    hasher.add(static_cast<uint64_t>(format.group));
    hasher.add(static_cast<uint64_t>(format.hasMinima));
    hasher.add(static_cast<uint64_t>(format.roundsRows));
    hasher.add(static_cast<uint64_t>(format.scaleType));
    for (int8_t value : format.values.value_or(CodeValues()))
      hasher.add(static_cast<uint64_t>(value));
  }
  hasher.add(request.contents.metadata);
  hasher.add(request.contents.attachments);
  for (const FileReference &file : request.contents.weightFiles) {
    hasher.add(file.path);
    hasher.add(file.bytes);
    hasher.add(file.hash);
  }
  hasher.add(request.contents.seed);
  hasher.add(uint64_t{request.code});
  auto addOption = [&](const OptionInfo &info, const auto &value) {
    if (!info.key)
      return;
    if constexpr (std::is_same_v<decltype(value), const std::vector<std::string> &>)
      hasher.add(value);
    else
      hasher.add(writeOption(value));
  };
  const CompileOptions &options = request.options;
  CompileOptions::visit(options, addOption);
  TrainingOptions::visit(options.training, addOption);
  return hasher.finish();
}
