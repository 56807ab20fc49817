#include "runtime/Checkpoint/BoxFiles.h"
#include "runtime/Base/Json.h"
#include <algorithm>
#include <cstdio>

namespace sinter::runtime {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;
constexpr const char *boxesKey = "boxes";
constexpr std::string_view suffix = ".safetensors";
constexpr const char *damaged = "use another checkpoint";
constexpr const char *another = "resume with the model and optimizer that the run began with";

std::string stemOf(std::string_view name) {
  return std::string(name.substr(0, name.size() - suffix.size()));
}

/// Numbers from 0 on, as many as `rank`, that are extents or places in a tensor.
std::optional<std::vector<int64_t>> findExtents(const Json &box, const char *key, size_t rank) {
  auto found = box.find(key);
  if (found == box.end() || !found->is_array() || found->size() != rank)
    return std::nullopt;
  std::vector<int64_t> extents;
  for (const Json &number : *found) {
    if (!number.is_number_unsigned() || number.get<uint64_t>() > uint64_t(INT64_MAX) / 2)
      return std::nullopt;
    extents.push_back(number.get<int64_t>());
  }
  return extents;
}

/// Whether the elements of a tensor can be counted.
bool isCountable(const std::vector<int64_t> &shape) {
  uint64_t count = 1;
  return std::ranges::none_of(shape, [&](int64_t extent) {
    return __builtin_mul_overflow(count, static_cast<uint64_t>(extent), &count);
  });
}

/// What a box's tensor is a box of, by its file's metadata.
Expected<BoxToWrite> findBox(const Json &boxes, const Tensor &tensor, const std::string &what) {
  auto entry = boxes.is_object() ? boxes.find(tensor.name) : boxes.end();
  if (!boxes.is_object() || entry == boxes.end() || !entry->is_object())
    return fail(what, "its file does not say which part of it it has", damaged);
  auto whole = findExtents(*entry, "whole", tensor.shape.size());
  auto offset = findExtents(*entry, "offset", tensor.shape.size());
  bool inside = whole && offset && isCountable(*whole);
  for (size_t i = 0; inside && i < whole->size(); ++i)
    inside = (*offset)[i] <= (*whole)[i] && tensor.shape[i] <= INT64_MAX / 2;
  if (!inside)
    return fail(what, "its part is none of a tensor", damaged);
  auto of = entry->find("tensor");
  if (of != entry->end() && !of->is_string())
    return fail(what, "its file does not name the tensor that it is a part of", damaged);
  return BoxToWrite{{},
                    of == entry->end() ? tensor.name : of->get<std::string>(),
                    *std::move(whole),
                    *std::move(offset)};
}

} // namespace

SnapshotFile makeBoxFile(std::string_view name, std::span<const BoxToWrite> boxes, size_t index,
                         size_t count) {
  SnapshotFile file{std::string(name), {}};
  for (const BoxToWrite &box : boxes)
    file.tensors.push_back(box.tensor);
  if (count == 1)
    return file;
  char number[32];
  std::snprintf(number, sizeof number, "-%05zu-of-%05zu", index + 1, count);
  file.name = stemOf(name) + number + std::string(suffix);
  Json places = Json::object();
  for (const BoxToWrite &box : boxes) {
    Json &place = places[box.tensor.name] = {{"whole", box.whole}, {"offset", box.offset}};
    if (box.of != box.tensor.name)
      place["tensor"] = box.of;
  }
  file.metadata[boxesKey] = writeJson(places);
  return file;
}

Expected<BoxFiles> BoxFiles::open(const fs::path &checkpoint, std::string_view name) {
  BoxFiles result;
  SINTER_TRY(Manifest manifest, readManifest(checkpoint));
  result.source = (checkpoint / name).string();
  if (manifest.files.contains(std::string(name))) {
    SINTER_CHECK(result.add(checkpoint / name, /*inBoxes=*/false));
    return result;
  }
  std::string begin = stemOf(name) + "-";
  result.source = (checkpoint / (begin + "*" + std::string(suffix))).string();
  for (const auto &[file, entry] : manifest.files)
    if (file.starts_with(begin) && file.ends_with(suffix))
      SINTER_CHECK(result.add(checkpoint / file, /*inBoxes=*/true));
  if (result.files.empty())
    return fail((checkpoint / name).string(), "is missing", damaged);
  SINTER_CHECK(result.checkCovers());
  return result;
}

