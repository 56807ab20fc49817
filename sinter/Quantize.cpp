#include "sinter/Quantize.h"
#include "runtime/Base/HalfFloat.h"
#include "sinter/Bench.h"
#include "sinter/Compile.h"
#include "sinter/Gptq.h"
#include "sinter/QuantizedFolder.h"
#include "sinter/Runner.h"
#include "sinter/TrainData.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

using namespace sinter;

namespace {
/// A weight that can be quantized.
struct Layer {
  std::string name, tensor; ///< the tensor's name is the layer's and ".weight"
  int64_t out = 0, in = 0;
  bool isTransposed = false; ///< stored as [in, out]
};

/// The layers of one input: other programs compute them as one and want them of one kind.
using LayerGroup = std::vector<Layer>;

/// x^T x of a group's input, [in, in], by the tensor of the group's first layer.
using Grams = std::map<std::string, std::vector<double>>;

/// A layer on its way.
struct Encoded {
  WeightEncoding encoding;
  std::shared_ptr<const EncodedMatrix> matrix;
  double error = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

/// The groups of each of the model's layers, every tensor once.
static std::vector<std::vector<LayerGroup>> listBlocks(const ModelSpec &spec) {
  std::set<std::string> seen;
  std::vector<std::vector<LayerGroup>> blocks;
  for (const LayerSpec &block : spec.layers) {
    std::vector<LayerGroup> groups;
    auto addGroup = [&](const std::vector<const LinearSpec *> &linears) {
      LayerGroup group;
      for (const LinearSpec *linear : linears)
        if (linear && linear->out && seen.insert(linear->weight.tensor).second)
          group.push_back({linear->weight.tensor.substr(0, linear->weight.tensor.rfind(".weight")),
                           linear->weight.tensor, linear->weight.tensorOut, linear->in,
                           linear->weight.layout == WeightRef::Layout::InOut});
      if (!group.empty())
        groups.push_back(std::move(group));
    };
    if (block.latent) {
      // What makes keys and values of a latent vector is multiplied from both sides: it stays wide.
      const std::optional<LinearSpec> &down = block.latent->queryDown;
      addGroup({down ? &*down : &block.query, &block.latent->down});
      addGroup({&block.query});
    } else if (block.linear) {
      addGroup(
          {&block.linear->query, &block.linear->key, &block.linear->value, &block.linear->gate});
    } else {
      addGroup({&block.query, &block.key, &block.value});
    }
    addGroup({&block.output});
    if (block.stateSpace) {
      addGroup({&block.stateSpace->gate}); // one tensor with all else that is multiplied
      addGroup({&block.stateSpace->output});
    }
    if (block.hasMlp()) {
      addGroup({block.gate ? &*block.gate : nullptr, &block.up});
      addGroup({&block.down});
    }
    if (block.input) {
      addGroup({&block.input->gate});
      addGroup({&block.input->projection});
    }
    if (block.experts && block.experts->input) {
      addGroup({&*block.experts->input});
      addGroup({&*block.experts->output});
    }
    // Other programs compute a layer's experts as one.
    std::vector<const LinearSpec *> ofExperts;
    if (block.experts)
      for (const ExpertsSpec::Expert &expert : block.experts->experts)
        std::ranges::copy(expert.getLinears(), std::back_inserter(ofExperts));
    addGroup(ofExperts);
    blocks.push_back(std::move(groups));
  }
  return blocks;
}

/// The elements of a tensor in f32.
static std::vector<float> readElements(const Tensor &tensor) {
  size_t count = static_cast<size_t>(tensor.shape[0] * tensor.shape[1]);
  std::vector<float> elements(count);
  auto *bytes = reinterpret_cast<std::byte *>(elements.data());
  if (tensor.decoder) {
    tensor.decoder.decode(0, tensor.decoder.items, bytes);
  } else if (*tensor.dtype == DType::F32) {
    std::memcpy(bytes, tensor.data.data(), tensor.data.size());
  } else {
    for (size_t i = 0; i < count; ++i) {
      uint16_t bits;
      std::memcpy(&bits, tensor.data.data() + 2 * i, sizeof bits);
      elements[i] = *tensor.dtype == DType::BF16 ? bf16ToFloat(bits) : f16ToFloat(bits);
    }
  }
  return elements;
}

static std::vector<float> transpose(const std::vector<float> &matrix, int64_t rows,
                                    int64_t columns) {
  std::vector<float> result(matrix.size());
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      result[column * rows + row] = matrix[row * columns + column];
  return result;
}

/// A layer's weights [out, in] in f32.
static Expected<std::vector<float>> readWeights(const Tensor &tensor, const Layer &layer) {
  std::vector<float> weights = readElements(tensor);
  if (!std::ranges::all_of(weights, [](float weight) { return std::isfinite(weight); }))
    return fail("tensor '" + layer.tensor + "'", "it holds numbers that are not finite",
                "these weights are damaged: take others");
  return layer.isTransposed ? transpose(weights, layer.in, layer.out) : std::move(weights);
}

/// A tensor of f32 with what a layer is after quantization, or what it was before.
static Tensor makeStandIn(const Tensor &original, const Layer &layer, const Encoded *encoded) {
  Tensor tensor = original;
  tensor.name = layer.tensor;
  tensor.dtype = DType::F32;
  if (!encoded && original.dtype == DType::F32)
    return tensor;
  auto decode = [original, layer, encoding = encoded ? encoded->encoding : WeightEncoding(),
                 matrix = encoded ? encoded->matrix : nullptr](uint64_t, uint64_t, std::byte *out) {
    std::vector<float> values = matrix ? decodeMatrix(*matrix, encoding) : readElements(original);
    if (matrix && layer.isTransposed)
      values = transpose(values, layer.out, layer.in);
    std::memcpy(out, values.data(), values.size() * sizeof(float));
  };
  tensor.decoder = {1, decode};
  return tensor;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// Outputs and inputs of a block of fp8, as DeepSeek's and Qwen's files have them.
static constexpr int64_t kBlock = 128;

static Expected<QuantizationFormat> chooseFormat(const QuantizeOptions &options) {
  QuantizationFormat format;
  WeightEncoding &encoding = format.encoding;
  if (options.scheme.empty())
    return fail("`scheme`", "there is none",
                "give int8, int8-weights, int4-weights, fp8 or fp8-blocks");
  bool hasBlocks = options.scheme == "fp8-blocks";
  format.quantizesActivations = options.scheme == "int8" || options.scheme == "fp8";
  format.isPacked = !format.quantizesActivations && !hasBlocks;
  encoding.isFloat = options.scheme == "fp8" || hasBlocks;
  encoding.bits = options.scheme == "int4-weights" ? 4 : 8;
  encoding.group = format.isPacked ? options.group : 0;
  if (hasBlocks) {
    if (options.method == "gptq")
      return fail("`method` gptq",
                  "the scale of a block is that of many outputs, which it rounds "
                  "one by one",
                  "give another, or `scheme` fp8");
    encoding.group = encoding.outputs = kBlock;
  }
  encoding.clip = options.method == "max"          ? ClipMethod::Max
                  : options.method == "percentile" ? ClipMethod::Percentile
                                                   : ClipMethod::Mse;
  return format;
}

static Expected<void> checkModel(const Model &model) {
  SINTER_CHECK(model.requireDescription("give the model that it was made from"));
  if (model.text)
    return fail(model.path.string(), "it is a graph, of which layers are not known",
                "give a Hugging Face directory or a .gguf file");
  if (!model.weights)
    return fail(model.path.string(), "it has no weights", "give a directory with weights");
  return {};
}

/// What experts are not quantized to.
static Expected<void> checkExperts(const Model &model, const QuantizeOptions &options) {
  if (!model.spec.hasExperts())
    return {};
  for (const LayerSpec &layer : model.spec.layers)
    if (layer.experts && layer.experts->experts.front().up.weight.matrices)
      return fail(model.path.string(), "its experts lie in one tensor, which is not quantized",
                  "give a model in which each expert has tensors of its own");
  if (options.method == "gptq")
    return fail("`method` gptq", "it is not for experts, of which each sees a part of the text",
                "give another");
  return {};
}

static Expected<void> checkLayers(const Model &model,
                                  const std::vector<std::vector<LayerGroup>> &blocks,
                                  const QuantizationFormat &format) {
  for (const auto &groups : blocks)
    for (const LayerGroup &group : groups)
      for (const Layer &layer : group) {
        int64_t size = format.encoding.group;
        if (size && format.encoding.outputs == 1 && layer.in % size != 0)
          return fail("`group` " + std::to_string(size),
                      "it does not divide the " + std::to_string(layer.in) + " inputs of " +
                          layer.name,
                      "give a divisor of them, or 0");
        if (model.weights->find(layer.tensor)->dtypeName.starts_with("int") ||
            model.weights->find(layer.tensor)->dtypeName == "fp8")
          return fail(model.path.string(), "it is quantized already",
                      "give the model that it was made from");
      }
  return {};
}

//===----------------------------------------------------------------------===//
// Quantizing
//===----------------------------------------------------------------------===//

namespace {
class Quantizer {
public:
  Quantizer(const Model &model, const QuantizeOptions &options, QuantizationFormat format,
            std::vector<std::vector<LayerGroup>> blocks)
      : model(model), options(options), format(format), blocks(std::move(blocks)),
        usesGptq(options.method == "gptq"), pool(static_cast<unsigned>(getThreads(options))) {}

  Expected<Quantization> run();

private:
  Expected<void> openText();
  Expected<Evaluation> measure(const Model &measured, const runtime::TokenStream &tokens) const;
  Model applyStandIns() const;
  Expected<double> measureCalibration();
  Expected<Grams> measureGrams(size_t block);
  Expected<void> addWide(QuantizedFolder &folder);
  Expected<void> quantizeGroup(const LayerGroup &group, const Grams &grams,
                               QuantizedFolder &folder);
  Expected<DecodeRate> measureRate(const Model &measured) const;
  Expected<Encoded> encode(const Layer &layer, const std::vector<double> *gram);
  void keep(const Layer &layer, const Encoded &encoded, QuantizedFolder &folder);

  const Model &model;
  const QuantizeOptions &options;
  QuantizationFormat format;
  std::vector<std::vector<LayerGroup>> blocks;
  bool usesGptq;
  runtime::ThreadPool pool;
  std::optional<runtime::TokenStream> calibration, keptOut;
  std::map<std::string, Tensor> standIns; ///< where layers are looked at on a text
  double lastLoss = 0;                    ///< with the layers quantized so far
  uint64_t quantizedBytes = 0;
  std::vector<std::string> wide;
  Quantization result;
};
} // namespace

Expected<void> Quantizer::openText() {
  if (options.calibrate.empty()) {
    if (options.maxLoss)
      return fail("`max_loss`", "there is no text to measure a loss on", "give `calibrate` FILE");
    if (usesGptq)
      return fail("`method` gptq", "there is no text to calibrate on", "give `calibrate` FILE");
    if (options.calibrateTokens != QuantizeOptions().calibrateTokens)
      return fail("`calibrate_tokens`", "there is no text that they are of",
                  "give `calibrate` FILE, or leave it out");
    return {};
  }
  SINTER_TRY(runtime::TokenStream tokens,
             openTokens(model, {options.calibrate}, "calibrate", options.observer));
  constexpr uint64_t kParts = 10, kLeast = 20; // two tokens in each part
  SINTER_CHECK(tokens.require(kLeast, "nine parts to calibrate on and one to measure on"));
  uint64_t size = tokens.size(), kept = size - size / kParts;
  auto most = static_cast<uint64_t>(options.calibrateTokens);
  calibration = tokens.part(0, std::min(kept, most));
  keptOut = tokens.part(kept, std::min(size, kept + most));
  return {};
}

Expected<Evaluation> Quantizer::measure(const Model &measured,
                                        const runtime::TokenStream &tokens) const {
  EvaluateOptions evaluation;
  static_cast<RunOptions &>(evaluation) = options;
  evaluation.files = {options.calibrate};
  return evaluateTokens(measured, evaluation, tokens);
}

/// How fast a model decodes, early in its context.
Expected<DecodeRate> Quantizer::measureRate(const Model &measured) const {
  constexpr int64_t kContext = 16, kIterations = 20;
  StepModeOptions decode;
  static_cast<RunOptions &>(decode) = options;
  decode.batch = 1;
  decode.mode.mode = "decode";
  decode.mode.context = std::min(kContext, measured.spec.maxPositions - 1);
  SINTER_TRY(BenchResult result, bench(measured, decode, {.iterations = kIterations}));
  return DecodeRate{1e3 / result.predictedMs, result.tokensPerSecond};
}

/// The model with what the layers are now.
Model Quantizer::applyStandIns() const {
  std::vector<Tensor> tensors;
  for (const auto &[name, tensor] : standIns)
    tensors.push_back(tensor);
  Model changed = model;
  changed.weights =
      std::make_shared<WeightFiles>(WeightFiles::replace(*model.weights, std::move(tensors)));
  return changed;
}

/// The loss on the text to calibrate on.
Expected<double> Quantizer::measureCalibration() {
  SINTER_TRY(Evaluation evaluation, measure(applyStandIns(), *calibration));
  return evaluation.loss;
}

/// The grams of a block, over windows of the text to calibrate on.
Expected<Grams> Quantizer::measureGrams(size_t block) {
  constexpr int64_t kWindow = 512;
  int64_t window =
      std::min({kWindow, model.spec.maxPositions, static_cast<int64_t>(calibration->size())});
  std::string entry = "gram_" + std::to_string(block);
  RunOptions run = options;
  run.batch = 1;
  run.length = window;
  SINTER_TRY(Runner runner, Runner::open(applyStandIns(), run, {entry}, window, window));
  SINTER_TRY(size_t program, runner.getSession().program(entry));
  Grams grams;
  std::vector<int32_t> tokens(static_cast<size_t>(window)), start = {0},
                                                            count = {static_cast<int32_t>(window)};
  for (uint64_t at = 0; at + tokens.size() <= calibration->size(); at += tokens.size()) {
    SINTER_CHECK(options.observer.checkStop("quantizing"));
    calibration->read(at, tokens);
    SINTER_CHECK(runner.step(entry, tokens, start, count));
    for (const LayerGroup &group : blocks[block]) {
      const std::string &tensor = group.front().tensor;
      SINTER_TRY(runtime::TensorView view,
                 runner.getSession().output(program, "gram." + tensor, DType::F32));
      std::span<const float> values = view.as<float>();
      std::vector<double> &gram = grams[tensor];
      gram.resize(values.size());
      std::ranges::transform(gram, values, gram.begin(), std::plus<>());
    }
  }
  return grams;
}

/// Adds what is never quantized.
Expected<void> Quantizer::addWide(QuantizedFolder &folder) {
  std::set<std::string> quantizable;
  for (const auto &groups : blocks)
    for (const LayerGroup &group : groups)
      for (const Layer &layer : group)
        quantizable.insert(layer.tensor);
  for (const ParameterInfo &parameter : model.getParameters())
    if (!quantizable.contains(parameter.name))
      folder.add(parameter.name, *model.weights->find(parameter.name));
  wide.push_back(model.spec.head.name);
  if (model.spec.layerInputs)
    wide.push_back(model.spec.layerInputs->projection.name);
  for (const LayerSpec &layer : model.spec.layers)
    if (layer.experts) {
      wide.push_back(layer.path + "." + layer.experts->router.name);
      if (layer.experts->sharedGate)
        wide.push_back(layer.path + "." + layer.experts->sharedGate->name);
    }
  return folder.writeFile();
}

Expected<Encoded> Quantizer::encode(const Layer &layer, const std::vector<double> *gram) {
  const Tensor &tensor = *model.weights->find(layer.tensor);
  SINTER_TRY(std::vector<float> weights, readWeights(tensor, layer));
  Encoded encoded;
  encoded.encoding = format.encoding;
  encoded.encoding.scaleType = *tensor.dtype;
  encoded.matrix = std::make_shared<const EncodedMatrix>(
      gram ? encodeByGptq(pool, weights, layer.out, layer.in, *gram, encoded.encoding)
           : encodeMatrix(pool, weights, layer.out, layer.in, encoded.encoding));
  std::vector<float> decoded = decodeMatrix(*encoded.matrix, encoded.encoding);
  double squares = 0, errors = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    double weight = weights[i], difference = weight - decoded[i];
    squares += weight * weight;
    errors += difference * difference;
  }
  encoded.error = squares > 0 ? errors / squares : 0;
  model.weights->release(tensor);
  return encoded;
}

/// Adds a quantized layer to the files.
void Quantizer::keep(const Layer &layer, const Encoded &encoded, QuantizedFolder &folder) {
  QuantizationFormat ofLayer = format;
  ofLayer.encoding = encoded.encoding;
  quantizedBytes += folder.add(layer.name, *encoded.matrix, ofLayer);
  result.weights += encoded.matrix->codes.size();
}

Expected<void> Quantizer::quantizeGroup(const LayerGroup &group, const Grams &grams,
                                        QuantizedFolder &folder) {
  auto gram = grams.find(group.front().tensor);
  std::vector<Encoded> encoded;
  for (const Layer &layer : group) {
    SINTER_TRY(Encoded one, encode(layer, gram == grams.end() ? nullptr : &gram->second));
    encoded.push_back(std::move(one));
  }
  if (options.maxLoss || usesGptq)
    for (size_t i = 0; i < group.size(); ++i)
      standIns[group[i].tensor] =
          makeStandIn(*model.weights->find(group[i].tensor), group[i], &encoded[i]);
  std::optional<double> added;
  if (options.maxLoss) {
    SINTER_TRY(double loss, measureCalibration());
    added = loss - lastLoss;
    if (*added <= *options.maxLoss)
      lastLoss = loss;
  }
  bool isWide = added && *added > *options.maxLoss;
  for (size_t i = 0; i < group.size(); ++i) {
    const Layer &layer = group[i];
    const Tensor &tensor = *model.weights->find(layer.tensor);
    result.layers.push_back({layer.name, isWide, encoded[i].error, added});
    if (!isWide) {
      keep(layer, encoded[i], folder);
      continue;
    }
    wide.push_back(layer.name);
    standIns[layer.tensor] = makeStandIn(tensor, layer, nullptr);
    folder.add(layer.tensor, tensor);
  }
  return {};
}

Expected<Quantization> Quantizer::run() {
  SINTER_CHECK(openText());
  SINTER_TRY(QuantizedFolder folder, QuantizedFolder::create(options.out));
  if (keptOut) {
    SINTER_TRY(result.before, measure(model, *keptOut));
    SINTER_TRY(result.rateBefore, measureRate(model));
  }
  if (options.maxLoss || usesGptq)
    for (const auto &groups : blocks)
      for (const LayerGroup &group : groups)
        for (const Layer &layer : group)
          standIns[layer.tensor] = makeStandIn(*model.weights->find(layer.tensor), layer, nullptr);
  if (options.maxLoss) {
    SINTER_TRY(lastLoss, measureCalibration());
  }
  SINTER_CHECK(addWide(folder));
  std::optional<Progress> progress;
  if (!options.maxLoss && !usesGptq) // else what is measured in between reports its own
    progress.emplace(options.observer, "quantizing", blocks.size());
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].empty())
      continue;
    Grams grams;
    if (usesGptq) {
      SINTER_TRY(grams, measureGrams(i));
    }
    for (const LayerGroup &group : blocks[i]) {
      SINTER_CHECK(options.observer.checkStop("quantizing"));
      SINTER_CHECK(quantizeGroup(group, grams, folder));
    }
    SINTER_CHECK(folder.writeFile());
    if (progress)
      progress->advance(i + 1);
  }
  progress.reset();
  if (result.weights == 0)
    return fail("`max_loss` " + writeOption(*options.maxLoss),
                "every layer raises the loss by more", "give a larger one, or another `scheme`");
  SINTER_CHECK(folder.finish(model, format, wide));
  for (const WeightFiles::File &file : model.weights->getFiles())
    result.bytesBefore += file.bytes;
  result.bytesAfter = folder.getBytes();
  result.bitsPerWeight = 8 * double(quantizedBytes) / double(result.weights);
  if (keptOut) {
    SINTER_TRY(Model quantized, Model::open(options.out, options.observer));
    SINTER_TRY(result.after, measure(quantized, *keptOut));
    SINTER_TRY(result.rateAfter, measureRate(quantized));
  }
  return std::move(result);
}

Expected<Quantization> sinter::quantize(const Model &model, const QuantizeOptions &options) {
  SINTER_CHECK(checkOptions(options));
  if (options.out.empty())
    return fail("`out`", "there is none", "give a directory to make");
  SINTER_TRY(QuantizationFormat format, chooseFormat(options));
  if (!options.scheme.ends_with("-weights") && options.group != QuantizeOptions().group)
    options.observer.note("the scheme " + options.scheme +
                          " has no groups of its own size; `group` is not looked at");
  SINTER_CHECK(checkModel(model));
  SINTER_CHECK(checkExperts(model, options));
  std::vector<std::vector<LayerGroup>> blocks = listBlocks(model.spec);
  SINTER_CHECK(checkLayers(model, blocks, format));
  for (const auto &groups : blocks)
    for (const LayerGroup &group : groups)
      for (const Layer &layer : group)
        format.isOfConv1D |= layer.isTransposed;
  return Quantizer(model, options, format, std::move(blocks)).run();
}
