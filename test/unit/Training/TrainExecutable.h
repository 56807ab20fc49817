// A small language model that trains without the compiler: kernels in C++, the executable by hand.
//
// The logits of the token that follows t are row t of the parameter `table` plus the parameter
// `head.bias`; the optimizer is SGD with momentum 0.5 and bias-corrected like AdamW's, so that
// every input counts. On several ranks each adds the gradients of its own microbatches, and
// `update` gathers them and adds them in the order of the tree.
#pragma once

#include "runtime/Session/Session.h"
#include "runtime/Train/GradientTree.h"
#include "test/unit/Training/Sums.h"
#include "test/unit/runtime/TestExecutable.h"
#include <cmath>
#include <cstring>
#include <numeric>

namespace sinter::runtime::testing {

constexpr int64_t vocabulary = 8, parameterCount = vocabulary * vocabulary + vocabulary;
/// A target with this token gives a loss of NaN, in the op "poison" of "layer.1".
constexpr int32_t poison = vocabulary - 1;

struct TrainModel {
  int64_t batch = 2, sequence = 4;
  bool accumulates = false; ///< programs accumulate and update instead of train_step
  bool scales = false;      ///< an input loss_scale
  bool documents = false;   ///< an input first
  bool seeds = false;       ///< an input seed, of each program but evaluate
  std::string cubin = {};   ///< for a GPU: its kernels' machine code
  /// Of a step, where it accumulates; they decide how many buffers of gradients there are.
  uint64_t microbatches = 1, leaves = 1;
  uint64_t ranks = 1;  ///< along the axis data; more than one accumulates
  bool splits = false; ///< each rank has a part of the momentum

