#include "sinter/QuantizedFolder.h"
#include "runtime/Base/AtomicFile.h"
#include "runtime/Base/Json.h"
#include "runtime/Base/ReadFile.h"
#include "runtime/Base/WriteFloats.h"
#include "runtime/Weights/SafetensorsLayout.h"
#include "sinter/TrainData.h"
#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace sinter;
namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

static tl::unexpected<Error> failFolder(const fs::path &path, const std::error_code &error) {
  return fail(path.string(), "cannot be written: " + error.message(),
              "choose a place that exists, is writable and has room");
}

Expected<QuantizedFolder> QuantizedFolder::create(const fs::path &path) {
  std::error_code error;
  if (fs::exists(path, error) && !fs::is_empty(path, error))
    return fail("`out` " + path.string(), "is there already and is not empty", "name another");
  // A name of this process's own, in the folder that the directory will be in.
  fs::path whole = fs::absolute(path).lexically_normal();
  if (!whole.has_filename())
    whole = whole.parent_path();
  QuantizedFolder folder;
  folder.path = whole;
  fs::path aside = whole;
  aside += ".writing-" + std::to_string(::getpid());
  fs::remove_all(aside, error);
  if (!fs::create_directory(aside, error))
    return failFolder(path, error);
  folder.aside = aside;
  return folder;
}

QuantizedFolder::~QuantizedFolder() {
  std::error_code ignored;
  if (!aside.empty())
    fs::remove_all(aside, ignored);
}

std::span<const std::byte> QuantizedFolder::keep(std::vector<std::byte> bytes) {
  return made.emplace_back(std::move(bytes));
}

