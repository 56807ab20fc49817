//===- Weights.h - The weights of an executable -----------------*- C++ -*-===//
#pragma once

#include "frontends/Weights/WeightFiles.h"
#include "runtime/Format/Executable.h"
#include "runtime/Weights/WeightSource.h"
#include <filesystem>
#include <optional>

namespace sinter {

/// Lets the runtime read weight files.
class WeightFilesSource : public runtime::WeightSource {
public:
  explicit WeightFilesSource(const WeightFiles &files) : files(files) {}

  std::optional<runtime::StoredTensor> find(std::string_view name) const override;
  void release(std::string_view name) const override;

private:
  const WeightFiles &files;
};

/// Opens the weights that an executable carries or refers to: embedded ones, else its weight files
/// where they were at compile time, else files of the same names beside `executablePath`. Their
/// sizes and hashes must be those of compile time. Nothing where it has random weights.
Expected<std::optional<WeightFiles>> openWeights(const runtime::Executable &executable,
                                                 const std::filesystem::path &executablePath);

} // namespace sinter
