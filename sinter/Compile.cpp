#include "sinter/Compile.h"
#include "compiler/Analysis/KernelLimits.h"
#include "frontends/Graph/ModelGraph.h"
#include "runtime/Base/CacheFolder.h"
#include "runtime/Base/ChildProcess.h"
#include "runtime/Base/CpuFeatures.h"
#include "runtime/Collective/Grid.h"
#include "runtime/Device/Cuda/FindGpu.h"
#include "runtime/Device/Cuda/Nvrtc.h"
#include "runtime/Format/ExecutableFile.h"
#include "runtime/Format/PipelineStages.h"
#include "sinter/TextModel.h"
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <set>
#include <thread>

using namespace sinter;
namespace fs = std::filesystem;

Expected<std::string> sinter::resolveTarget(const RunOptions &options) {
  if (!options.target.empty() && options.target != "cuda")
    return options.target;
  // A fact of the machine, and slow to find out.
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

bool sinter::isGpu(const RunOptions &options) {
  Expected<std::string> target = resolveTarget(options);
  return target ? target->starts_with("cuda") : options.target == "cuda";
}

int64_t sinter::getThreads(const RunOptions &options) {
  return options.threads ? options.threads
                         : std::max<int64_t>(1, std::thread::hardware_concurrency());
}

static DType chooseComputeType(const Model &model, const RunOptions &options) {
  if (options.computeType)
    return *options.computeType;
  bool stored = model.weights && !model.weights->getTensors().empty() &&
                model.weights->getTensors().front().dtype == DType::BF16;
  return stored && (isGpu(options) || runtime::hasCpuFeature("avx512bf16")) ? DType::BF16
                                                                            : DType::F32;
}

/// The element type of KV caches: on a GPU that of products, whose attention wants one type.
static Expected<DType> chooseCacheType(const RunOptions &options, DType compute) {
  bool gpu = isGpu(options);
  if (options.cacheType == DType::F16 && !gpu)
    return fail("`cache_dtype` f16", "processors have no caches of it", "give bf16 or f32");
  if (options.cacheType)
    return *options.cacheType;
  return compute == DType::F16 && !gpu ? DType::F32 : compute;
}

/// Ids as a comma-separated list.
static std::string joinIds(const std::vector<int64_t> &ids) {
  std::string text;
  for (int64_t id : ids)
    text += (text.empty() ? "" : ",") + std::to_string(id);
  return text;
}

/// Whether the target has products of fp8: code for compute capability 8.0 has none.
static bool multipliesFp8(const CompileOptions &options) {
  return options.isGpu() && options.target != "cuda:sm_80";
}

/// Whether the target multiplies weights of a format by rows that are rounded to 8 bits.
static bool multipliesRows(const CompileOptions &options, const IntegerMatrix &weights) {
  const IntegerFormat &format = weights.format;
  bool isOneSum = !format.hasMinima && format.group == weights.columns;
  if (format.dtype == DType::E4M3)
    return isOneSum && multipliesFp8(options) && options.activations == "stored";
  // A GPU has products of 8 bits alone. A processor multiplies four bytes of a group together.
  return options.isGpu() ? isOneSum && format.dtype == DType::I8
                         : format.group % 4 == 0 || format.group == weights.columns;
}

/// Whether weights can be rounded to fp8, where options want that.
static Expected<void> checkFp8(const CompileOptions &options) {
  if (options.weights != "fp8")
    return {};
  if (!multipliesFp8(options))
    return fail("`weights` fp8", std::string(options.getTarget()) + " multiplies no fp8",
                "give int8, or `target` cuda:sm_90 or later");
  if (options.activations != "stored")
    return fail("`activations` " + options.activations,
                "weights of fp8 multiply activations of fp8",
                "leave it out, or give `weights` int8");
  return {};
}

/// Fails where an option is of something that is not there.
static Expected<void> checkUnused(const Model &model, const RunOptions &options) {
  auto changed = listChanged<CompileOptions>(options);
  bool rounds = options.weights == "int8" || options.weights == "int4";
  if (changed.contains("weights_group") && !rounds)
    return fail("`weights_group` " + std::to_string(options.weightsGroup),
                "it is of weights that are rounded in groups",
                "add `weights` int8 or int4, or leave it out");
  if (options.quantizesHead && !rounds && options.weights != "fp8")
    return fail("`quantize_head`", "it is of weights that are rounded",
                "add `weights` int8 or int4, or leave it out");
  SINTER_TRY(std::vector<runtime::GridAxis> axes, runtime::parseGrid(options.grid));
  if (!options.stages.empty() &&
      std::ranges::find(axes, runtime::kPipelineAxis, &runtime::GridAxis::name) == axes.end())
    return fail("`stages` " + options.stages, "it is of a pipeline, and `grid` has none",
                "give `grid` pipeline=2, for example");
  if (!axes.empty() || model.text) // which may say the grid itself
    return {};
  for (const char *id : {"reduce", "forbid_gather"})
    if (changed.contains(id))
      return fail("`" + std::string(id) + "`", "it is of several ranks, and there is no `grid`",
                  "give `grid` tensor=2, for example, or leave it out");
  return {};
}

/// The layers whose inputs a group of `weights_group` does not divide stay as they are: a note
/// names one of them; that no layer is left is an error.
static Expected<void> checkGroups(const Model &model, const RunOptions &options) {
  bool isByChannel = options.activations == "int8" && options.weights == "int8";
  if (isByChannel && options.weightsGroup != RunOptions().weightsGroup)
    options.observer.note("with `activations` int8 weights of int8 have a scale a channel; "
                          "`weights_group` is not looked at");
  if ((options.weights != "int8" && options.weights != "int4") || isByChannel)
    return {};
  const LinearSpec *odd = nullptr;
  std::string path;
  bool hasFitting = false;
  for (const LayerSpec &layer : model.spec.layers) {
    std::vector<const LinearSpec *> linears = layer.getLinears();
    if (layer.experts)
      for (const ExpertsSpec::Expert &expert : layer.experts->experts)
        std::ranges::copy(expert.getLinears(), std::back_inserter(linears));
    for (const LinearSpec *linear : linears) {
      if (model.weights && model.weights->find(linear->weight.tensor)->integers)
        continue;
      bool fits = linear->in % options.weightsGroup == 0;
      hasFitting |= fits;
      if (!fits && !odd) {
        odd = linear;
        path = layer.path;
      }
    }
  }
  if (!odd)
    return {};
  std::string size = std::to_string(options.weightsGroup);
  std::string reason =
      "it does not divide the " + std::to_string(odd->in) + " inputs of " + path + "." + odd->name;
  if (!hasFitting)
    return fail("`weights_group` " + size, reason + ", nor those of any other layer",
                "give a number that does");
  options.observer.note("weights whose inputs groups of " + size +
                        " do not divide stay as they are, as those of " + path + "." + odd->name);
  return {};
}

/// The tensors that hold experts' matrices.
static std::set<std::string> listExperts(const ModelSpec &spec) {
  std::set<std::string> tensors;
  for (const LayerSpec &layer : spec.layers)
    if (layer.experts)
      for (const ExpertsSpec::Expert &expert : layer.experts->experts)
        for (const LinearSpec *linear : expert.getLinears())
          tensors.insert(linear->weight.tensor);
  return tensors;
}

/// Whether experts are multiplied as they are stored: on a processor as integers, of which groups
/// are whole words, and an expert's columns whole panels of any.
static bool multipliesExperts(const ModelSpec &spec, const CompileOptions &options,
                              const IntegerMatrix &weights) {
  constexpr int64_t word = 4, panel = 32;
  const IntegerFormat &format = weights.format;
  return options.isGpu() || (format.dtype != DType::E4M3 &&
                             (format.group % word == 0 || format.group == weights.columns) &&
                             spec.hiddenSize % panel == 0 && spec.expertSize % panel == 0);
}

/// What models with experts are not compiled for.
static Expected<void> checkExperts(const Model &model, const CompileOptions &options) {
  if (!model.spec.hasExperts())
    return {};
  if (options.training.fp8 != "none")
    return fail("`fp8` " + options.training.fp8, "experts are not multiplied in fp8",
                "leave it out");
  return {};
}

/// Kernels take heads of so many elements at the most; of latent vectors, where these are keys.
static Expected<void> checkHeads(const ModelSpec &spec, const CompileOptions &options) {
  if (spec.hasLinearAttention() && spec.linearKeySize > kLongestLinearKey)
    return fail("the model",
                "its linear attention has keys of " + std::to_string(spec.linearKeySize) +
                    " elements, of which a kernel takes " + std::to_string(kLongestLinearKey) +
                    " at the most",
                "");
  bool trains = !options.entries.empty() && options.entries.front() == "train_step";
  bool isGpu = options.isGpu();
  int64_t most = !isGpu ? kWidestProcessorHead : trains ? kWidestGpuGradHead : kWidestGpuHead;
  int64_t width = spec.valueSize;
  for (const LayerSpec &layer : spec.layers)
    width = std::max(width, spec.getHeadDim(layer));
  if (spec.latentSize && !trains)
    width = spec.latentSize + spec.rotarySize;
  if (width <= most)
    return {};
  return fail(isGpu ? "`target` " + options.target : "the model",
              "its attention has heads of " + std::to_string(width) + " elements, of which " +
                  (!isGpu   ? "a processor"
                   : trains ? "training on a GPU"
                            : "a GPU") +
                  " takes " + std::to_string(most) + " at the most",
              isGpu && width <= kWidestProcessorHead ? "give `target` cpu" : "");
}

Expected<CompileRequest> sinter::makeRequest(const Model &model, const RunOptions &options,
                                             std::vector<std::string> entries, int64_t chunk,
                                             int64_t maxSequence) {
  if (model.spec.positions == PositionKind::Learned && maxSequence > model.spec.maxPositions)
    return fail("`max_seq` " + std::to_string(maxSequence),
                "the model has " + std::to_string(model.spec.maxPositions) + " learned positions",
                "use at most that many");
  CompileRequest request;
  if (model.text) {
    bool trains = !entries.empty() && entries.front() == "train_step";
    SINTER_TRY(std::vector<std::string> selected, selectEntries(model, entries));
    SINTER_CHECK(takeSizes(model, options, trains, chunk, maxSequence));
    request.graph = makeTextGraph(model.description, model.path.string(), std::move(selected));
  } else {
    request.graph = makeModelGraph(model.spec);
  }
  request.description = model.description;
  if (!options.noCache) {
    SINTER_TRY(request.kernelCache, Cache::standard());
  }
  CompileOptions &compile = request.options;
  compile = options;
  SINTER_TRY(compile.target, resolveTarget(options));
  compile.cores = getThreads(options);
  compile.computeType = chooseComputeType(model, options);
  SINTER_TRY(compile.cacheType, chooseCacheType(options, *compile.computeType));
  compile.chunk = chunk;
  compile.maxSequence = maxSequence;
  compile.entries = std::move(entries);
  // The cache may have room for more than what is run. Short sequences share an executable.
  const RotarySpec *stretched = model.spec.findStretchedRotary();
  if (options.length && stretched)
    compile.ropeLength = std::max(options.length, stretched->getUnstretchedLength());
  request.onWarning = options.observer.onWarning;
  request.contents.seed = options.seed;
  request.contents.attachments = model.tokenizerFiles;
  request.contents.metadata = {
      {"model_type", model.spec.modelType},
      {"vocab_size", std::to_string(model.spec.vocabSize)},
      {"max_positions", std::to_string(model.spec.maxPositions)},
      {"bos_token_id", joinIds(model.spec.bosIds)},
      {"eos_token_ids", joinIds(model.spec.eosIds)},
  };
  auto isRecurrent = [](const LayerSpec &layer) {
    return layer.mixer != MixerKind::Attention || layer.stateSpace;
  };
  if (std::ranges::any_of(model.spec.layers, isRecurrent))
    request.contents.metadata["recurrent"] = "true"; // no cache of theirs goes back to a token
  if (!model.spec.unusedSampling.empty())
    request.contents.metadata["unused_sampling"] = model.spec.unusedSampling;
  int64_t ropeLength = compile.ropeLength ? compile.ropeLength : maxSequence;
  if (stretched && ropeLength > stretched->getUnstretchedLength()) {
    request.contents.metadata["rotary_length"] = std::to_string(ropeLength);
    request.contents.metadata["trained_length"] = std::to_string(stretched->getUnstretchedLength());
  }
  SINTER_CHECK(checkExperts(model, compile));
  if (!model.text)
    SINTER_CHECK(checkHeads(model.spec, compile));
  SINTER_CHECK(checkFp8(compile));
  SINTER_CHECK(checkUnused(model, options));
  SINTER_CHECK(checkGroups(model, options));
  std::string widened, widenedExpert; // tensors of fp8
  bool multipliesBytes =
      compile.weights == "int8" || (compile.weights == "int4" && !compile.isGpu());
  if (model.weights) {
    bool keepsIntegers = compile.weights != "float";
    std::set<std::string> experts = listExperts(model.spec);
    for (const ParameterInfo &parameter : model.getParameters()) {
      const Tensor &tensor = *model.weights->find(parameter.name);
      request.parameterTypes[parameter.name] = *tensor.dtype;
      if (keepsIntegers && tensor.dtypeName == "fp8" && !tensor.integers)
        widened = tensor.name;
      bool isExpert = experts.contains(parameter.name);
      if (!keepsIntegers || !tensor.integers)
        continue;
      if (isExpert && !multipliesExperts(model.spec, compile, *tensor.integers)) {
        if (tensor.integers->format.dtype == DType::E4M3)
          widenedExpert = tensor.name;
        continue;
      }
      IntegerFormat &format = request.integerFormats[parameter.name] = tensor.integers->format;
      // Rows of experts are multiplied as numbers.
      bool byRows = !isExpert && multipliesRows(compile, *tensor.integers);
      format.roundsRows &= byRows && compile.activations != "float";
      multipliesBytes |= byRows && format.dtype != DType::E4M3;
    }
    for (const WeightFiles::File &file : model.weights->getFiles())
      request.contents.weightFiles.push_back({fs::absolute(file.path).string(), file.bytes, ""});
  }
  if (!widened.empty())
    options.observer.note("weights of fp8 are widened to f32, as '" + widened +
                          "' has blocks that do not divide its inputs");
  if (!widenedExpert.empty())
    options.observer.note("experts of fp8 are widened to f32, as '" + widenedExpert +
                          "': processors multiply by their numbers");
  if (compile.activations == "int8" && !multipliesBytes)
    return fail("`activations` int8",
                compile.isGpu() ? "the model has no weights of 8 bits with a scale a channel"
                                : "the model has no weights of integers in groups of whole words",
                "give `weights` int8");
  return request;
}

Expected<CompileResult> sinter::compileIsolated(const CompileRequest &request,
                                                const RunOptions &options) {
  if (!options.compilesApart)
    return compile(request);
  // The size of the executable, the executable, the report.
  SINTER_TRY(std::vector<std::byte> bytes, runInChild("compiling", [&]() -> ChildResult {
               SINTER_TRY(CompileResult result, compile(request));
               uint64_t size = result.executable.size();
               std::vector<std::byte> packed(sizeof size + size + result.memoryReport.size());
               std::memcpy(packed.data(), &size, sizeof size);
               std::ranges::copy(result.executable, packed.begin() + sizeof size);
               std::ranges::copy(std::as_bytes(std::span(result.memoryReport)),
                                 packed.end() - result.memoryReport.size());
               return packed;
             }));
  CompileResult result;
  uint64_t size;
  std::memcpy(&size, bytes.data(), sizeof size);
  const auto *report = reinterpret_cast<const char *>(bytes.data()) + sizeof size + size;
  result.memoryReport.assign(report, bytes.size() - sizeof size - size);
  bytes.resize(sizeof size + size);
  bytes.erase(bytes.begin(), bytes.begin() + sizeof size);
  result.executable = std::move(bytes);
  return result;
}

Expected<Compiled> sinter::compileCached(const CompileRequest &request, const RunOptions &options,
                                         const std::string &name) {
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
    if (auto executable = runtime::Executable::open(cached.string(), name)) {
      Cache::touch(cached);
      return Compiled{std::move(*executable), elapsedMs(), /*fromCache=*/true};
    }
  Progress progress(options.observer, "compiling", 0);
  SINTER_TRY(CompileResult result, compileIsolated(request, options));
  if (!cached.empty()) {
    auto header = runtime::makeExecutableHeader(result.executable);
    std::span<const std::byte> parts[] = {header, result.executable};
    cache.write(cached, parts);
    // Read from the file, its pages are the system's to give back.
    if (auto executable = runtime::Executable::open(cached.string(), name))
      return Compiled{std::move(*executable), elapsedMs(), /*fromCache=*/false};
  }
  SINTER_TRY(auto executable, runtime::Executable::fromFlatbuffer(result.executable, name));
  return Compiled{std::move(executable), elapsedMs(), /*fromCache=*/false};
}

Expected<LoadedModel> sinter::load(const Model &model, const RunOptions &options,
                                   std::vector<std::string> entries, int64_t chunk,
                                   int64_t maxSequence) {
  if (!model.isExecutable()) {
    SINTER_TRY(CompileRequest request,
               makeRequest(model, options, std::move(entries), chunk, maxSequence));
    SINTER_TRY(Compiled compiled, compileCached(request, options, model.path.string()));
    return LoadedModel{std::move(compiled.executable), model.weights, compiled.compileMs};
  }
  // An executable for another device says so when it is bound.
  auto given = listChanged<CompileOptions>(options);
  given.erase("target");
  SINTER_CHECK(compareOptions<CompileOptions>(
      options, [&](std::string_view id) { return model.executable->metadata(id); }, given,
      model.path.string()));
  return LoadedModel::open(model.executable, model.path);
}

Expected<LoadedModel> sinter::loadForGeneration(const Model &model, RunOptions options,
                                                int64_t promptTokens, int64_t newTokens) {
  // Tokens that prefill takes of all slots together at the most.
  constexpr int64_t kMostTokens = 512;
  constexpr int64_t kLeastChunk = 16, kLeastMaxSequence = 64;
  auto roundUp = [](int64_t size) {
    return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(size, 1))));
  };
  int64_t needed = promptTokens + newTokens, maxSequence = options.maxSequence;
  if (maxSequence == 0) {
    maxSequence = std::max(kLeastMaxSequence, roundUp(needed));
    if (!model.isExecutable() && model.spec.positions == PositionKind::Learned)
      maxSequence = std::min(maxSequence, model.spec.maxPositions);
  }
  // The last token is not fed back.
  options.length = std::clamp<int64_t>(needed - 1, 1, maxSequence);
  int64_t largestChunk = std::max(kLeastChunk, kMostTokens / roundUp(options.batch));
  int64_t chunk =
      std::min(maxSequence, std::clamp(roundUp(promptTokens), kLeastChunk, largestChunk));
  return load(model, options, {"prefill", "decode"}, chunk, maxSequence);
}

Expected<void> sinter::addWeights(const Model &model, bool embed, const Observer &observer,
                                  CompileRequest &request) {
  if (!model.weights)
    return {};
  if (!embed) {
    std::vector<FileReference> &files = request.contents.weightFiles;
    Progress progress(observer, "hashing weights", files.size());
    for (size_t i = 0; i < files.size(); ++i) {
      files[i].hash = model.weights->contentHash(i);
      progress.advance(i + 1);
    }
    return {};
  }
  std::vector<ExpectedTensor> needed;
  for (const ParameterInfo &parameter : model.getParameters())
    needed.push_back({parameter.name, parameter.shape});
  SINTER_TRY(request.contents.embeddedWeights, packWeights(needed, *model.weights));
  request.contents.weightFiles.clear();
  request.integerFormats.clear(); // what is embedded are numbers
  return {};
}
