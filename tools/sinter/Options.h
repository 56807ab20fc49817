//===- Options.h - What every command understands ---------------*- C++ -*-===//
#pragma once

#include "tools/sinter/Checks.h"
#include <cstdint>
#include <string>
#include <vector>

namespace sinter::cli {

/// Options that all commands which take a MODEL share.
struct ModelOptions {
  std::string model;      ///< directory, config.json or .sinter file
  std::string target;     ///< cpu, cpu:<name>, cuda or cuda:<name>; empty: the best there is
  int threads = 0;        ///< 0: one a core
  std::string dtype;      ///< f32, bf16 or f16; empty: the checkpoint's, or f32
  std::string cacheDtype; ///< f32, bf16 or f16; empty: narrow where dtype is
  bool tf32 = false;      ///< products of f32 on a GPU in TF32
  bool tune = false;      ///< a GPU chooses between ways of doing the same by their times
  bool json = false;      ///< one object instead of tables
  uint64_t seed = 0;      ///< random weights and sampling
  int64_t batch = 1;      ///< slots
  int64_t capacity = 0;   ///< --max-seq; 0: what the command needs
  int64_t length = 0;     ///< of the longest sequence that will be run, if that is known
  bool noCache = false;   ///< neither read nor write compiled executables
  std::vector<std::string> disabledPasses;
  std::vector<std::string> passPlugins;
  std::vector<std::string> addedPasses;
};

/// Adds the options that every command takes.
inline void addCommonOptions(CLI::App &command, ModelOptions &options) {
  command.add_option(
      "--target", options.target,
      "cpu, cuda, or a machine by name as in cuda:sm_90 (default: cuda where there is a GPU, "
      "else cpu)");
  command.add_option("--threads", options.threads, "threads (default: one a core)")
      ->check(wholeNumber(1, 1024));
  command
      .add_option(
          "--dtype", options.dtype,
          "compute type: f32, bf16 or f16 (default: the checkpoint's where the target computes "
          "in it, else f32)")
      ->check(CLI::IsMember({"f32", "bf16", "f16"}));
  command.add_flag("--json", options.json, "print one machine-readable object");
}

/// Adds the options that say how to compile and run, whatever the model and the work.
inline void addRunOptions(CLI::App &command, ModelOptions &options) {
  addCommonOptions(command, options);
  command.add_flag("--tf32", options.tf32,
                   "on a GPU, round the operands of f32 products to TF32 (10 bits of mantissa)");
  command.add_flag("--tune", options.tune,
                   "on a GPU, time what can be done in several ways when the model is bound, and "
                   "remember the fastest (last bits may depend on it)");
  command.add_flag("--no-cache", options.noCache, "compile even if a cached executable fits");
  command.add_option("--disable-pass", options.disabledPasses, "leave out a speed pass")
      ->delimiter(',')
      ->allow_extra_args(false); // what follows is MODEL
  command.add_option("--load-pass-plugin", options.passPlugins, "shared library with passes")
      ->allow_extra_args(false);
  command.add_option("--add-pass", options.addedPasses, "run a pass: after:PHASE:PASS[{options}]")
      ->allow_extra_args(false);
}

/// Adds the positional MODEL to a command.
inline void addModel(CLI::App &command, ModelOptions &options) {
  command
      .add_option("MODEL", options.model,
                  "Hugging Face directory, .gguf, config.json (random weights) or .sinter executable")
      ->required();
}

/// Adds all of ModelOptions to a command.
inline void addModelOptions(CLI::App &command, ModelOptions &options) {
  addModel(command, options);
  addRunOptions(command, options);
  command
      .add_option(
          "--cache-dtype", options.cacheDtype,
          "KV cache: f32, bf16 or, on a GPU, f16 (default: narrow with a narrow compute type)")
      ->check(CLI::IsMember({"f32", "bf16", "f16"}));
  command.add_option("--seed", options.seed, "of random weights and of sampling")->check(isSeed);
  command.add_option("--batch", options.batch, "slots")->check(wholeNumber(1, 65536));
  command.add_option("--max-seq", options.capacity, "positions that a slot's KV cache holds")
      ->check(wholeNumber(1, 1 << 24));
}

} // namespace sinter::cli
