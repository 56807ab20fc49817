//===- BoxFiles.h - Tensors that several files have parts of ----*- C++ -*-===//
//
// What one rank writes whole in `optimizer.safetensors`, several write in files of their own,
// `optimizer-00002-of-00004.safetensors`, each some boxes of some tensors. Which, the file's
// metadata say under "boxes", for every tensor of the file:
//
//   {"adamw.m.w": {"whole": [50257, 768], "offset": [12565, 0]}, ...}
//
// A tensor of a file is as large as the box; where it sticks out of the whole, it is padding, which
// means nothing. Where a file has several boxes of a tensor, as of the parts of a fused matrix,
// they have names of their own, and "tensor" says of which they are:
//
//   {"c_attn.weight[0:768, 768:1536]": {"tensor": "c_attn.weight", "whole": [768, 2304], ...}}
//
// Who wrote what does not matter to who reads it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/MappedFile.h"
#include "runtime/Checkpoint/Snapshot.h"
#include "runtime/Checkpoint/TensorBox.h"
#include <filesystem>

namespace sinter::runtime {

/// A tensor that is written, and which box it is of the tensor `of`, which has the shape `whole`.
struct BoxToWrite {
  TensorToWrite tensor;
  std::string of;
  std::vector<int64_t> whole, offset;
};

/// The file of `boxes` that writer `index` of `count` writes in the place of `name`
/// ("optimizer.safetensors"). A single writer's are whole.
SnapshotFile makeBoxFile(std::string_view name, std::span<const BoxToWrite> boxes, size_t index,
                         size_t count);

/// The tensors of a checkpoint's file, or of all files in its place.
class BoxFiles {
public:
  /// Opens `name` or the files in its place, as the checkpoint's manifest lists them. Fails where
  /// there are none, they are damaged, or the boxes of a tensor leave a hole or overlap; names it.
  static Expected<BoxFiles> open(const std::filesystem::path &checkpoint, std::string_view name);

  /// The boxes of one file, of `bytes`, which outlive it, that have to be all there are; `source`
  /// names it in errors.
  static Expected<BoxFiles> parse(std::span<const std::byte> bytes, const std::string &source);

  /// Copies a box of the tensor `name`, of all but its padding, to `out`, which is as large as the
  /// box, or empty where it is enough that it is there. Fails where the tensor is missing or of
  /// another type or shape.
  Expected<void> read(const std::string &name, DType dtype, const std::vector<int64_t> &whole,
                      const TensorBox &box, std::span<std::byte> out);

  /// Fails where there are tensors that read() was not asked for.
  Expected<void> checkAllRead() const;

private:
  struct Part {
    TensorBox box;
    std::span<const std::byte> data;
    const MappedFile *file; ///< null where it is in memory
  };
  struct Stored {
    std::optional<DType> dtype;
    std::string dtypeName;
    std::vector<int64_t> whole;
    std::vector<Part> parts;
    bool read = false;
  };

  Expected<void> add(const std::filesystem::path &path, bool inBoxes);
  Expected<void> add(std::span<const std::byte> bytes, const std::string &path, bool inBoxes,
                     const MappedFile *file);
  Expected<void> checkCovers() const;
  std::string describe(const std::string &name) const;

  std::string source; ///< for errors: the file, or its directory and what files of it are called
  std::vector<std::unique_ptr<MappedFile>> files;
  std::map<std::string, Stored> tensors;
};

} // namespace sinter::runtime
