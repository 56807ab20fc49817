#include "sinter/Weights.h"

using namespace sinter;
namespace fs = std::filesystem;

/// The name of the tensor that has a part, without what names the part.
static std::string_view getWhole(std::string_view name) {
  for (std::string_view suffix : {integersSuffix, scalesSuffix, minimaSuffix})
    if (name.ends_with(suffix))
      return name.substr(0, name.size() - suffix.size());
  return name;
}

std::optional<runtime::StoredTensor> WeightFilesSource::find(std::string_view name) const {
  const Tensor *tensor = files.find(getWhole(name));
  if (tensor && getWhole(name) != name) {
    if (!tensor->integers)
      return std::nullopt;
    const IntegerMatrix &matrix = *tensor->integers;
    if (name.ends_with(integersSuffix))
      return runtime::StoredTensor{
          matrix.format.dtype, {matrix.rows, matrix.columns}, tensor->data, matrix.integers};
    bool ofMinima = name.ends_with(minimaSuffix);
    if (ofMinima && !matrix.format.hasMinima)
      return std::nullopt;
    return runtime::StoredTensor{ofMinima ? DType::F32 : matrix.format.scaleType,
                                 {matrix.rows, matrix.columns / matrix.format.group},
                                 tensor->data,
                                 ofMinima ? matrix.minima : matrix.scales};
  }
  if (!tensor || !tensor->dtype)
    return std::nullopt;
  return runtime::StoredTensor{*tensor->dtype, tensor->shape, tensor->data, tensor->decoder};
}

void WeightFilesSource::release(std::string_view name) const {
  if (const Tensor *tensor = files.find(getWhole(name)))
    files.release(*tensor);
}

/// Where a weight file is now.
static Expected<fs::path> locate(const fb::WeightFile &file, const fs::path &executable) {
  fs::path path = file.path()->str();
  std::error_code error;
  if (!fs::exists(path, error))
    path = executable.parent_path() / path.filename();
  if (!fs::exists(path, error))
    return fail(file.path()->str(), "the executable's weights are not there",
                "put the file back, or beside the executable");
  if (fs::file_size(path, error) != file.bytes())
    return fail(path.string(), "is not the file that the executable was compiled for",
                "compile the model again");
  return path;
}

Expected<std::optional<WeightFiles>> sinter::openWeights(const runtime::Executable &executable,
                                                         const fs::path &executablePath) {
  const fb::Executable &root = executable.getRoot();
  if (root.embedded_weights() && root.embedded_weights()->size() != 0) {
    std::span bytes(root.embedded_weights()->data(), root.embedded_weights()->size());
    SINTER_TRY(WeightFiles files, WeightFiles::fromBytes(std::as_bytes(bytes)));
    return std::optional(std::move(files));
  }
  if (!root.weight_files() || root.weight_files()->size() == 0)
    return std::optional<WeightFiles>();
  std::vector<fs::path> paths;
  for (const fb::WeightFile *file : *root.weight_files()) {
    SINTER_TRY(fs::path path, locate(*file, executablePath));
    paths.push_back(std::move(path));
  }
  // Several files come with an index, in the same directory.
  SINTER_TRY(WeightFiles files,
             WeightFiles::open(paths.size() == 1 ? paths[0] : paths[0].parent_path()));
  for (size_t i = 0; i < files.getFiles().size(); ++i)
    for (const fb::WeightFile *file : *root.weight_files())
      if (fs::path(file->path()->str()).filename() == files.getFiles()[i].path.filename() &&
          file->hash() && file->hash()->size() != 0 && file->hash()->str() != files.contentHash(i))
        return fail(files.getFiles()[i].path.string(),
                    "its content is not what the executable was compiled for",
                    "compile the model again");
  return std::optional(std::move(files));
}
