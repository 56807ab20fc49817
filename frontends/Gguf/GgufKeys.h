//===- GgufKeys.h - Reading what a GGUF file says of its architecture -*- C++ -*-===//
//
// As with ConfigReader the first mistake stays and what follows gets harmless values, so that a
// list of keys is read without looking at errors in between.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontends/Gguf/GgufFile.h"
#include <optional>
#include <string>

namespace sinter {

class GgufKeys {
public:
  using Json = nlohmann::json;

  /// `file` and `source`, which names it in errors, must outlive the reader. A key "k" is the
  /// file's "<architecture>.k".
  GgufKeys(const GgufFile &file, std::string_view source, std::string architecture)
      : file(file), source(source), architecture(std::move(architecture)) {}

  /// A whole number from 1 to 2^31 - 1; 1 with a mistake where there is none.
  int64_t size(const std::string &key);
  /// The same, or `absent` where the file has no such key.
  int64_t size(const std::string &key, int64_t absent) { return find(key) ? size(key) : absent; }

  /// The same of a key that may have a number a layer, of which 0 is none: that of the layers that
  /// have some, which is one. 1 where none has.
  int64_t sizeInLayers(const std::string &key);

  /// A whole number from 0 to 2^31 - 1, or `absent`.
  int64_t count(const std::string &key, int64_t absent);

  /// A finite number, or `absent`.
  double number(const std::string &key, double absent);

  /// What a key has; null where there is none.
  const Json *find(const std::string &key) const;

  /// The same of a key as it stands in the file.
  const Json *findEntry(const std::string &name) const;

  /// A tensor of this name; null where there is none.
  const GgufTensor *findTensor(std::string_view name) const;

  /// Whether a layer has a tensor of this name.
  bool holdsInLayer(std::string_view name) const;

  /// The key as it stands in the file.
  std::string nameOf(const std::string &key) const { return architecture + "." + key; }

  /// What names the file in errors.
  std::string_view getSource() const { return source; }

  /// Records a mistake unless one is recorded already.
  void mistake(const std::string &why, const char *remedy = "convert the model again");

  /// Fails with the first mistake.
  Expected<void> finish() const;

private:
  const GgufFile &file;
  std::string_view source;
  std::string architecture;
  std::optional<Error> error;
};

} // namespace sinter
