//===- Explain.cpp - `sinter explain`: the compiler's decisions -------------===//

#include "compiler/Analysis/FormatNs.h"
#include "sinter/Plan.h"
#include "tools/cli/Help.h"
#include "tools/cli/Output.h"
#include "tools/sinter/Commands.h"
#include "tools/sinter/ModelFlags.h"
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

using namespace sinter;
using namespace sinter::cli;

namespace {
struct ExplainCommandOptions : CommandOptions<StepModeOptions> {
  bool all = false;
};

/// A decision that was taken alike at several places.
struct DecisionGroup {
  const Decision *decision;
  size_t count = 0;

  /// What all of it saves by the cost model, if that decided.
  std::optional<double> gainNs() const {
    if (!decision->gainNs)
      return std::nullopt;
    return *decision->gainNs * static_cast<double>(count);
  }
  /// What was not decided by costs comes last.
  std::pair<bool, double> weight() const {
    return {decision->gainNs.has_value(), std::abs(gainNs().value_or(0))};
  }
};
} // namespace

/// Equal decisions together, those first whose sides differ most in predicted cost.
static std::vector<DecisionGroup> groupDecisions(const std::vector<Decision> &decisions) {
  std::vector<DecisionGroup> groups;
  using Key = std::tuple<bool, std::string, std::string, std::string, std::string>;
  std::map<Key, size_t> known;
  for (const Decision &decision : decisions) {
    Key key(decision.taken, decision.pass, decision.name, decision.function, decision.text);
    auto [group, isNew] = known.try_emplace(std::move(key), groups.size());
    if (isNew)
      groups.push_back({&decision});
    ++groups[group->second].count;
  }
  std::ranges::stable_sort(groups, std::greater(), &DecisionGroup::weight);
  return groups;
}

static std::string pad(std::string text, size_t width) {
  text.resize(std::max(width, text.size() + 1), ' ');
  return text;
}

/// What is saved, what was done, in which entry; then why and where, in lines of 100 columns.
static void print(const DecisionGroup &group) {
  constexpr size_t kGain = 10, kTaken = 10, kEntry = 12, kColumns = 100;
  const Decision &decision = *group.decision;
  std::string gain;
  if (std::optional<double> ns = group.gainNs())
    gain = (*ns < 0 ? "-" : "") + formatNs(std::abs(*ns));
  std::string text = decision.text;
  if (!decision.where.empty())
    text += (group.count > 1 ? "; first at " : "; at ") + decision.where;
  if (group.count > 1)
    text = std::to_string(group.count) + " x " + text;
  text += " (" + decision.pass + ": " + decision.name + ")";
  std::string line = pad(gain, kGain) + pad(decision.taken ? "formed" : "declined", kTaken) +
                     pad(decision.function, kEntry);
  std::string indent(kGain + kTaken + kEntry, ' ');
  if (line.size() > indent.size())
    line += "\n" + indent;
  std::printf("%s%s\n", line.c_str(), wrap(text, kColumns - indent.size(), indent).c_str());
}

static void print(const std::vector<Decision> &decisions, bool all) {
  constexpr size_t kMost = 20;
  std::vector<DecisionGroup> groups = groupDecisions(decisions);
  size_t shown = groups.size();
  if (!all)
    shown = static_cast<size_t>(std::ranges::count_if(
        std::span(groups).first(std::min(kMost, shown)),
        [](const DecisionGroup &group) { return group.decision->gainNs.has_value(); }));
  std::printf("saves     decision  entry       why and where\n");
  for (size_t i = 0; i < shown; ++i)
    print(groups[i]);
  if (shown < groups.size())
    std::printf("%zu more decisions that matter less: --all\n", groups.size() - shown);
}

static Expected<void> runExplain(const ExplainCommandOptions &options) {
  SINTER_TRY(Model model, Model::open(options.model, options.observer));
  SINTER_TRY(std::vector<Decision> found, explain(model, options));
  if (options.json) {
    nlohmann::json decisions = nlohmann::json::array();
    for (const Decision &decision : found) {
      decisions.push_back({{"taken", decision.taken},
                           {"pass", decision.pass},
                           {"name", decision.name},
                           {"entry", decision.function},
                           {"where", decision.where},
                           {"text", decision.text}});
      if (decision.gainNs)
        decisions.back()["gain_ns"] = *decision.gainNs;
    }
    printJson(nlohmann::json{{"decisions", decisions}});
    return {};
  }
  print(found, options.all);
  return {};
}

void sinter::cli::addExplain(CLI::App &program) {
  CLI::App *command = addCommand(
      program, "explain", "Every fusion formed or declined, with the predicted cost of both sides");
  auto options = std::make_shared<ExplainCommandOptions>();
  addStepModeFlags(*command, *options);
  command->add_flag("--all", options->all,
                    "all decisions, not only those whose sides differ most in predicted cost");
  command->callback([options, command] {
    options->given = listGiven(*command);
    finish(runExplain(*options));
  });
}
