//===- RunState.h - Where a training run stands -----------------*- C++ -*-===//
#pragma once

#include "runtime/Base/Error.h"
#include "runtime/Train/LossScaler.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::runtime {

/// An option that a run goes on with and that it had another value of before; "" is none.
struct OptionChange {
  std::string name, was, is;
};

/// state.json: all of a run's state but the tensors. The data's position and the random numbers
/// follow from `step` and the options' seed.
struct RunState {
  uint64_t step = 0;                     ///< steps done
  uint64_t updates = 0;                  ///< of the parameters: steps that were not skipped
  std::optional<LossScalerState> scaler; ///< f16 only
  /// What the run was begun with, by name, as far as its bits depend on it.
  std::map<std::string, std::string> options;

  std::string toJson() const;

  /// Reads what toJson() wrote; `source` names it in errors.
  static Expected<RunState> parse(std::string_view json, const std::string &source);

  /// Fails, with the first difference named, where a run of `wanted` options cannot go on from
  /// here. What differs of the `adjustable` ones, which are all that may, is returned; of those
  /// that this state does not have nothing is known.
  Expected<std::vector<OptionChange>>
  checkOptions(const std::map<std::string, std::string> &wanted,
               const std::map<std::string, std::string> &adjustable,
               const std::string &source) const;
};

} // namespace sinter::runtime