  /// Elements of the momentum that a rank has.
  int64_t part() const {
    auto count = static_cast<int64_t>(splits ? ranks : 1);
    return (parameterCount + count - 1) / count;
  }
  Parts parts() const;
  static KernelTable kernels();
};

namespace kernels {

inline float *f32(void *slice) { return static_cast<float *>(slice); }
inline const int32_t *i32(void *slice) { return static_cast<const int32_t *>(slice); }

// parameters, tokens, targets, loss_weight, loss_scale, count -> gradient += ..., loss
inline void gradient(void *const *slices, int64_t, int64_t) {
  const float *parameters = f32(slices[0]);
  const int32_t *tokens = i32(slices[1]), *targets = i32(slices[2]);
  float weight = *f32(slices[3]), scale = *f32(slices[4]);
  int32_t count = *i32(slices[5]);
  float *loss = f32(slices[7]), sums[parameterCount] = {}; // of this microbatch
  *loss = 0;
  for (int32_t i = 0; i < count; ++i) {
    if (targets[i] < 0 || targets[i] >= vocabulary)
      continue;
    float logits[vocabulary], sum = 0;
    for (int64_t j = 0; j < vocabulary; ++j)
      sum += logits[j] = std::exp(parameters[tokens[i] * vocabulary + j] +
                                  parameters[vocabulary * vocabulary + j]);
    *loss -= weight * std::log(logits[targets[i]] / sum);
    for (int64_t j = 0; j < vocabulary; ++j) {
      float d = scale * weight * (logits[j] / sum - (j == targets[i]));
      sums[tokens[i] * vocabulary + j] += d;
      sums[vocabulary * vocabulary + j] += d;
    }
  }
  for (int64_t i = 0; i < parameterCount; ++i)
    f32(slices[6])[i] += sums[i];
}

// targets, count -> loss, gradient: NaN where a target is the poison
inline void poisoned(void *const *slices, int64_t, int64_t) {
  for (int32_t i = 0; i < *i32(slices[1]); ++i)
    if (i32(slices[0])[i] == poison)
      *f32(slices[2]) = f32(slices[3])[0] = NAN;
}

// loss_scale, learning_rate, bias_correction1, bias_correction2, update, gradient, parameters,
// the parameters' indices of each element of moments, count -> moments, those parameters, grad_norm
inline void updatePart(void *const *slices, int64_t, int64_t) {
  float scale = *f32(slices[0]), rate = *f32(slices[1]);
  float correction = *f32(slices[2]) / *f32(slices[3]) * (1 + *f32(slices[4]) * 1e-3f);
  const float *gradient = f32(slices[5]), *parameters = f32(slices[6]);
  const int32_t *indices = i32(slices[7]);
  float *moments = f32(slices[9]), *out = f32(slices[10]);
  float sum = 0;
  for (int64_t i = 0; i < parameterCount; ++i)
    sum += (gradient[i] / scale) * (gradient[i] / scale);
  *f32(slices[11]) = std::sqrt(sum);
  for (int32_t j = 0; j < *i32(slices[8]); ++j) {
    int32_t i = indices[j];
    if (i >= parameterCount)
      continue;
    out[j] = parameters[i];
    if (std::isfinite(sum)) {
      moments[j] = 0.5f * moments[j] + gradient[i] / scale;
      out[j] -= rate * correction * moments[j];
    }
  }
}

// loss_scale, learning_rate, bias_correction1, bias_correction2, update
// -> gradient = 0, parameters, moments, grad_norm
inline void update(void *const *slices, int64_t, int64_t) {
  std::vector<int32_t> indices(parameterCount);
  std::iota(indices.begin(), indices.end(), 0);
  int32_t count = parameterCount;
  float *gradient = f32(slices[5]), *parameters = f32(slices[6]);
  void *all[] = {slices[0],  slices[1],      slices[2], slices[3], slices[4], gradient,
                 parameters, indices.data(), &count,    slices[7], slices[6], slices[8]};
  updatePart(all, 0, 1);
  std::fill_n(gradient, parameterCount, 0.0f);
}

// -> from = 0, to += from
inline void carry(void *const *slices, int64_t, int64_t) {
  float *from = f32(slices[0]), *to = f32(slices[1]);
  for (int64_t i = 0; i < parameterCount; ++i) {
    to[i] += from[i];
    from[i] = 0;
  }
}

// gradients of all ranks, their number -> their sum
inline void addRanks(void *const *slices, int64_t, int64_t) {
  auto ranks = static_cast<uint64_t>(*i32(slices[1]));
  std::vector<std::vector<float>> terms;
  for (uint64_t rank = 0; rank < ranks; ++rank) {
    const float *term = f32(slices[0]) + rank * uint64_t(parameterCount);
    terms.emplace_back(term, term + parameterCount);
  }
  std::ranges::copy(sumOfTree<std::vector<float>>(terms, ranks), f32(slices[2]));
}

// parameters with padding -> parameters, gradient = 0
inline void place(void *const *slices, int64_t, int64_t) {
  std::copy_n(f32(slices[0]), parameterCount, f32(slices[1]));
  std::fill_n(f32(slices[2]), parameterCount, 0.0f);
}

} // namespace kernels

inline KernelTable TrainModel::kernels() {
  return {{"gradient", kernels::gradient}, {"poisoned", kernels::poisoned},
          {"update", kernels::update},     {"carry", kernels::carry},
          {"addRanks", kernels::addRanks}, {"updatePart", kernels::updatePart},
          {"place", kernels::place}};
}

inline Parts TrainModel::parts() const {
  using fb::Space;
  enum Kernel : uint32_t { Gradient, Poisoned, Update, Carry, AddRanks, UpdatePart, Place };
  Parts parts;
  parts.kernels = {"gradient", "poisoned", "update"};
  parts.metadata = {{"beta1", "0.9"}, {"beta2", "0.95"}, {"leaves", std::to_string(leaves)}};
  if (ranks > 1)
    parts.grid = {{"data", ranks}};
  uint64_t buffers = GradientTree::make(microbatches, leaves, ranks)->getBuffers();
  if (buffers > 1 || ranks > 1)
    for (const char *name : {"carry", "addRanks", "updatePart", "place"})
      parts.kernels.emplace_back(name);
  uint64_t parameterBytes = parameterCount * 4, tableBytes = vocabulary * vocabulary * 4;
  auto partBytes = static_cast<uint64_t>(part()) * 4;
  fb::Slice parameters = slice(Space::State, 0, parameterBytes);
  fb::Slice moments = slice(Space::State, parameterBytes, partBytes);
  auto buffer = [&](uint64_t i) {
    return slice(Space::State, parameterBytes + partBytes + i * parameterBytes, parameterBytes);
  };
  fb::Slice gradient = buffer(buffers - 1); // all of the rank's
  parts.stateBytes = (1 + buffers) * parameterBytes + partBytes;
  parts.checkpoint = {{"table.weight", fb::DType::F32, {vocabulary, vocabulary}, {}, {{0, 0.5}}},
                      {"head.bias", fb::DType::F32, {vocabulary}, {}}};
  parts.states = {
      {"table.weight",
       fb::DType::F32,
       {vocabulary, vocabulary},
       slice(Space::State, 0, tableBytes)},
      {"head.bias", fb::DType::F32, {vocabulary}, slice(Space::State, tableBytes, vocabulary * 4)},
      {"sgd.m", fb::DType::F32, {part()}, moments}};
  if (splits) {
    parts.states.back().whole = {parameterCount};
    parts.states.back().sharding = {{0}};
  }
  for (uint64_t i = 0; i < buffers; ++i)
    parts.states.push_back({"gradient" + (i + 1 < buffers ? std::to_string(i) : "") + ".all",
                            fb::DType::F32,
                            {parameterCount},
                            buffer(i)});
  // The number of tokens, the scale where there is none, the ranks, the elements of a part, and
  // what part of what is 0, 1, 2, ...
  uint64_t tokens = static_cast<uint64_t>(batch * sequence), padded = ranks * partBytes;
  parts.constants.resize(128 + padded);
  int32_t counts[] = {static_cast<int32_t>(tokens), static_cast<int32_t>(ranks),
                      static_cast<int32_t>(part())};
  float one = 1;
  std::memcpy(parts.constants.data() + 16, &one, 4); // where a GPU's launch may have a slice
  for (size_t i = 0; i < 3; ++i)
    std::memcpy(parts.constants.data() + 32 * i, &counts[i], 4);
  for (uint64_t i = 0; i < padded / 4; ++i)
    std::memcpy(parts.constants.data() + 128 + 4 * i, &i, 4);
  fb::Slice countSlice = slice(Space::Constant, 0, 4);
  fb::Slice ranksSlice = slice(Space::Constant, 32, 4), partSlice = slice(Space::Constant, 64, 4);
  fb::Slice indices = slice(Space::Constant, 128, padded);

  // Adds an input behind those that are there.
  auto input = [](Parts::Program &program, const char *name, fb::DType dtype,
                  std::vector<int64_t> shape) {
    uint64_t bytes = 4;
    for (int64_t extent : shape)
      bytes *= static_cast<uint64_t>(extent);
    fb::Slice place = slice(Space::Input, program.inputBytes, bytes);
    program.inputBytes += (bytes + 63) / 64 * 64;
    program.inputs.push_back({name, dtype, std::move(shape), place});
    return place;
  };
  auto scalar = [&](Parts::Program &program, const char *name) {
    return input(program, name, fb::DType::F32, {});
  };
  auto forward = [&](Parts::Program &program, fb::Slice into) {
    fb::Slice tokenSlice = input(program, "tokens", fb::DType::I32, {batch, sequence});
    fb::Slice targets = input(program, "targets", fb::DType::I32, {batch, sequence});
    if (documents)
      input(program, "first", fb::DType::I32, {batch, sequence});
    if (seeds && program.name != "evaluate")
      input(program, "seed", fb::DType::I32, {2});
    fb::Slice weight = scalar(program, "loss_weight");
    fb::Slice scale = scales && program.name != "evaluate" ? scalar(program, "loss_scale")
                                                           : slice(Space::Constant, 16, 4);
    fb::Slice loss = slice(Space::Output, 0, 4);
    program.outputs.push_back({"loss", fb::DType::F32, {}, loss});
    program.outputBytes = 64;
    program.arenaBytes = parameterBytes;
    program.commands = {
        launch(Gradient, 1,
               {parameters, tokenSlice, targets, weight, scale, countSlice, into, loss}, "gradient",
               "layer.0", {fb::DType::F32, fb::DType::F32}),
        launch(Poisoned, 1, {targets, countSlice, loss, into}, "poison", "layer.1",
               {fb::DType::F32, fb::DType::F32})};
    return scale;
  };
  auto optimize = [&](Parts::Program &program, fb::Slice scale) {
    fb::Slice rate = scalar(program, "learning_rate");
    fb::Slice correction1 = scalar(program, "bias_correction1");
    fb::Slice correction2 = scalar(program, "bias_correction2");
    fb::Slice number = scalar(program, "update");
    fb::Slice norm = slice(Space::Output, 64, 4);
    program.outputs.push_back({"grad_norm", fb::DType::F32, {}, norm});
    program.outputBytes = 128;
    constexpr auto f32 = fb::DType::F32;
    fb::Slice sum = gradient;
    if (ranks > 1) {
      fb::Slice gathered = slice(Space::Arena, 0, ranks * parameterBytes);
      sum = splits ? slice(Space::Arena, ranks * parameterBytes, parameterBytes) : gradient;
      program.arenaBytes = (ranks + 1) * parameterBytes + 2 * partBytes + padded;
      program.commands = {collective(fb::CollectiveKind::AllGather, {0}, gradient, gathered),
                          launch(AddRanks, 1, {gathered, ranksSlice, sum}, "sum", "", {f32})};
    }
    if (!splits) {
      program.commands.push_back(
          launch(Update, 1,
                 {scale, rate, correction1, correction2, number, sum, parameters, moments, norm},
                 "optimizer", "", {f32, f32, f32, f32}));
      return;
    }
    uint64_t begin = (ranks + 1) * parameterBytes;
    fb::Slice own = slice(Space::Arena, begin, partBytes);
    fb::Slice next = slice(Space::Arena, begin + partBytes, partBytes);
    fb::Slice all = slice(Space::Arena, begin + 2 * partBytes, padded);
    program.commands.push_back(collective(fb::CollectiveKind::AllSlice, {0}, indices, own));
    program.commands.push_back(launch(UpdatePart, 1,
                                      {scale, rate, correction1, correction2, number, sum,
                                       parameters, own, partSlice, moments, next, norm},
                                      "optimizer", "", {f32, f32, f32}));
    program.commands.push_back(collective(fb::CollectiveKind::AllGather, {0}, next, all));
    program.commands.push_back(
        launch(Place, 1, {all, parameters, gradient}, "place", "", {f32, f32}));
  };

  Parts::Program step, evaluate;
  step.name = accumulates ? "accumulate" : "train_step";
  fb::Slice scale = forward(step, buffer(0));
  if (!accumulates)
    optimize(step, scale);
  parts.programs = {step};
  if (accumulates) {
    Parts::Program update;
    update.name = "update";
    if (seeds)
      input(update, "seed", fb::DType::I32, {2});
    optimize(update, scales ? scalar(update, "loss_scale") : slice(Space::Constant, 16, 4));
    parts.programs.push_back(update);
  }
  for (uint64_t i = 1; i < buffers; ++i) {
    Parts::Program carry;
    carry.name = carryProgram(i);
    carry.commands = {launch(Carry, 1, {buffer(i - 1), buffer(i)}, "carry", "",
                             {fb::DType::F32, fb::DType::F32})};
    parts.programs.push_back(carry);
  }
  evaluate.name = "evaluate";
  forward(evaluate, slice(Space::Arena, 0, parameterBytes));
  parts.programs.push_back(evaluate);
  if (!cubin.empty())
    moveToGpu(parts, cubin);
  return parts;
}

} // namespace sinter::runtime::testing
