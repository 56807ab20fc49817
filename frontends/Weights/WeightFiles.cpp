#include "frontends/Weights/WeightFiles.h"
#include "frontends/Gguf/GgufTensors.h"
#include "frontends/Quantized/QuantizedTensors.h"
#include "runtime/Base/ContentHash.h"
#include "runtime/Base/Json.h"
#include "runtime/Base/ReadFile.h"
#include "runtime/Weights/SafetensorsLayout.h"
#include <algorithm>
#include <deque>
#include <map>
#include <set>

namespace sinter {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// The members of Hugging Face's classes that hold the base model.
constexpr std::string_view basePrefixes[] = {"transformer.", "model.", "gpt_neox."};

/// What tensors of a decoder begin with in a model of several parts, and without them.
constexpr std::pair<std::string_view, std::string_view> decoderPrefixes[] = {
    {"model.language_model.", "model."},
    {"language_model.model.", "model."},
    {"language_model.lm_head.", "lm_head."}};

/// Leaves of the tensors of a model of several parts those of its decoder, by the names that they
/// have without the others.
void takeDecoder(std::vector<Tensor> &tensors) {
  auto find = [](const Tensor &tensor) {
    return std::ranges::find_if(
        decoderPrefixes, [&](const auto &prefix) { return tensor.name.starts_with(prefix.first); });
  };
  if (std::ranges::all_of(
          tensors, [&](const Tensor &tensor) { return find(tensor) == std::end(decoderPrefixes); }))
    return;
  std::erase_if(tensors, [&](Tensor &tensor) {
    auto prefix = find(tensor);
    if (prefix == std::end(decoderPrefixes))
      return !tensor.name.starts_with("lm_head.");
    tensor.name.replace(0, prefix->first.size(), prefix->second);
    return false;
  });
}

/// An expert's matrices as tensors of their own, where Qwen3.5's experts of a layer are stacked:
/// each a part of the stack's data, under the name that transformers saves it by. Other families'
/// stacks of these names are not beside a gate of a shared expert.
void splitExperts(std::vector<Tensor> &tensors) {
  constexpr std::string_view ofGates = ".mlp.experts.gate_up_proj",
                             ofDowns = ".mlp.experts.down_proj";
  std::set<std::string> layers;
  for (const Tensor &tensor : tensors)
    if (size_t end = tensor.name.find(".mlp.shared_expert_gate.weight"); end != std::string::npos)
      layers.insert(tensor.name.substr(0, end));
  std::vector<Tensor> parts;
  std::erase_if(tensors, [&](const Tensor &stack) {
    bool hasGates = stack.name.ends_with(ofGates);
    if (stack.shape.size() != 3 || stack.decoder || (!hasGates && !stack.name.ends_with(ofDowns)))
      return false;
    std::string layer =
        stack.name.substr(0, stack.name.size() - (hasGates ? ofGates : ofDowns).size());
    int64_t count = stack.shape[0], matrices = hasGates ? 2 : 1;
    if (!layers.contains(layer) || count == 0 || stack.shape[1] % matrices != 0)
      return false;
    size_t bytes = stack.data.size() / static_cast<size_t>(count * matrices);
    for (int64_t i = 0; i < count * matrices; ++i) {
      const char *kind = !hasGates ? "down" : i % 2 == 0 ? "gate" : "up";
      Tensor part = stack;
      part.name =
          layer + ".mlp.experts." + std::to_string(i / matrices) + "." + kind + "_proj.weight";
      part.shape = {stack.shape[1] / matrices, stack.shape[2]};
      part.data = stack.data.subspan(static_cast<size_t>(i) * bytes, bytes);
      part.offset = stack.offset + static_cast<uint64_t>(i) * bytes;
      parts.push_back(std::move(part));
    }
    return true;
  });
  std::ranges::move(parts, std::back_inserter(tensors));
}

/// Tensors that transformers came to save under another name.
constexpr std::pair<std::string_view, std::string_view> renamed[] = {
    {"embed_out.weight", "lm_head.weight"}};

std::string shapeText(std::span<const int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

/// The file of a model's directory to open.
Expected<fs::path> weightsOf(const fs::path &directory) {
  std::error_code error;
  for (const char *name : {"model.safetensors", "model.safetensors.index.json"})
    if (fs::exists(directory / name, error))
      return directory / name;
  std::vector<fs::path> found;
  bool hasPickle = false;
  fs::directory_iterator iterator(directory, error), end;
  for (; !error && iterator != end; iterator.increment(error)) {
    if (iterator->path().extension() == ".safetensors")
      found.push_back(iterator->path());
    hasPickle |= iterator->path().extension() == ".bin";
  }
  if (error)
    return fail(directory.string(), error.message(), "check the path and its permissions");
  if (found.size() == 1)
    return found.front();
  if (!found.empty())
    return fail(directory.string(),
                "it holds " + std::to_string(found.size()) +
                    " safetensors files and no model.safetensors.index.json",
                "add the index, or give the path of one file");
  return fail(directory.string(), "it holds no model.safetensors",
              hasPickle ? "convert its .bin weights to safetensors"
                        : "give a directory with weights, or a config.json for random ones");
}

} // namespace

Expected<WeightFiles> WeightFiles::open(const fs::path &directoryOrFile) {
  fs::path path = directoryOrFile;
  std::error_code error;
  if (fs::is_directory(path, error)) {
    SINTER_TRY(path, weightsOf(path));
  }
  WeightFiles weights;
  if (path.extension() == ".json") {
    SINTER_CHECK(weights.openIndex(path));
  } else {
    SINTER_TRY(MappedFile file, MappedFile::open(path));
    if (GgufFile::isGguf(file.getBytes())) {
      SINTER_CHECK(weights.addGguf(path));
    } else {
      SINTER_CHECK(weights.addFile(file.getBytes(), path, path.string()));
      weights.mappings.push_back(std::move(file));
    }
  }
  SINTER_CHECK(weights.joinQuantized(path.parent_path() / "config.json"));
  SINTER_CHECK(weights.finish());
  return weights;
}

Expected<WeightFiles> WeightFiles::fromBytes(std::span<const std::byte> bytes,
                                             std::string_view source) {
  WeightFiles weights;
  SINTER_CHECK(weights.addFile(bytes, {}, source));
  SINTER_CHECK(weights.finish());
  return weights;
}

WeightFiles WeightFiles::replace(const WeightFiles &files, std::vector<Tensor> tensors) {
  WeightFiles replaced;
  replaced.content = files.content;
  replaced.fileList = files.fileList;
  replaced.all = files.all;
  replaced.absentPrefixes = files.absentPrefixes;
  for (Tensor &tensor : tensors) {
    auto index = files.find(tensor.name) - files.all.data();
    tensor.name = files.all[index].name;
    replaced.all[index] = std::move(tensor);
  }
  return replaced;
}

Expected<void> WeightFiles::addFile(std::span<const std::byte> bytes, const fs::path &path,
                                    std::string_view source) {
  std::vector<Tensor> read;
  if (GgufFile::isGguf(bytes)) {
    SINTER_TRY(GgufFile file, GgufFile::read(bytes, source));
    SINTER_TRY(read, nameGgufTensors(file, source, fileList.size()));
  } else {
    SINTER_TRY(read, readSafetensors(bytes, source, fileList.size()));
  }
  std::move(read.begin(), read.end(), std::back_inserter(all));
  content.push_back(bytes);
  fileList.push_back({path, bytes.size()});
  return {};
}

Expected<void> WeightFiles::addGguf(const fs::path &path) {
  SINTER_TRY(GgufFile file, GgufFile::open(path));
  SINTER_TRY(std::vector<Tensor> read, nameGgufTensors(file, path.string(), fileList.size()));
  std::move(read.begin(), read.end(), std::back_inserter(all));
  for (size_t i = 0; i < file.mappings.size(); ++i) {
    content.push_back(file.mappings[i].getBytes());
    fileList.push_back({file.paths[i], content.back().size()});
    mappings.push_back(std::move(file.mappings[i]));
  }
  return {};
}

Expected<void> WeightFiles::openIndex(const fs::path &index) {
  SINTER_TRY(MappedFile indexFile, MappedFile::open(index));
  const char *text = reinterpret_cast<const char *>(indexFile.getBytes().data());
  Json json = parseJson({text, indexFile.getBytes().size()});
  const char *remedy = "download the index again";
  auto map = json.is_object() ? json.find("weight_map") : json.end();
  if (map == json.end() || !map->is_object())
    return fail(index.string(), "it is not a JSON object with a 'weight_map' object", remedy);

  std::map<std::string, std::set<std::string>> tensorsOfFile;
  for (auto entry = map->begin(); entry != map->end(); ++entry) {
    const std::string *file = entry->get_ptr<const std::string *>();
    if (!file || file->empty() || fs::path(*file).filename() != *file || *file == "." ||
        *file == ".." || file->find('\0') != std::string::npos)
      return fail(index.string(), "the file of tensor '" + entry.key() + "' is not a file name",
                  remedy);
    tensorsOfFile[*file].insert(entry.key());
  }
  for (const auto &[name, listed] : tensorsOfFile) {
    fs::path path = index.parent_path() / name;
    SINTER_TRY(MappedFile file, MappedFile::open(path));
    size_t first = all.size();
    SINTER_CHECK(addFile(file.getBytes(), path, path.string()));
    mappings.push_back(std::move(file));
    std::set<std::string> missing = listed;
    for (size_t i = first; i < all.size(); ++i)
      if (missing.erase(all[i].name) == 0)
        return fail(path.string(), "the index does not place its tensor '" + all[i].name + "' here",
                    remedy);
    if (!missing.empty())
      return fail(path.string(),
                  "the index places tensor '" + *missing.begin() +
                      "' here, but the file does not hold it",
                  "download the file again");
  }
  return {};
}

Expected<void> WeightFiles::joinQuantized(const fs::path &config) {
  std::error_code error;
  if (!fs::exists(config, error))
    return {};
  SINTER_TRY(std::string text, readFile(config));
  SINTER_TRY(std::optional<QuantizationConfig> quantization,
             readQuantizationConfig(text, config.string()));
  if (quantization) {
    SINTER_TRY(all,
               joinQuantizedTensors(*quantization, std::move(all), config.parent_path().string()));
  }
  return {};
}

Expected<void> WeightFiles::finish() {
  takeDecoder(all);
  splitExperts(all);
  std::sort(all.begin(), all.end(),
            [](const Tensor &a, const Tensor &b) { return a.name < b.name; });
  for (std::string_view prefix : basePrefixes)
    if (std::none_of(all.begin(), all.end(),
                     [&](const Tensor &tensor) { return tensor.name.starts_with(prefix); }))
      absentPrefixes.emplace_back(prefix);
  return {};
}

const Tensor *WeightFiles::find(std::string_view name) const {
  auto found = std::lower_bound(all.begin(), all.end(), name, [](const Tensor &a, auto b) {
    return std::string_view(a.name) < b;
  });
  if (found != all.end() && found->name == name)
    return &*found;
  for (const std::string &prefix : absentPrefixes)
    if (name.starts_with(prefix))
      return find(name.substr(prefix.size()));
  for (const auto &[older, newer] : renamed)
    if (name == older)
      return find(newer);
  return nullptr;
}

std::vector<std::string> WeightFiles::getNames() const {
  std::vector<std::string> names;
  for (const Tensor &tensor : all)
    names.push_back(tensor.name);
  return names;
}

std::string WeightFiles::contentHash(size_t file) const {
  constexpr size_t step = size_t(16) << 20;
  ContentHash hash;
  for (std::span<const std::byte> rest = content[file]; !rest.empty();) {
    std::span<const std::byte> part = rest.first(std::min(step, rest.size()));
    hash.add(part);
    if (file < mappings.size())
      mappings[file].release(part);
    rest = rest.subspan(part.size());
  }
  return hash.hex();
}

void WeightFiles::release(const Tensor &tensor) const {
  // Some are made of a header.
  if (tensor.file < mappings.size() && !tensor.data.empty())
    mappings[tensor.file].release(tensor.data);
}

void WeightFiles::release() const {
  for (const MappedFile &mapping : mappings)
    mapping.release(mapping.getBytes());
}

std::optional<std::string> findWeights(const fs::path &directory) {
  std::optional<std::string> first;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if ((name.ends_with(".safetensors") || name.starts_with("pytorch_model")) &&
        (!first || name < *first))
      first = name;
  }
  return first;
}