template <typename T> static std::vector<std::byte> toBytes(const std::vector<T> &values) {
  auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

void QuantizedFolder::add(const std::string &name, const Tensor &tensor) {
  std::span<const std::byte> data = tensor.data;
  if (tensor.decoder) {
    uint64_t bytes = sizeOf(*tensor.dtype);
    for (int64_t extent : tensor.shape)
      bytes *= static_cast<uint64_t>(extent);
    std::vector<std::byte> elements(bytes);
    tensor.decoder.decode(0, tensor.decoder.items, elements.data());
    data = keep(std::move(elements));
  }
  tensors.push_back({name, *tensor.dtype, tensor.shape, data});
}

static std::vector<std::byte> roundScales(const std::vector<float> &scales, DType type) {
  std::vector<std::byte> rounded(scales.size() * sizeOf(type));
  writeFloats(scales, type, rounded.data());
  return rounded;
}

uint64_t QuantizedFolder::add(const std::string &name, const EncodedMatrix &matrix,
                              const QuantizationFormat &format) {
  const WeightEncoding &encoding = format.encoding;
  int64_t rows = matrix.rows, groups = encoding.groups(matrix.columns);
  int64_t scaleRows = encoding.scaleRows(rows);
  std::span<const std::byte> scales = keep(roundScales(matrix.scales, encoding.scaleType));
  tensors.push_back({name + ".weight_scale", encoding.scaleType, {scaleRows, groups}, scales});
  if (!format.isPacked) {
    tensors.push_back({name + ".weight",
                       DType::U8,
                       {rows, matrix.columns},
                       keep(toBytes(matrix.codes)),
                       encoding.isFloat ? "F8_E4M3" : "I8"});
    return scales.size() + matrix.codes.size();
  }
  std::vector<uint32_t> words = packCodes(matrix, encoding.bits);
  tensors.push_back({name + ".weight_packed",
                     DType::I32,
                     {rows, static_cast<int64_t>(words.size()) / rows},
                     keep(toBytes(words))});
  tensors.push_back({name + ".weight_shape",
                     DType::I64,
                     {2},
                     keep(toBytes(std::vector<int64_t>{rows, matrix.columns}))});
  return scales.size() + words.size() * sizeof(uint32_t);
}

static std::string nameFile(size_t index) {
  std::string number = std::to_string(index + 1);
  return "model-" + std::string(number.size() < 5 ? 5 - number.size() : 0, '0') + number +
         ".safetensors";
}

Expected<void> QuantizedFolder::writeFile() {
  fs::path file = aside / nameFile(files.size());
  SINTER_TRY(SafetensorsLayout layout, layOutSafetensors(tensors, {{"format", "pt"}}, file));
  std::vector<std::span<const std::byte>> parts = {std::as_bytes(std::span(layout.head))};
  for (const TensorToWrite *tensor : layout.order)
    parts.push_back(tensor->data);
  SINTER_CHECK(writeFileSynced(file.string(), parts));
  written += layout.bytes;
  std::vector<std::string> &names = files.emplace_back();
  for (const TensorToWrite &tensor : tensors) {
    names.push_back(tensor.name);
    tensorBytes += tensor.data.size();
  }
  tensors.clear();
  made.clear();
  return {};
}

Expected<void> QuantizedFolder::writeText(const std::string &name, const std::string &text) const {
  auto bytes = std::as_bytes(std::span(text));
  return writeFileSynced((aside / name).string(), std::span(&bytes, 1));
}

static Json describe(const QuantizationFormat &format, const std::vector<std::string> &wide) {
  const WeightEncoding &encoding = format.encoding;
  const char *type = encoding.isFloat ? "float" : "int";
  Json weights = {
      {"num_bits", encoding.bits}, {"type", type}, {"symmetric", true}, {"dynamic", false}};
  weights["strategy"] = encoding.outputs > 1 ? "block" : encoding.group ? "group" : "channel";
  if (encoding.outputs > 1)
    weights["block_structure"] = {encoding.outputs, encoding.group};
  else if (encoding.group)
    weights["group_size"] = encoding.group;
  Json inputs;
  if (format.quantizesActivations)
    inputs = {{"num_bits", 8},
              {"type", type},
              {"symmetric", true},
              {"dynamic", true},
              {"strategy", "token"}};
  const char *name = format.isPacked    ? "pack-quantized"
                     : encoding.isFloat ? "float-quantized"
                                        : "int-quantized";
  Json group = {{"targets", {format.isOfConv1D ? "Conv1D" : "Linear"}},
                {"weights", weights},
                {"input_activations", inputs},
                {"output_activations", nullptr},
                {"format", name}};
  return {{"quant_method", "compressed-tensors"},
          {"format", name},
          {"quantization_status", "compressed"},
          {"config_groups", {{"group_0", group}}},
          {"ignore", wide},
          {"kv_cache_scheme", nullptr}};
}

Expected<void> QuantizedFolder::finish(const Model &model, const QuantizationFormat &format,
                                       const std::vector<std::string> &wide) {
  Json index = {{"metadata", {{"total_size", tensorBytes}}}, {"weight_map", Json::object()}};
  for (size_t i = 0; i < files.size(); ++i)
    for (const std::string &name : files[i])
      index["weight_map"][name] = nameFile(i);
  SINTER_CHECK(writeText("model.safetensors.index.json", writeJson(index, 2) + "\n"));

  SINTER_TRY(std::string text, readModelConfig(model.path));
  Json config = parseOrderedJson(text);
  config["quantization_config"] = describe(format, wide);
  SINTER_CHECK(writeText("config.json", writeJson(config, 2) + "\n"));

  Model described = model;
  SINTER_CHECK(chooseTokenizer({}, described));
  for (const auto &[name, content] : described.tokenizerFiles)
    SINTER_CHECK(writeText(name, content));
  if (fs::path generation = model.path / "generation_config.json"; fs::exists(generation)) {
    SINTER_TRY(std::string content, readFile(generation));
    SINTER_CHECK(writeText("generation_config.json", content));
  }

  SINTER_CHECK(syncFolder(aside.string()));
  std::error_code error;
  fs::rename(aside, path, error); // an empty directory gives way
  if (error)
    return failFolder(path, error);
  aside.clear();
  return syncFolder(path.parent_path().string());
}
