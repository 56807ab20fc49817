#include "sinter/TextModel.h"
#include "runtime/Base/ReadFile.h"
#include "runtime/Train/GradientTree.h"
#include <algorithm>
#include <charconv>

using namespace sinter;
namespace fs = std::filesystem;

static bool isOfTraining(std::string_view entry) {
  return entry == "train_step" || entry == "accumulate" || entry == runtime::kLastMicrobatch ||
         entry.starts_with("carry.") || entry == "update" || entry == "evaluate";
}

/// Comma-separated ids of the metadata.
static std::vector<int64_t> getIds(const TextDescription &text, const char *key) {
  std::vector<int64_t> ids;
  auto found = text.metadata.find(key);
  if (found == text.metadata.end())
    return ids;
  const char *at = found->second.data(), *end = at + found->second.size();
  for (int64_t id; at < end; ++at) {
    auto [next, status] = std::from_chars(at, end, id);
    if (status != std::errc())
      break;
    ids.push_back(id);
    at = next;
  }
  return ids;
}

Expected<void> sinter::readText(std::string text, const std::string &file, Model &model) {
  SINTER_TRY(model.text, describeText(text, file));
  model.description = std::move(text);
  ModelSpec &spec = model.spec;
  auto type = model.text->metadata.find("model_type");
  spec.modelType = type == model.text->metadata.end() ? "mlir" : type->second;
  spec.vocabSize = model.text->getNumber("vocab_size");
  spec.maxPositions = model.text->getNumber("max_positions");
  if (spec.maxPositions == 0)
    spec.maxPositions = model.text->getNumber("max_seq");
  spec.positions = PositionKind::None;
  spec.bosIds = getIds(*model.text, "bos_token_id");
  spec.eosIds = getIds(*model.text, "eos_token_ids");
  return {};
}

Expected<Model> sinter::openText(const fs::path &path) {
  Model model;
  model.path = path;
  SINTER_TRY(std::string text, readFile(path));
  SINTER_CHECK(readText(std::move(text), path.string(), model));
  fs::path directory = path.has_parent_path() ? path.parent_path() : ".";
  if (!findWeights(directory))
    return model;
  SINTER_TRY(WeightFiles weights, WeightFiles::open(directory));
  model.weights = std::make_shared<WeightFiles>(std::move(weights));
  std::vector<ExpectedTensor> expected;
  for (const ParameterInfo &parameter : model.text->parameters)
    expected.push_back({parameter.name, parameter.shape});
  // A text may be a part of the model whose weights these are.
  SINTER_CHECK(checkTensors(expected, *model.weights, [](std::string_view) { return true; }));
  return model;
}

Expected<std::vector<std::string>> sinter::selectEntries(const Model &model,
                                                         const std::vector<std::string> &entries) {
  const std::vector<std::string> &all = model.text->entries;
  std::vector<std::string> selected;
  if (!entries.empty() && entries.front() == "train_step")
    std::ranges::copy_if(all, std::back_inserter(selected), isOfTraining);
  if (!selected.empty())
    return selected;
  for (const std::string &entry : entries)
    if (std::ranges::count(all, entry) == 0) {
      std::string known;
      for (const std::string &other : all)
        known += (known.empty() ? "" : ", ") + other;
      return fail(model.path.string(), "it has no entry '" + entry + "'",
                  "those that it has are " + known);
    }
  return entries;
}

Expected<void> sinter::takeSizes(const Model &model, const RunOptions &options, bool trains,
                                 int64_t &chunk, int64_t &maxSequence) {
  auto check = [&](const std::string &id, int64_t asked) -> Expected<void> {
    int64_t is = model.text->getNumber(id);
    if (is == 0 || asked == 0 || asked == is)
      return {};
    std::string option = "`" + id + "` ";
    return fail(option + std::to_string(asked),
                model.path.string() + " is a graph for " + std::to_string(is),
                "give " + option + std::to_string(is));
  };
  SINTER_CHECK(check("batch", options.batch));
  SINTER_CHECK(check("max_seq", options.maxSequence));
  if (trains)
    SINTER_CHECK(check("seq", chunk));
  chunk = std::max<int64_t>(model.text->getNumber("seq"), 1);
  maxSequence = std::max<int64_t>(model.text->getNumber("max_seq"), 1);
  return {};
}

Expected<void> sinter::adoptStep(const Model &model,
                                 const std::set<std::string, std::less<>> &given,
                                 RunOptions &options, int64_t &sequence) {
  const TextDescription &text = *model.text;
  std::string file = model.path.string();
  auto adoptSize = [&](const std::string &id, int64_t &size) -> Expected<void> {
    int64_t is = text.getNumber(id);
    if (is == 0 || is == size)
      return {};
    if (given.contains(id))
      return failCompiledWith(id, std::to_string(size), std::to_string(is), file);
    size = is;
    return {};
  };
  SINTER_CHECK(adoptSize("batch", options.batch));
  SINTER_CHECK(adoptSize("seq", sequence));
  if (!text.hasOptimizer)
    return {};
  // A person who wrote the optimizer down need not have said how it is called.
  std::map<std::string, std::string> made = text.metadata;
  made.merge(describeOptions(options.training));
  auto find = [&](std::string_view id) -> std::optional<std::string_view> {
    auto found = made.find(std::string(id));
    return found == made.end() ? std::nullopt : std::optional<std::string_view>(found->second);
  };
  return adoptOptions<TrainingOptions>(options.training, find, given, file);
}
