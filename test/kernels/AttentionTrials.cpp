#include "test/kernels/AttentionCase.h"

using namespace sinter;
using namespace sinter::kernels;

static AttentionProblem problem(int length, int maxSequence, int heads, int keyHeads,
                                int headSize) {
  AttentionProblem p;
  p.batch = 2;
  p.length = length;
  p.maxSequence = maxSequence;
  p.heads = heads;
  p.keyHeads = keyHeads;
  p.headSize = headSize;
  p.scale = 0.25;
  p.stream = 5;
  return p;
}

static AttentionProblem causal(AttentionProblem p, int window = 0, double softcap = 0,
                               double dropout = 0) {
  p.causal = true;
  p.window = window;
  p.softcap = softcap;
  p.dropout = dropout;
  return p;
}

std::map<std::string, AttentionCase::Options> kernels::makeAttentionTrials() {
  std::map<std::string, AttentionCase::Options> trials;
  auto add = [&](const std::string &name, AttentionCase::Options options) {
    trials[name] = std::move(options);
  };
  for (bool plain : {false, true}) {
    const char *element = plain ? kF32 : kBf16;
    std::string kind = plain ? "plain_" : "matrices_";
    auto options = [&](AttentionProblem p) {
      AttentionCase::Options result;
      result.element = result.result = element;
      result.problem = std::move(p);
      return result;
    };
    add(kind + "one_row", options(causal(problem(1, 1, 1, 1, 16))));
    add(kind + "all_keys", options(problem(70, 70, 2, 2, 32)));
    add(kind + "causal", options(causal(problem(130, 130, 2, 1, 64))));
    add(kind + "long_keys", options(problem(3, 200, 1, 1, 48)));
    add(kind + "window", options(causal(problem(100, 100, 1, 1, 32), 17)));
    add(kind + "window_both_sides", [&] {
      auto p = problem(70, 70, 1, 1, 32);
      p.window = 5;
      return options(p);
    }());
    add(kind + "softcap", options(causal(problem(40, 40, 1, 1, 32), 0, 2.0)));
    add(kind + "dropout", options(causal(problem(40, 40, 2, 1, 32), 0, 0, 0.25)));
    // Heads 2 and 3 of 6, queries 10 to 49 of 64.
    add(kind + "dropout_of_a_part", [&] {
      auto result = options(causal(problem(40, 64, 2, 1, 32), 0, 0, 0.25));
      result.hasStart = true;
      result.problem.whole = {6, 64, 64};
      result.problem.firstWeight = (2 * 64 + 10) * 64;
      return result;
    }());
    add(kind + "wide", options(causal(problem(35, 35, 1, 1, 256))));
    add(kind + "grouped_columns", [&] {
      auto result = options(causal(problem(33, 33, 6, 2, 64)));
      result.packing = Packing::Columns;
      return result;
    }());
    add(kind + "cache", [&] {
      auto result = options(causal(problem(20, 90, 4, 2, 128)));
      result.packing = Packing::HeadMajor;
      result.hasStart = true;
      return result;
    }());
    add(kind + "documents", [&] {
      auto result = options(causal(problem(90, 90, 1, 1, 32)));
      result.hasFirst = true;
      return result;
    }());
    add(kind + "slopes", [&] {
      auto result = options(causal(problem(40, 40, 4, 4, 32)));
      result.hasSlopes = true;
      return result;
    }());
    add(kind + "everything", [&] {
      auto result = options(causal(problem(40, 120, 4, 2, 32), 30, 3.0, 0.1));
      result.packing = Packing::HeadMajor;
      result.hasStart = result.hasFirst = result.hasSlopes = true;
      return result;
    }());
  }
  auto other = [&](const std::string &name, const char *element, const char *result, int headSize,
                   bool plain) {
    AttentionCase::Options options;
    options.element = element;
    options.result = result;
    options.plain = plain;
    options.problem = causal(problem(37, 37, 2, 1, headSize));
    add(name, options);
  };
  other("matrices_f16", kF16, kF16, 80, false);
  other("matrices_into_f32", kBf16, kF32, 96, false);
  other("plain_bf16_odd_heads", kBf16, kBf16, 7, false);
  other("plain_f16", kF16, kF32, 20, true);
  other("plain_where_matrices_would_do", kBf16, kBf16, 32, true);
  other("plain_f32_odd_heads", kF32, kF32, 33, false);
  return trials;
}

