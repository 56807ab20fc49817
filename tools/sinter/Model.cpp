#include "tools/sinter/Model.h"
#include "frontends/Gguf/GgufFile.h"
#include "frontends/Graph/ModelGraph.h"
#include "frontends/Tokenizer/Tokenizer.h"
#include "runtime/Base/CacheFolder.h"
#include "runtime/Base/ReadFile.h"
#include "runtime/Checkpoint/CheckpointFolder.h"
#include "runtime/Device/Cpu/Features.h"
#include "runtime/Device/Cuda/FindGpu.h"
#include "runtime/Device/Cuda/Nvrtc.h"
#include "runtime/Exec/ExecutableFile.h"
#include "runtime/Train/TrainStates.h"
#include "tools/sinter/CompileApart.h"
#include "tools/sinter/Output.h"
#include <algorithm>
#include <cctype>
#include <chrono>
#include <thread>

using namespace sinter;
using namespace sinter::cli;
namespace fs = std::filesystem;

/// Checks names and shapes of the weights, and that they are stored in types we compute from.
static Expected<void> checkWeights(const Model &model) {
  std::vector<ExpectedTensor> expected;
  for (const ParameterInfo &parameter : model.spec.parameters())
    expected.push_back({parameter.name, parameter.shape});
  SINTER_CHECK(checkTensors(expected, *model.weights, [&](std::string_view name) {
    return model.spec.isKnownSurplus(name);
  }));
  // A tied head may be stored once more, but not as another one: which is meant cannot be told.
  const Tensor *head = model.weights->find(model.spec.head.name + ".weight");
  const Tensor *embedding = model.weights->find(model.spec.embedding);
  if (!model.spec.tiedEmbeddings || !head ||
      (head->dtype == embedding->dtype && std::ranges::equal(head->data, embedding->data)))
    return {};
  return fail("tensor '" + head->name + "'",
              "differs from '" + embedding->name + "', which the description ties it to",
              "set tie_word_embeddings to false to use it, or leave it out");
}

/// The weights of a directory. Of a run that has not ended they are those of its newest checkpoint.
static Expected<WeightFiles> openDirectoryWeights(const fs::path &directory) {
  runtime::CheckpointFolder checkpoints(directory / "checkpoints");
  if (findWeights(directory) || checkpoints.list().empty())
    return WeightFiles::open(directory);
  auto newest = checkpoints.findNewestWhole([](const Error &error) {
    std::fprintf(stderr, "sinter: warning: %s\n", error.message().c_str());
  });
  if (!newest)
    return fail(directory.string(), "none of its checkpoints is whole", "train the model again");
  std::fprintf(stderr, "sinter: note: %s holds a run that has not ended: the weights are of %s\n",
               directory.c_str(), newest->path.filename().c_str());
  return WeightFiles::open(newest->path / runtime::modelFile);
}

Expected<Model> sinter::cli::openModel(const ModelOptions &options) {
  Model model;
  model.path = options.model;
  std::error_code error;
  fs::file_status status = fs::status(model.path, error);
  if (!fs::exists(status))
    return fail(options.model, "no such file or directory",
                "give a Hugging Face directory, a config.json, a .gguf or a .sinter file");
  if (!fs::is_directory(status) && model.path.extension() == ".sinter") {
    model.isExecutable = true;
    return model;
  }
  SINTER_TRY(model.spec, loadModelSpec(model.path));
  bool isGguf = GgufFile::isPath(model.path);
  if (!fs::is_directory(status)) {
    SINTER_TRY(model.description, readModelConfig(model.path));
    if (!isGguf)
      return model;
  }
  for (const char *name : {"config.json", "generation_config.json"})
    if (fs::exists(model.path / name)) {
      SINTER_TRY(std::string text, readFile(model.path / name));
      model.description += text;
    }
  if (auto files = Tokenizer::readFiles(model.path))
    model.tokenizerFiles = std::move(*files);
  SINTER_TRY(model.weights,
             isGguf ? WeightFiles::open(model.path) : openDirectoryWeights(model.path));
  SINTER_CHECK(checkWeights(model));
  return model;
}