Expected<std::vector<std::byte>> packWeights(std::span<const ExpectedTensor> expected,
                                             const WeightFiles &weights) {
  std::vector<TensorToWrite> tensors;
  std::deque<std::vector<std::byte>> decoded;
  for (const ExpectedTensor &wanted : expected) {
    const Tensor *tensor = weights.find(wanted.name);
    if (!tensor || !tensor->isFloat())
      return fail("tensor '" + wanted.name + "'", "the weights do not hold it as numbers",
                  "check that config.json belongs to these weights");
    std::span<const std::byte> data = tensor->data;
    if (tensor->decoder) {
      uint64_t bytes = sizeOf(*tensor->dtype);
      for (int64_t extent : tensor->shape)
        bytes *= static_cast<uint64_t>(extent);
      std::vector<std::byte> &elements = decoded.emplace_back(bytes);
      tensor->decoder.decode(0, tensor->decoder.items, elements.data());
      data = elements;
    }
    tensors.push_back({wanted.name, *tensor->dtype, tensor->shape, data});
  }
  SINTER_TRY(SafetensorsLayout layout, layOutSafetensors(tensors, {}, "embedded weights"));
  std::vector<std::byte> bytes;
  bytes.reserve(layout.bytes);
  std::ranges::copy(std::as_bytes(std::span(layout.head)), std::back_inserter(bytes));
  for (const TensorToWrite *tensor : layout.order)
    bytes.insert(bytes.end(), tensor->data.begin(), tensor->data.end());
  return bytes;
}

