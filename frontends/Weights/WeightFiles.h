//===- WeightFiles.h - All weights of a model -------------------*- C++ -*-===//
#pragma once

#include "runtime/Base/MappedFile.h"
#include "runtime/Weights/Safetensors.h"
#include <functional>

namespace sinter {

/// The weights of a model: one safetensors file, several with an index, or bytes in memory. Files
/// are mapped, not read: a tensor costs memory only while its pages are touched.
///
/// Checkpoints of a bare base model lack the name of the member that holds it (`wte.weight` for
/// `transformer.wte.weight`); as Hugging Face does, find() then looks without it. It also knows the
/// tensors whose name has changed (GPT-NeoX's `embed_out.weight`, now `lm_head.weight`).
///
/// Where a `config.json` beside the files says that weights are quantized, the tensors of each such
/// layer are one, F32 with a decoder (frontends/Quantized).
class WeightFiles {
public:
  struct File {
    std::filesystem::path path; ///< empty for bytes in memory
    uint64_t bytes = 0;
  };

  /// Opens a `.safetensors` file, a `model.safetensors.index.json`, or a directory that holds
  /// either (a directory's only `.safetensors` file may have any name). Fails with the file and
  /// tensor named where anything is malformed, or where index and files disagree.
  static Expected<WeightFiles> open(const std::filesystem::path &directoryOrFile);

  /// Reads a safetensors file that is in memory; `bytes` must outlive the result.
  static Expected<WeightFiles> fromBytes(std::span<const std::byte> bytes,
                                         std::string_view source = "embedded weights");

  /// The same tensors, but for those given, which stand in for the ones of their names.
  /// @pre `files` outlives the result and has a tensor of each name
  static WeightFiles replace(const WeightFiles &files, std::vector<Tensor> tensors);

  /// The tensor of this name, or null.
  const Tensor *find(std::string_view name) const;

  /// All tensors, sorted by name.
  const std::vector<Tensor> &getTensors() const { return all; }

  /// All names, sorted.
  std::vector<std::string> getNames() const;

  const std::vector<File> &getFiles() const { return fileList; }

  /// XXH3-128 of a file's content as 32 hexadecimal digits. Reads the whole file and drops its
  /// pages behind itself.
  std::string contentHash(size_t file) const;

  /// Gives back the memory that a tensor's pages use; they are read again when next touched.
  void release(const Tensor &tensor) const;

  /// Gives back the memory of all files' pages.
  void release() const;

private:
  Expected<void> addFile(std::span<const std::byte> bytes, const std::filesystem::path &path,
                         std::string_view source);
  /// Of a model in several parts, all of them.
  Expected<void> addGguf(const std::filesystem::path &path);
  Expected<void> openIndex(const std::filesystem::path &index);
  Expected<void> joinQuantized(const std::filesystem::path &config);
  Expected<void> finish();

  std::vector<MappedFile> mappings;                ///< one per file, none for bytes in memory
  std::vector<std::span<const std::byte>> content; ///< one per file
  std::vector<File> fileList;
  std::vector<Tensor> all;
  std::vector<std::string> absentPrefixes; ///< base-model prefixes that no tensor has
};

/// The name of a file in a directory that holds weights, in safetensors or PyTorch's format; of
/// several the first by name.
std::optional<std::string> findWeights(const std::filesystem::path &directory);

/// A tensor that a model needs.
struct ExpectedTensor {
  std::string name;
  std::vector<int64_t> shape;
};

/// One safetensors file, in memory, with the tensors that a model needs, under the names that it
/// needs them by: what an executable carries. Fails where one is missing or of a type that
/// parameters cannot have.
Expected<std::vector<std::byte>> packWeights(std::span<const ExpectedTensor> expected,
                                             const WeightFiles &weights);

/// Checks that `weights` hold exactly the `expected` tensors, in those shapes and as F32, F16 or
/// BF16. Tensors beyond them are an error too, unless `isKnownSurplus(name)` (causal masks, inverse
/// frequencies and the like, which checkpoints carry and which are not parameters). The first
/// offender is named.
Expected<void> checkTensors(std::span<const ExpectedTensor> expected, const WeightFiles &weights,
                            const std::function<bool(std::string_view)> &isKnownSurplus);

} // namespace sinter
