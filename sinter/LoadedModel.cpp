#include "sinter/LoadedModel.h"

using namespace sinter;

Tokenizer::Files sinter::getTokenizerFiles(const runtime::Executable &executable) {
  Tokenizer::Files files;
  for (const char *name : {"tokenizer.json", "vocab.json", "merges.txt"})
    if (auto content = executable.attachment(name))
      files[name].assign(reinterpret_cast<const char *>(content->data()), content->size());
  return files;
}

Expected<LoadedModel> LoadedModel::open(const std::string &path) {
  SINTER_TRY(auto executable, runtime::Executable::open(path));
  return open(std::move(executable), path);
}

Expected<LoadedModel> LoadedModel::open(std::shared_ptr<const runtime::Executable> executable,
                                        const std::filesystem::path &path) {
  LoadedModel model;
  model.executable = std::move(executable);
  SINTER_TRY(std::optional<WeightFiles> weights, openWeights(*model.executable, path));
  if (weights)
    model.weights = std::make_shared<WeightFiles>(std::move(*weights));
  return model;
}

Expected<Tokenizer> LoadedModel::openTokenizer() const {
  Tokenizer::Files files = getTokenizerFiles(*executable);
  if (files.empty())
    return fail(executable->getName(), "it has no tokenizer", "use `tokens` and `ids`");
  return Tokenizer::fromFiles(files, executable->getName());
}

Expected<std::vector<int32_t>> LoadedModel::encode(const std::string &text) const {
  SINTER_TRY(Tokenizer tokenizer, openTokenizer());
  return tokenizer.encode(text);
}