Expected<void> checkTensors(std::span<const ExpectedTensor> expected, const WeightFiles &weights,
                            const std::function<bool(std::string_view)> &isKnownSurplus) {
  std::set<const Tensor *> used;
  for (const ExpectedTensor &wanted : expected) {
    const Tensor *tensor = weights.find(wanted.name);
    std::string what = "tensor '" + wanted.name + "'";
    if (!tensor)
      return fail(what,
                  "the weights do not hold it (expected shape " + shapeText(wanted.shape) + ")",
                  "check that config.json belongs to these weights");
    if (tensor->shape != wanted.shape)
      return fail(what,
                  "its shape is " + shapeText(tensor->shape) + ", config.json asks for " +
                      shapeText(wanted.shape),
                  "check that config.json belongs to these weights");
    if (!tensor->isFloat())
      return fail(what, "dtype " + tensor->dtypeName + " is not supported for parameters",
                  "store it as F32, F16 or BF16");
    used.insert(tensor);
  }
  for (const Tensor &tensor : weights.getTensors())
    if (!used.contains(&tensor) && !isKnownSurplus(tensor.name))
      return fail("tensor '" + tensor.name + "'",
                  "the model described by config.json has no use for it",
                  "check that config.json belongs to these weights");
  return {};
}

} // namespace sinter
