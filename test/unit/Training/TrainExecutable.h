// A small language model that trains without the compiler: kernels in C++, the executable by hand.
//
// The logits of the token that follows t are row t of the parameter `table` plus the parameter
// `head.bias`; the optimizer is SGD with momentum 0.5 and bias-corrected like AdamW's, so that
// every input counts.
#pragma once

#include "runtime/Session/Session.h"
#include "test/unit/runtime/TestExecutable.h"
#include <cmath>
#include <cstring>

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
  float *gradient = f32(slices[6]), *loss = f32(slices[7]);
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
      gradient[tokens[i] * vocabulary + j] += d;
      gradient[vocabulary * vocabulary + j] += d;
    }
  }
}

// targets, count -> loss, gradient: NaN where a target is the poison
inline void poisoned(void *const *slices, int64_t, int64_t) {
  for (int32_t i = 0; i < *i32(slices[1]); ++i)
    if (i32(slices[0])[i] == poison)
      *f32(slices[2]) = f32(slices[3])[0] = NAN;
}

// loss_scale, learning_rate, bias_correction1, bias_correction2, update
// -> gradient = 0, parameters, moments, grad_norm
inline void update(void *const *slices, int64_t, int64_t) {
  float scale = *f32(slices[0]), rate = *f32(slices[1]);
  float correction = *f32(slices[2]) / *f32(slices[3]) * (1 + *f32(slices[4]) * 1e-3f);
  float *gradient = f32(slices[5]), *parameters = f32(slices[6]), *moments = f32(slices[7]);
  float sum = 0;
  for (int64_t i = 0; i < parameterCount; ++i)
    sum += (gradient[i] / scale) * (gradient[i] / scale);
  *f32(slices[8]) = std::sqrt(sum);
  for (int64_t i = 0; i < parameterCount; ++i) {
    if (std::isfinite(sum)) {
      moments[i] = 0.5f * moments[i] + gradient[i] / scale;
      parameters[i] -= rate * correction * moments[i];
    }
    gradient[i] = 0;
  }
}

} // namespace kernels

inline KernelTable TrainModel::kernels() {
  return {{"gradient", kernels::gradient},
          {"poisoned", kernels::poisoned},
          {"update", kernels::update}};
}

inline Parts TrainModel::parts() const {
  using fb::Space;
  Parts parts;
  parts.kernels = {"gradient", "poisoned", "update"};
  parts.metadata = {{"beta1", "0.9"}, {"beta2", "0.95"}};
  uint64_t parameterBytes = parameterCount * 4, tableBytes = vocabulary * vocabulary * 4;
  fb::Slice parameters = slice(Space::State, 0, parameterBytes);
  fb::Slice moments = slice(Space::State, parameterBytes, parameterBytes);
  fb::Slice gradient = slice(Space::State, 2 * parameterBytes, parameterBytes);
  parts.stateBytes = 3 * parameterBytes;
  parts.checkpoint = {{"table.weight", fb::DType::F32, {vocabulary, vocabulary}, {}, {{0, 0.5}}},
                      {"head.bias", fb::DType::F32, {vocabulary}, {}}};
  parts.states = {
      {"table.weight",
       fb::DType::F32,
       {vocabulary, vocabulary},
       slice(Space::State, 0, tableBytes)},
      {"head.bias", fb::DType::F32, {vocabulary}, slice(Space::State, tableBytes, vocabulary * 4)},
      {"sgd.m", fb::DType::F32, {parameterCount}, moments},
      {"gradient.all", fb::DType::F32, {parameterCount}, gradient}};
  // The number of tokens, and the scale where there is none.
  uint64_t tokens = static_cast<uint64_t>(batch * sequence);
  parts.constants.resize(64);
  int32_t count = static_cast<int32_t>(tokens);
  float one = 1;
  std::memcpy(parts.constants.data(), &count, 4);
  std::memcpy(parts.constants.data() + 16, &one, 4); // where a GPU's launch may have a slice
  fb::Slice countSlice = slice(Space::Constant, 0, 4);

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
        launch(0, 1, {parameters, tokenSlice, targets, weight, scale, countSlice, into, loss},
               "gradient", "layer.0", {fb::DType::F32, fb::DType::F32}),
        launch(1, 1, {targets, countSlice, loss, into}, "poison", "layer.1",
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
    program.commands.push_back(launch(
        2, 1, {scale, rate, correction1, correction2, number, gradient, parameters, moments, norm},
        "optimizer", "", {fb::DType::F32, fb::DType::F32, fb::DType::F32, fb::DType::F32}));
  };

  Parts::Program step, evaluate;
  step.name = accumulates ? "accumulate" : "train_step";
  fb::Slice scale = forward(step, gradient);
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
  evaluate.name = "evaluate";
  forward(evaluate, slice(Space::Arena, 0, parameterBytes));
  parts.programs.push_back(evaluate);
  if (!cubin.empty())
    moveToGpu(parts, cubin);
  return parts;
}

} // namespace sinter::runtime::testing
