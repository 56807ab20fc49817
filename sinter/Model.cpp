#include "sinter/Model.h"
#include "frontends/Gguf/GgufFile.h"
#include "runtime/Base/ReadFile.h"
#include "runtime/Checkpoint/CheckpointFolder.h"
#include "runtime/Train/TrainStates.h"
#include "sinter/TextModel.h"
#include <algorithm>

using namespace sinter;
namespace fs = std::filesystem;

/// Checks names and shapes of the weights, and that they are stored in types we compute from.
static Expected<void> checkWeights(const Model &model) {
  std::vector<ExpectedTensor> expected;
  for (const ParameterInfo &parameter : model.spec.getParameters())
    expected.push_back({parameter.name, parameter.shape});
  // Writers of GPTQ give every layer a bias, of zeros where the model has none.
  auto isZeroBias = [&](std::string_view name) {
    return name.ends_with(".bias") &&
           std::ranges::all_of(model.weights->find(name)->data,
                               [](std::byte byte) { return byte == std::byte(0); });
  };
  SINTER_CHECK(checkTensors(expected, *model.weights, [&](std::string_view name) {
    return model.spec.isKnownSurplus(name) || isZeroBias(name);
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
static Expected<WeightFiles> openDirectoryWeights(const fs::path &directory,
                                                  const Observer &observer) {
  runtime::CheckpointFolder checkpoints(directory / "checkpoints");
  if (findWeights(directory) || checkpoints.list().empty())
    return WeightFiles::open(directory);
  auto newest = checkpoints.findNewestWhole([&](const Error &error) { observer.warn(error); });
  if (!newest)
    return fail(directory.string(), "none of its checkpoints is whole", "train the model again");
  observer.note(directory.string() + " holds a run that has not ended: the weights are of " +
                newest->path.filename().string());
  return WeightFiles::open(newest->path / runtime::modelFile);
}

Expected<Model> Model::open(const fs::path &path, const Observer &observer) {
  Model model;
  model.path = path;
  std::error_code error;
  fs::file_status status = fs::status(path, error);
  if (!fs::exists(status))
    return fail(
        path.string(), "no such file or directory",
        "give a Hugging Face directory, a .gguf file, a config.json, a .mlir or a .sinter file");
  if (!fs::is_directory(status) && path.extension() == ".sinter") {
    SINTER_TRY(model.executable, runtime::Executable::open(path.string()));
    return model;
  }
  if (!fs::is_directory(status) && path.extension() == ".mlir")
    return openText(path);
  SINTER_TRY(model.spec, loadModelSpec(path));
  bool isGguf = GgufFile::isPath(path);
  if (!fs::is_directory(status)) {
    SINTER_TRY(model.description, readModelConfig(path));
    if (!isGguf)
      return model;
  }
  for (const char *name : {"config.json", "generation_config.json"})
    if (fs::exists(path / name)) {
      SINTER_TRY(std::string text, readFile(path / name));
      model.description += text;
    }
  if (auto files = Tokenizer::readFiles(path))
    model.tokenizerFiles = std::move(*files);
  SINTER_TRY(std::optional<WeightFiles> weights,
             isGguf ? WeightFiles::open(path) : openDirectoryWeights(path, observer));
  model.weights = std::make_shared<WeightFiles>(std::move(*weights));
  SINTER_CHECK(checkWeights(model));
  return model;
}

Expected<void> Model::requireDescription(const std::string &remedy) const {
  if (!isExecutable())
    return {};
  return fail(path.string(), "is compiled already", remedy);
}
