#include "sinter/Layout.h"
#include "runtime/Base/ByteSize.h"
#include "runtime/Collective/Grid.h"
#include "sinter/Prediction.h"
#include <algorithm>
#include <tuple>

using namespace sinter;

/// The axes that a grid may have.
static constexpr const char *kTrainingAxes[] = {"data", "context", "tensor", "pipeline"};
static constexpr const char *kInferenceAxes[] = {"context", "tensor", "pipeline"};

/// The ways to write that `size` ranks are along an axis: of `tensor` also as a grid of rows and
/// columns, and one in depth.
static std::vector<std::string> listSizes(std::string_view axis, size_t size) {
  std::vector<std::string> sizes = {std::to_string(size)};
  if (axis != "tensor")
    return sizes;
  for (size_t depth = 1; depth <= size / 4; ++depth)
    for (size_t rows = 2; rows <= size / depth / 2; ++rows)
      if (size % (depth * rows) == 0)
        sizes.push_back((depth == 1 ? "" : std::to_string(depth) + "x") + std::to_string(rows) +
                        "x" + std::to_string(size / depth / rows));
  return sizes;
}

/// Appends to `grids` those that give `devices` ranks along `axes`, with what `grid` has already.
static void listGrids(std::span<const char *const> axes, size_t devices, const std::string &grid,
                      std::vector<std::string> &grids) {
  if (axes.empty()) {
    if (devices == 1)
      grids.push_back(grid);
    return;
  }
  for (size_t size = 1; size <= devices; ++size) {
    if (devices % size != 0)
      continue;
    for (const std::string &sizes : listSizes(axes.front(), size)) {
      std::string axis = (grid.empty() ? "" : ",") + std::string(axes.front()) + "=" + sizes;
      listGrids(axes.subspan(1), devices / size, size == 1 ? grid : grid + axis, grids);
    }
  }
}

/// The grids of so many ranks. ZeRO splits what ranks along data would all have.
static std::vector<Layout> listLayouts(size_t devices, bool trains) {
  std::vector<std::string> grids;
  if (trains)
    listGrids(kTrainingAxes, devices, "", grids);
  else
    listGrids(kInferenceAxes, devices, "", grids);
  std::vector<Layout> layouts;
  for (const std::string &grid : grids) {
    bool hasData = grid.find("data") != std::string::npos;
    for (int64_t zero = 0; zero <= (hasData ? 3 : 0); ++zero) {
      Layout &layout = layouts.emplace_back();
      layout.grid = grid;
      layout.zero = zero;
    }
  }
  return layouts;
}

std::string sinter::describeLayout(const std::string &grid, int64_t zero) {
  if (grid.empty())
    return "one rank";
  return grid + (zero != 0 ? ", zero " + std::to_string(zero) : "");
}

/// Plans a layout's step and predicts its time.
static Expected<void> tryLayout(const Model &model, PlannedStep options,
                                const runtime::Cluster &cluster, uint64_t most, Layout &layout) {
  options.observer = {}; // the search has a bar of its own
  options.grid = layout.grid;
  options.zero = layout.zero;
  SINTER_TRY(CompileRequest request, makeModeRequest(model, options, options.validates));
  request.code = false;
  SINTER_TRY(Compiled compiled, compileCached(request, options, model.path.string()));
  SINTER_TRY(runtime::TrainMemory memory, predictStepMemory(model, compiled.executable, options));
  layout.plannedBytes = memory.getPeak();
  layout.fits = most == 0 || layout.plannedBytes <= most;
  SINTER_TRY(std::vector<ProgramRuns> runs, getModeRuns(*compiled.executable, options));
  SINTER_TRY(StepPrediction prediction,
             predictStep(*compiled.executable, runs, request.options, cluster));
  layout.stepMs = 1e3 * prediction.time.seconds;
  for (const runtime::RankTime &rank : prediction.time.ranks)
    layout.computeMs = std::max(layout.computeMs, 1e3 * rank.compute);
  return {};
}

static std::string formatMs(double ms) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g ms", ms);
  return text;
}

