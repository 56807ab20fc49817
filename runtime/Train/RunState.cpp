#include "runtime/Train/RunState.h"
#include "runtime/Base/Json.h"
#include <algorithm>
#include <cmath>

namespace sinter::runtime {
namespace {

using Json = nlohmann::json;
constexpr const char *stateRemedy = "delete this checkpoint";

/// What a run did that does not say so: by older versions, in which it was no option.
const std::map<std::string, std::string, std::less<>> kBeforeWritten = {
    {"leaves", "1"}, {"fp8", "none"}, {"fp8_history", "16"}, {"fp8_margin", "0"}};

std::optional<uint64_t> findCount(const Json &json, const char *key) {
  auto found = json.find(key);
  if (found == json.end() || !found->is_number_unsigned())
    return std::nullopt;
  return found->get<uint64_t>();
}

/// The id of an option, which older versions wrote as its flag.
std::string toId(std::string name) {
  if (!name.starts_with("--"))
    return name;
  std::ranges::replace(name, '-', '_');
  return name.substr(2);
}

} // namespace

std::string RunState::toJson() const {
  Json json = {{"format", 1}, {"step", step}, {"updates", updates}, {"options", options}};
  if (scaler)
    json["scaler"] = {{"scale", scaler->scale}, {"count", scaler->count}};
  return writeJson(json, 2) + "\n";
}

Expected<RunState> RunState::parse(std::string_view text, const std::string &source) {
  Json json = parseJson(text);
  if (!json.is_object() || json.value("format", Json()) != 1)
    return fail(source, "it is no run's state of format 1", stateRemedy);
  std::optional<uint64_t> step = findCount(json, "step"), updates = findCount(json, "updates");
  if (!step || !updates || *updates > *step)
    return fail(source, "its 'step' and 'updates' are missing or do not agree", stateRemedy);
  RunState state;
  state.step = *step;
  state.updates = *updates;
  if (auto scaler = json.find("scaler"); scaler != json.end()) {
    std::optional<uint64_t> count;
    if (scaler->is_object())
      count = findCount(*scaler, "count");
    auto scale = count ? scaler->find("scale") : scaler->end();
    if (!count || scale == scaler->end() || !scale->is_number() ||
        !std::isfinite(scale->get<float>()) || scale->get<float>() <= 0)
      return fail(source, "its 'scaler' is none", stateRemedy);
    state.scaler = LossScalerState{scale->get<float>(), *count};
  }
  auto options = json.find("options");
  if (options == json.end() || !options->is_object())
    return fail(source, "it has no 'options'", stateRemedy);
  for (const auto &[name, value] : options->items()) {
    if (!value.is_string())
      return fail(source, "its option '" + name + "' is no text", stateRemedy);
    state.options[toId(name)] = value.get<std::string>();
  }
  return state;
}

Expected<std::vector<OptionChange>>
RunState::checkOptions(const std::map<std::string, std::string> &wanted,
                       const std::map<std::string, std::string> &adjustable,
                       const std::string &source) const {
  auto shown = [](const std::string &value) { return value.empty() ? "empty" : value; };
  auto differs = [&](const std::string &name, const std::string &was, const std::string &is) {
    // What is not an option is said in words.
    bool isOption = name.find(' ') == std::string::npos;
    return fail(source,
                (isOption ? "`" + name + "`" : name) + " was " + shown(was) +
                    " when it was written and is " + shown(is) + " now",
                "give the options of then, or begin anew in another `out`");
  };
  for (const auto &[name, value] : wanted) {
    auto found = options.find(name);
    if (found == options.end()) {
      auto before = kBeforeWritten.find(name);
      if (before == kBeforeWritten.end())
        return differs(name, "not set", value);
      if (before->second != value)
        return differs(name, before->second, value);
      continue;
    }
    if (found->second != value)
      return differs(name, found->second, value);
  }
  std::vector<OptionChange> changes;
  for (const auto &[name, value] : options)
    if (auto chosen = adjustable.find(name); chosen != adjustable.end()) {
      if (chosen->second != value)
        changes.push_back({name, value, chosen->second});
    } else if (!wanted.contains(name)) {
      return differs(name, value, "not set");
    }
  return changes;
}

} // namespace sinter::runtime