Expected<void> sinter::cli::checkCompiled(const runtime::Executable &executable,
                                          const ModelOptions &options) {
  const std::pair<const char *, std::string> kept[] = {
      {"dtype", options.dtype},
      {"max_seq", options.capacity ? std::to_string(options.capacity) : ""},
      {"batch", options.batch != 1 ? std::to_string(options.batch) : ""}};
  for (const auto &[key, asked] : kept) {
    std::optional<std::string_view> has = executable.metadata(key);
    if (asked.empty() || !has || asked == *has)
      continue;
    std::string option = key == std::string_view("max_seq") ? "max-seq" : key;
    return fail("--" + option + " " + asked,
                executable.name() + " is compiled already, with --" + option + " " +
                    std::string(*has),
                "leave the option out, or compile the model again with it");
  }
  const std::pair<const char *, bool> others[] = {
      {"--cache-dtype", !options.cacheDtype.empty()},
      {"--tf32", options.tf32},
      {"--tune", options.tune},
      {"--disable-pass", !options.disabledPasses.empty()},
      {"--load-pass-plugin", !options.passPlugins.empty()},
      {"--add-pass", !options.addedPasses.empty()}};
  for (const auto &[option, given] : others)
    if (given)
      return fail(option, executable.name() + " is compiled already",
                  "leave the option out, or compile the model again with it");
  return {};
}

Expected<std::string> sinter::cli::getTarget(const ModelOptions &options) {
  if (!options.target.empty() && options.target != "cuda")
    return options.target;
  static const Expected<std::string> found = []() -> Expected<std::string> {
    SINTER_TRY(runtime::cuda::GpuInfo gpu, runtime::cuda::findGpu());
    // Without a compiler for its kernels it is of no use.
    SINTER_CHECK(runtime::cuda::nvrtcVersion());
    return runtime::cuda::targetFor(gpu.capability);
  }();
  if (options.target.empty() && !found)
    return std::string("cpu");
  return found;
}

bool sinter::cli::isGpu(const ModelOptions &options) {
  Expected<std::string> target = getTarget(options);
  return target ? target->starts_with("cuda") : options.target == "cuda";
}

Expected<DType> sinter::cli::getComputeType(const Model &model, const ModelOptions &options) {
  if (options.dtype == "f32")
    return DType::F32;
  if (options.dtype == "bf16")
    return DType::BF16;
  if (options.dtype == "f16")
    return DType::F16;
  bool stored = model.weights && !model.weights->tensors().empty() &&
                model.weights->tensors().front().dtype == DType::BF16;
  return stored && (isGpu(options) || runtime::hasCpuFeature("avx512bf16")) ? DType::BF16
                                                                            : DType::F32;
}

/// The element type of KV caches: on a GPU that of products, whose attention wants one type.
static Expected<DType> getCacheType(const ModelOptions &options, DType compute) {
  bool gpu = isGpu(options);
  if (options.cacheDtype == "f16" && !gpu)
    return fail("--cache-dtype f16", "processors have no caches of it", "give bf16 or f32");
  if (options.cacheDtype == "f16")
    return DType::F16;
  if (!options.cacheDtype.empty())
    return options.cacheDtype == "bf16" ? DType::BF16 : DType::F32;
  return compute == DType::F16 && !gpu ? DType::F32 : compute;
}

