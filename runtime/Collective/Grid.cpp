#include "runtime/Collective/Grid.h"
#include "runtime/Format/PipelineStages.h"
#include "runtime/Format/VerifierScope.h"
#include <algorithm>
#include <charconv>
#include <numeric>
#include <ranges>

namespace sinter::runtime {
namespace {

struct Axis {
  std::string_view name;
  size_t size = 1, stride = 1; // ranks along it, and from one place on it to the next
};

std::vector<Axis> listAxes(const fb::Executable &executable) {
  std::vector<Axis> axes;
  if (executable.grid())
    for (const fb::GridAxis *axis : *executable.grid())
      axes.push_back({axis->name()->string_view(), axis->size()});
  size_t stride = 1;
  for (size_t i = axes.size(); i-- > 0; stride *= axes[i].size)
    axes[i].stride = stride;
  return axes;
}

/// A positive number, or 0 where a text is none.
size_t parseSize(std::string_view text) {
  size_t size = 0;
  auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), size);
  return status == std::errc() && end == text.data() + text.size() ? size : 0;
}

/// What an axis is for: "tensor" of "tensor.rows".
std::string_view getKind(std::string_view axis) { return axis.substr(0, axis.find('.')); }

/// The place of an axis in the order of kGridAxes and of kTensorAxes.
std::pair<const std::string_view *, const std::string_view *> findOrder(const GridAxis &axis) {
  return {std::ranges::find(kGridAxes, getKind(axis.name)),
          std::ranges::find(kTensorAxes, axis.name)};
}

/// The sizes that "2x4" is of, or none where it is no such text; of as many as kTensorAxes at most.
std::vector<size_t> parseSizes(std::string_view text) {
  std::vector<size_t> sizes;
  for (auto part : std::views::split(text, 'x'))
    sizes.push_back(parseSize({part.begin(), part.end()}));
  bool isGrid = sizes.size() <= std::size(kTensorAxes) && std::ranges::count(sizes, 0u) == 0;
  return isGrid ? sizes : std::vector<size_t>();
}

} // namespace

RankGroup makeWholeGroup(const Communicator &communicator) {
  RankGroup group;
  group.ranks.resize(communicator.size());
  std::iota(group.ranks.begin(), group.ranks.end(), 0);
  group.place = communicator.getRank();
  return group;
}

Expected<std::vector<GridAxis>> parseGrid(std::string_view text) {
  std::string what = "`grid` " + std::string(text);
  std::vector<GridAxis> axes;
  size_t ranks = 1;
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view entry = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
    size_t equals = std::min(entry.find('='), entry.size());
    std::string_view name = entry.substr(0, equals);
    std::string_view number = entry.substr(std::min(equals + 1, entry.size()));
    std::vector<size_t> sizes = parseSizes(number);
    if (sizes.empty() || (sizes.size() > 1 && name != "tensor"))
      return fail(what,
                  "'" + std::string(entry) + "' is not of the form " +
                      (name == "tensor" ? "tensor=N, tensor=RxC or tensor=DxRxC" : "AXIS=N"),
                  "write data=2,tensor=2, for example");
    if (std::ranges::find(kGridAxes, name) == std::end(kGridAxes))
      return fail(what, "there is no axis '" + std::string(name) + "'",
                  "axes are data, tensor, pipeline and context");
    if (std::ranges::any_of(axes, [&](const GridAxis &axis) { return getKind(axis.name) == name; }))
      return fail(what, "the axis '" + std::string(name) + "' is there twice", "give it once");
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] > mostRanks || (ranks *= sizes[i]) > mostRanks)
        return fail(what, "there are more than " + std::to_string(mostRanks) + " ranks",
                    "give fewer");
      std::string_view part = std::end(kTensorAxes)[ptrdiff_t(i) - ptrdiff_t(sizes.size())];
      axes.push_back({std::string(sizes.size() == 1 ? name : part), sizes[i]});
    }
  }
  std::ranges::sort(axes, {}, findOrder);
  return axes;
}

Expected<size_t> countRanks(std::string_view grid) {
  SINTER_TRY(std::vector<GridAxis> axes, parseGrid(grid));
  size_t ranks = 1;
  for (const GridAxis &axis : axes)
    ranks *= axis.size;
  return ranks;
}

size_t countRanks(const fb::Executable &executable) {
  size_t ranks = 1;
  for (const Axis &axis : listAxes(executable))
    ranks *= axis.size;
  return ranks;
}

size_t countRanks(const fb::Executable &executable, std::string_view axis) {
  for (const Axis &known : listAxes(executable))
    if (known.name == axis)
      return known.size;
  return 1;
}

size_t findPlace(const fb::Executable &executable, std::string_view axis, size_t rank) {
  for (const Axis &known : listAxes(executable))
    if (known.name == axis)
      return rank / known.stride % known.size;
  return 0;
}

RankGroup findGroup(const fb::Executable &executable, std::span<const uint32_t> axes, size_t rank) {
  std::vector<Axis> known = listAxes(executable);
  size_t size = 1, first = rank;
  for (uint32_t axis : axes) {
    size *= known[axis].size;
    first -= rank / known[axis].stride % known[axis].size * known[axis].stride;
  }
  RankGroup group;
  for (size_t place = 0; place < size; ++place) {
    size_t member = first, rest = place;
    for (size_t i = axes.size(); i-- > 0; rest /= known[axes[i]].size)
      member += rest % known[axes[i]].size * known[axes[i]].stride;
    if (member == rank)
      group.place = place;
    group.ranks.push_back(member);
  }
  return group;
}

size_t findRankOfStage(const fb::Executable &executable, uint32_t stage, size_t rank) {
  for (const Axis &axis : listAxes(executable))
    if (axis.name == kPipelineAxis)
      return rank + (stage % axis.size) * axis.stride -
             rank / axis.stride % axis.size * axis.stride;
  return rank;
}

std::string describeGrid(const fb::Executable &executable) {
  std::string text;
  std::string_view before;
  for (const Axis &axis : listAxes(executable)) {
    std::string_view kind = getKind(axis.name);
    text += kind == before ? "x" : (text.empty() ? "" : ",") + std::string(kind) + "=";
    text += std::to_string(axis.size);
    before = kind;
  }
  return text;
}

} // namespace sinter::runtime
