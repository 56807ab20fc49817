#include "runtime/Checkpoint/TensorBox.h"
#include <algorithm>
#include <cassert>
#include <cstring>

namespace sinter::runtime {
namespace {

constexpr const char *boxRemedy = "use another checkpoint";

/// The index of the first element of `box` among those of `of`.
uint64_t indexIn(const TensorBox &of, const std::vector<int64_t> &place) {
  uint64_t index = 0;
  for (size_t i = 0; i < place.size(); ++i)
    index = index * uint64_t(of.shape[i]) + uint64_t(place[i] - of.offset[i]);
  return index;
}

/// Cuts `hole` out of `box`, of which it is a part; what is left goes to `rest`.
void cutOut(TensorBox box, const TensorBox &hole, std::vector<TensorBox> &rest) {
  for (size_t i = 0; i < box.shape.size(); ++i) {
    int64_t begin = box.offset[i], end = begin + box.shape[i];
    int64_t from = hole.offset[i], to = from + hole.shape[i];
    auto keep = [&](int64_t first, int64_t last) {
      if (first == last)
        return;
      rest.push_back(box);
      rest.back().offset[i] = first;
      rest.back().shape[i] = last - first;
    };
    keep(begin, from);
    keep(to, end);
    box.offset[i] = from;
    box.shape[i] = to - from;
  }
}

} // namespace

uint64_t TensorBox::getElements() const {
  uint64_t count = 1;
  for (int64_t extent : shape)
    count *= static_cast<uint64_t>(extent);
  return count;
}

std::string TensorBox::describe() const {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text +=
        (i ? ", " : "") + std::to_string(offset[i]) + ":" + std::to_string(offset[i] + shape[i]);
  return text + "]";
}

std::string describeTensor(std::string_view dtype, const std::vector<int64_t> &shape) {
  std::string text = std::string(dtype) + " [";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

TensorBox makeWholeBox(std::vector<int64_t> shape) {
  return {std::vector<int64_t>(shape.size()), std::move(shape)};
}

std::optional<TensorBox> intersect(const TensorBox &a, const TensorBox &b) {
  assert(a.shape.size() == b.shape.size());
  TensorBox both = a;
  for (size_t i = 0; i < a.shape.size(); ++i) {
    int64_t end = std::min(a.offset[i] + a.shape[i], b.offset[i] + b.shape[i]);
    both.offset[i] = std::max(a.offset[i], b.offset[i]);
    both.shape[i] = end - both.offset[i];
    if (both.shape[i] <= 0)
      return std::nullopt;
  }
  return both;
}

void copyBox(const TensorBox &box, const TensorBox &inBox, std::span<const std::byte> in,
             const TensorBox &outBox, std::span<std::byte> out, size_t elementBytes) {
  if (box.getElements() == 0)
    return;
  // The last dimensions that are whole in all three are one run with the one before them.
  size_t outer = box.shape.size();
  uint64_t run = elementBytes;
  while (outer > 0) {
    --outer;
    run *= static_cast<uint64_t>(box.shape[outer]);
    if (box.shape[outer] != inBox.shape[outer] || box.shape[outer] != outBox.shape[outer])
      break;
  }
  std::vector<int64_t> place = box.offset;
  while (true) {
    std::memcpy(out.data() + indexIn(outBox, place) * elementBytes,
                in.data() + indexIn(inBox, place) * elementBytes, run);
    size_t i = outer;
    for (; i > 0; --i) {
      if (++place[i - 1] < box.offset[i - 1] + box.shape[i - 1])
        break;
      place[i - 1] = box.offset[i - 1];
    }
    if (i == 0)
      return;
  }
}

Expected<void> checkCover(const TensorBox &whole, std::span<const TensorBox> boxes,
                          const std::string &what) {
  std::vector<TensorBox> missing;
  if (whole.getElements() != 0)
    missing.push_back(whole);
  for (const TensorBox &box : boxes) {
    std::vector<TensorBox> rest;
    uint64_t taken = 0;
    for (const TensorBox &free : missing)
      if (std::optional<TensorBox> both = intersect(free, box)) {
        taken += both->getElements();
        cutOut(free, *both, rest);
      } else {
        rest.push_back(free);
      }
    missing = std::move(rest);
    if (taken != box.getElements())
      return fail(what, "elements of its part " + box.describe() + " are there twice", boxRemedy);
  }
  if (!missing.empty())
    return fail(what, "its part " + missing.front().describe() + " is missing", boxRemedy);
  return {};
}

} // namespace sinter::runtime