int sinter::cli::getThreads(const ModelOptions &options) {
  return options.threads ? options.threads
                         : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

/// The name of an element type as options write it.
static std::string lower(std::string_view name) {
  std::string text(name);
  for (char &letter : text)
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return text;
}

/// Ids as a comma-separated list.
static std::string joinIds(const std::vector<int64_t> &ids) {
  std::string text;
  for (int64_t id : ids)
    text += (text.empty() ? "" : ",") + std::to_string(id);
  return text;
}

Expected<CompileRequest> sinter::cli::makeRequest(const Model &model, const ModelOptions &options,
                                                  std::vector<std::string> entries, int64_t chunk,
                                                  int64_t capacity) {
  if (model.spec.positions == PositionKind::Learned && capacity > model.spec.maxPositions)
    return fail("--max-seq " + std::to_string(capacity),
                "the model has " + std::to_string(model.spec.maxPositions) + " learned positions",
                "use at most that many");
  CompileRequest request;
  request.graph = model.graph ? model.graph : makeModelGraph(model.spec);
  request.description = model.description;
  CompileOptions &compile = request.options;
  SINTER_TRY(compile.target, getTarget(options));
  compile.cores = getThreads(options);
  SINTER_TRY(compile.computeType, getComputeType(model, options));
  SINTER_TRY(compile.cacheType, getCacheType(options, compile.computeType));
  compile.tf32 = options.tf32;
  compile.tune = options.tune;
  compile.batch = options.batch;
  compile.chunk = chunk;
  compile.capacity = capacity;
  // The cache may have room for more than what is run. Short sequences share an executable.
  const RotarySpec &rotary = model.spec.rotary;
  bool followsLength = model.spec.positions == PositionKind::Rotary && rotary.dependsOnLength();
  if (options.length && followsLength)
    compile.ropeLength = std::max(options.length, rotary.unstretchedLength());
  compile.entries = std::move(entries);
  compile.disabledPasses = options.disabledPasses;
  compile.passPlugins = options.passPlugins;
  compile.addedPasses = options.addedPasses;
  request.contents.seed = options.seed;
  request.contents.attachments = model.tokenizerFiles;
  request.contents.metadata = {
      {"model_type", model.spec.modelType},
      {"vocab_size", std::to_string(model.spec.vocabSize)},
      {"max_seq", std::to_string(capacity)},
      {"max_positions", std::to_string(model.spec.maxPositions)},
      {"batch", std::to_string(options.batch)},
      {"chunk", std::to_string(chunk)},
      {"dtype", lower(nameOf(compile.computeType))},
      {"target", compile.target},
      {"bos_token_id", joinIds(model.spec.bosIds)},
      {"eos_token_ids", joinIds(model.spec.eosIds)},
  };
  int64_t ropeLength = compile.ropeLength ? compile.ropeLength : capacity;
  if (followsLength && ropeLength > rotary.unstretchedLength()) {
    request.contents.metadata["rotary_length"] = std::to_string(ropeLength);
    request.contents.metadata["trained_length"] = std::to_string(rotary.unstretchedLength());
  }
  if (model.weights) {
    for (const ParameterInfo &parameter : model.spec.parameters())
      request.parameterTypes[parameter.name] = *model.weights->find(parameter.name)->dtype;
    for (const WeightFiles::File &file : model.weights->files())
      request.contents.weightFiles.push_back({fs::absolute(file.path).string(), file.bytes, ""});
  }
  return request;
}

Expected<Compiled> sinter::cli::compileCached(const CompileRequest &request,
                                              const ModelOptions &options) {
  auto start = std::chrono::steady_clock::now();
  auto elapsedMs = [&] {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
        .count();
  };
  // A plugin may change between runs without its path changing.
  SINTER_TRY(Cache cache, Cache::standard());
  fs::path cached;
  if (!options.noCache && options.passPlugins.empty())
    cached = cache.pathOf(CacheKind::Executable, getCacheKey(request));
  // A damaged file in the cache is made anew.
  if (!cached.empty())
    if (auto executable = runtime::Executable::open(cached.string(), options.model)) {
      Cache::touch(cached);
      return Compiled{std::move(*executable), elapsedMs(), /*fromCache=*/true};
    }
  Progress progress("compiling", 0);
  SINTER_TRY(CompileResult result, compileApart(request));
  if (!cached.empty()) {
    auto header = runtime::makeExecutableHeader(result.executable);
    std::span<const std::byte> parts[] = {header, result.executable};
    cache.write(cached, parts);
    // Read from the file, its pages are the system's to give back.
    if (auto executable = runtime::Executable::open(cached.string(), options.model))
      return Compiled{std::move(*executable), elapsedMs(), /*fromCache=*/false};
  }
  SINTER_TRY(auto executable,
             runtime::Executable::fromFlatbuffer(result.executable, options.model));
  return Compiled{std::move(executable), elapsedMs(), /*fromCache=*/false};
}