/// Says what a layout is worse in than the best.
static void explainLoss(const Layout &best, uint64_t most, Layout &layout) {
  if (!layout.why.empty() || &layout == &best)
    return;
  if (!layout.fits) {
    layout.why = "needs " + formatBytes(layout.plannedBytes) + " of " + formatBytes(most);
    return;
  }
  double computing = layout.computeMs - best.computeMs;
  double moving = layout.stepMs - best.stepMs - computing;
  auto say = [&](double ms, const char *what) {
    if (ms >= 0.001 * best.stepMs)
      layout.why += (layout.why.empty() ? "" : ", ") + formatMs(ms) + " more " + what;
  };
  say(moving, "communication");
  say(computing, "computing");
  if (layout.why.empty())
    layout.why = "no faster";
}

Expected<std::vector<Layout>> sinter::findLayouts(const Model &model, const PlannedStep &options,
                                                  size_t devices, const runtime::Cluster &cluster) {
  SINTER_TRY(uint64_t budget, options.getBudget());
  uint64_t most = budget != 0 ? budget : cluster.device.memoryBytes;
  std::vector<Layout> layouts = listLayouts(devices, options.isTraining());
  Progress progress(options.observer, "planning layouts", layouts.size());
  uint64_t least = 0;
  for (size_t i = 0; i < layouts.size(); ++i) {
    if (Expected<void> tried = tryLayout(model, options, cluster, most, layouts[i]); !tried)
      layouts[i].why = tried.error().what + ": " + tried.error().why;
    else
      least = std::min(least == 0 ? UINT64_MAX : least, layouts[i].plannedBytes);
    progress.advance(i + 1);
  }
  std::ranges::stable_sort(layouts, {}, [](const Layout &layout) {
    return std::tuple(!layout.fits, !layout.why.empty(), layout.stepMs);
  });
  std::string what = "`layout` auto on " + std::to_string(devices) + " devices";
  if (least == 0)
    return fail(what, layouts.front().why, "give a `grid` of your own");
  if (!layouts.front().fits)
    return fail(what,
                "each layout needs " + formatBytes(least) +
                    " a device at the least, and there are " + formatBytes(most),
                "give more devices, or a smaller `batch`");
  for (Layout &layout : layouts)
    explainLoss(layouts.front(), most, layout);
  return layouts;
}

Expected<std::pair<runtime::Cluster, size_t>> sinter::chooseDevices(const LayoutOptions &layout,
                                                                    RunOptions &options) {
  bool finds = !layout.layout.empty();
  if (finds && (!options.grid.empty() || options.zero != 0))
    return fail("`layout` auto", "it finds `grid` and `zero` itself", "leave these out");
  if (!finds && layout.devices != 0)
    return fail("`devices` " + std::to_string(layout.devices), "is what `layout` auto is to use",
                "add `layout` auto, or give a `grid`");
  if (finds && layout.devices == 0 && layout.cluster.empty())
    return fail("`layout` auto", "nothing says on how many devices", "give `devices` N");
  SINTER_TRY(size_t ranks, runtime::countRanks(options.grid));
  ranks = std::max(ranks, static_cast<size_t>(layout.devices));
  SINTER_TRY(std::string target, resolveTarget(options));
  SINTER_TRY(runtime::Cluster cluster, findCluster(layout.cluster, target, ranks));
  if (finds && layout.devices == 0)
    ranks = cluster.size();
  if (ranks > cluster.size() && layout.cluster.empty())
    return fail(finds ? "`devices` " + std::to_string(ranks) : "`grid` " + options.grid,
                std::to_string(ranks) + " devices are more than the " +
                    std::to_string(cluster.size()) + " whose links are known without a `cluster`",
                "describe yours in a file, and name it with `cluster`");
  if (ranks > cluster.size())
    return fail("`cluster` " + layout.cluster,
                "it has " + std::to_string(cluster.size()) + " devices, of " +
                    std::to_string(ranks) + " that are asked for",
                "give a larger one, or ask for fewer");
  if (!layout.cluster.empty()) {
    if (!options.target.empty() && target != cluster.device.target)
      return fail("`target` " + options.target,
                  "the devices of `cluster` " + layout.cluster + " are " + cluster.device.target,
                  "leave one of them out");
    options.target = cluster.device.target;
  }
  return std::pair(std::move(cluster), ranks);
}