std::map<std::string, AttentionCase::Options> kernels::makeLargeAttentionTrials() {
  std::map<std::string, AttentionCase::Options> trials;
  auto add = [&](const char *name, int headSize, double dropout) -> AttentionCase::Options & {
    AttentionCase::Options &options = trials[name];
    options.element = options.result = kBf16;
    options.problem = causal(problem(130, 130, 2, 2, headSize), 0, 0, dropout);
    return options;
  };
  add("large_wide", 80, 0);
  add("large", 16, 0);
  add("large_dropout", 16, 0.1);
  AttentionCase::Options &documents = add("large_documents", 16, 0);
  documents.problem.window = 50;
  documents.hasFirst = true;
  AttentionCase::Options &everything = add("large_shaped", 16, 0);
  everything.problem = causal(problem(130, 140, 4, 2, 16), 70, 3.0);
  everything.packing = Packing::HeadMajor;
  everything.hasStart = everything.hasFirst = everything.hasSlopes = true;
  return trials;
}

std::map<std::string, AttentionCase::Options> kernels::makeLargeWarpgroupTrials() {
  std::map<std::string, AttentionCase::Options> trials;
  auto add = [&](const char *name, AttentionProblem p) -> AttentionCase::Options & {
    AttentionCase::Options &options = trials[name];
    options.element = options.result = kBf16;
    options.problem = std::move(p);
    return options;
  };
  add("large", causal(problem(130, 130, 2, 2, 64)));
  add("large_wide", causal(problem(130, 130, 2, 2, 128)));
  AttentionCase::Options &shaped =
      add("large_shaped", causal(problem(130, 140, 4, 2, 64), 70, 3.0, 0.1));
  shaped.packing = Packing::HeadMajor;
  shaped.hasStart = shaped.hasFirst = shaped.hasSlopes = true;
  return trials;
}

std::map<std::string, AttentionCase::Options> kernels::makeWarpgroupTrials() {
  std::map<std::string, AttentionCase::Options> trials;
  auto add = [&](const char *name, AttentionProblem p) -> AttentionCase::Options & {
    AttentionCase::Options &options = trials[name];
    options.element = options.result = kBf16;
    options.problem = std::move(p);
    return options;
  };
  add("one_row", causal(problem(1, 1, 1, 1, 64)));
  add("all_keys", problem(70, 70, 2, 2, 128));
  add("causal", causal(problem(130, 130, 2, 1, 64)));
  add("causal_wide", causal(problem(140, 140, 1, 1, 128)));
  add("long_keys", causal(problem(3, 200, 1, 1, 64)));
  add("window", causal(problem(150, 150, 1, 1, 64), 17));
  AttentionProblem bothSides = problem(150, 150, 1, 1, 64);
  bothSides.window = 5;
  add("window_both_sides", bothSides);
  add("softcap", causal(problem(70, 70, 1, 1, 128), 0, 2.0));
  add("dropout", causal(problem(70, 70, 2, 1, 64), 0, 0, 0.25));
  AttentionProblem part = causal(problem(70, 70, 2, 1, 64), 0, 0, 0.25);
  part.whole = {4, 70, 70};
  part.firstWeight = 2 * 70 * 70;
  add("dropout_of_a_part", part);
  add("into_f32", causal(problem(37, 37, 2, 1, 128))).result = kF32;
  add("grouped_columns", causal(problem(33, 33, 6, 2, 64))).packing = Packing::Columns;
  AttentionCase::Options &cache = add("cache", causal(problem(20, 90, 4, 2, 128)));
  cache.packing = Packing::HeadMajor;
  cache.hasStart = true;
  add("documents", causal(problem(150, 150, 1, 1, 64))).hasFirst = true;
  add("slopes", causal(problem(40, 40, 4, 4, 64))).hasSlopes = true;
  for (int headSize : {64, 128}) {
    AttentionCase::Options &options = add(headSize == 64 ? "everything" : "everything_wide",
                                          causal(problem(70, 140, 4, 2, headSize), 50, 3.0, 0.1));
    options.element = options.result = kF16;
    options.packing = Packing::HeadMajor;
    options.hasStart = options.hasFirst = options.hasSlopes = true;
  }
  return trials;
}

std::map<std::string, AttentionCase::Options>
kernels::selectForChecking(std::map<std::string, AttentionCase::Options> trials) {
  std::erase_if(trials, [](const auto &trial) {
    return trial.first.find("everything") == std::string::npos &&
           trial.first.find("grouped_columns") == std::string::npos;
  });
  return trials;
}