Expected<BoxFiles> BoxFiles::parse(std::span<const std::byte> bytes, const std::string &source) {
  BoxFiles result;
  result.source = source;
  SINTER_CHECK(result.add(bytes, source, /*inBoxes=*/true, nullptr));
  SINTER_CHECK(result.checkCovers());
  return result;
}

Expected<void> BoxFiles::add(const fs::path &path, bool inBoxes) {
  SINTER_TRY(MappedFile opened, MappedFile::open(path));
  const MappedFile &file = *files.emplace_back(std::make_unique<MappedFile>(std::move(opened)));
  return add(file.getBytes(), path.string(), inBoxes, &file);
}

Expected<void> BoxFiles::add(std::span<const std::byte> bytes, const std::string &path,
                             bool inBoxes, const MappedFile *file) {
  SINTER_TRY(std::vector<Tensor> stored, readSafetensors(bytes, path));
  Json boxes;
  if (inBoxes) {
    SINTER_TRY(auto metadata, readSafetensorsMetadata(bytes, path));
    boxes = parseJson(metadata[boxesKey]);
  }
  for (const Tensor &tensor : stored) {
    std::string what = path + ": tensor '" + tensor.name + "'";
    BoxToWrite part{{}, tensor.name, tensor.shape, std::vector<int64_t>(tensor.shape.size())};
    if (inBoxes) {
      SINTER_TRY(part, findBox(boxes, tensor, what));
    }
    Stored &entry = tensors[part.of];
    if (entry.parts.empty()) {
      entry.dtype = tensor.dtype;
      entry.dtypeName = tensor.dtypeName;
      entry.whole = part.whole;
    }
    if (entry.dtypeName != tensor.dtypeName || entry.whole != part.whole)
      return fail(what,
                  "it is a part of " + describeTensor(tensor.dtypeName, part.whole) +
                      ", another is of " + describeTensor(entry.dtypeName, entry.whole),
                  damaged);
    entry.parts.push_back({{part.offset, tensor.shape}, tensor.data, file});
  }
  return {};
}

std::string BoxFiles::describe(const std::string &name) const {
  return source + ": tensor '" + name + "'";
}

Expected<void> BoxFiles::checkCovers() const {
  for (const auto &[name, stored] : tensors) {
    TensorBox whole = makeWholeBox(stored.whole);
    std::vector<TensorBox> boxes;
    for (const Part &part : stored.parts)
      if (std::optional<TensorBox> inside = intersect(part.box, whole))
        boxes.push_back(*inside);
    SINTER_CHECK(checkCover(whole, boxes, describe(name)));
  }
  return {};
}

Expected<void> BoxFiles::read(const std::string &name, DType dtype,
                              const std::vector<int64_t> &whole, const TensorBox &box,
                              std::span<std::byte> out) {
  auto found = tensors.find(name);
  if (found == tensors.end())
    return fail(describe(name), "is missing", another);
  Stored &stored = found->second;
  if (stored.dtype != dtype || stored.whole != whole)
    return fail(describe(name),
                "is " + describeTensor(stored.dtypeName, stored.whole) + ", this model has " +
                    describeTensor(nameOf(dtype), whole),
                another);
  stored.read = true;
  if (out.empty())
    return {};
  std::optional<TensorBox> wanted = intersect(box, makeWholeBox(whole));
  for (const Part &part : stored.parts)
    if (std::optional<TensorBox> both = wanted ? intersect(*wanted, part.box) : std::nullopt) {
      copyBox(*both, part.box, part.data, box, out, sizeOf(dtype));
      if (part.file)
        part.file->release(part.data);
    }
  return {};
}

Expected<void> BoxFiles::checkAllRead() const {
  for (const auto &[name, stored] : tensors)
    if (!stored.read)
      return fail(describe(name), "this model and optimizer have no such state", another);
  return {};
}

} // namespace sinter::runtime
