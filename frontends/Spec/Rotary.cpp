#include "frontends/Spec/Rotary.h"
#include <algorithm>
#include <cmath>
#include <numbers>

namespace sinter {
namespace {

/// base ^ (2i / dim), as a f32 tensor computes it.
std::vector<float> powers(double base, int64_t dim) {
  std::vector<float> result;
  for (int64_t i = 0; i < dim; i += 2) {
    float exponent = static_cast<float>(i) / static_cast<float>(dim);
    result.push_back(static_cast<float>(std::pow(static_cast<float>(base), double(exponent))));
  }
  return result;
}

std::vector<float> reciprocals(std::vector<float> values) {
  for (float &value : values)
    value = 1.0f / value;
  return values;
}

/// The first pairs turn, as if all did; the others do not.
std::vector<float> proportional(const RotarySpec &spec) {
  std::vector<float> inverse = reciprocals(powers(spec.theta, spec.dim));
  auto turned = static_cast<size_t>(spec.turnedShare * double(spec.dim) / 2);
  for (size_t i = 0; i < inverse.size(); ++i)
    inverse[i] = i < turned ? inverse[i] / static_cast<float>(spec.factor.value_or(1)) : 0.0f;
  return inverse;
}

std::vector<float> llama3(const RotarySpec &spec) {
  std::vector<float> inverse = reciprocals(powers(spec.theta, spec.dim));
  float factor = static_cast<float>(*spec.factor);
  double length = static_cast<double>(spec.originalMaxPositions);
  float lowWavelength = static_cast<float>(length / spec.lowFreqFactor);
  float highWavelength = static_cast<float>(length / spec.highFreqFactor);
  for (float &frequency : inverse) {
    float wavelength = static_cast<float>(2 * std::numbers::pi) / frequency;
    if (wavelength > lowWavelength) {
      frequency /= factor;
    } else if (wavelength >= highWavelength) {
      float smooth =
          (static_cast<float>(length) / wavelength - static_cast<float>(spec.lowFreqFactor)) /
          static_cast<float>(spec.highFreqFactor - spec.lowFreqFactor);
      frequency = (1 - smooth) * frequency / factor + smooth * frequency;
    }
  }
  return inverse;
}

/// The component at which a wave makes `rotations` turns over the original length.
double correctionDim(const RotarySpec &spec, double rotations) {
  double turns = double(spec.originalMaxPositions) / (rotations * 2 * std::numbers::pi);
  return double(spec.dim) * std::log(turns) / (2 * std::log(spec.theta));
}

std::vector<float> yarn(const RotarySpec &spec, double factor) {
  double low = correctionDim(spec, spec.betaFast), high = correctionDim(spec, spec.betaSlow);
  if (spec.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, double(spec.dim - 1));
  if (low == high)
    high += 0.001;
  std::vector<float> waves = powers(spec.theta, spec.dim);
  for (size_t i = 0; i < waves.size(); ++i) {
    float ramp = (static_cast<float>(i) - static_cast<float>(low)) / static_cast<float>(high - low);
    float extrapolated = 1 - std::clamp(ramp, 0.0f, 1.0f);
    float interpolation = 1.0f / (static_cast<float>(factor) * waves[i]);
    waves[i] = interpolation * (1 - extrapolated) + 1.0f / waves[i] * extrapolated;
  }
  return waves;
}

double yarnAttentionFactor(const RotarySpec &spec, double factor) {
  auto scaled = [&](double mscale) {
    return factor <= 1 ? 1.0 : 0.1 * mscale * std::log(factor) + 1.0;
  };
  if (spec.mscale != 0 && spec.mscaleAllDim != 0)
    return scaled(spec.mscale) / scaled(spec.mscaleAllDim);
  return scaled(1);
}

std::vector<float> longRope(const RotarySpec &spec, int64_t length) {
  const auto &factors = length > spec.originalMaxPositions ? spec.longFactor : spec.shortFactor;
  std::vector<float> waves = powers(spec.theta, spec.dim);
  for (size_t i = 0; i < waves.size(); ++i)
    waves[i] = 1.0f / (static_cast<float>(factors[i]) * waves[i]);
  return waves;
}

} // namespace

double RotarySpec::getQueryScale(int64_t position) const {
  return 1 + queryGrowth * std::log1p(double((position + growthOffset) / growthLength));
}

RotaryFrequencies rotaryFrequencies(const RotarySpec &spec, int64_t length) {
  RotaryFrequencies result;
  double implied = double(spec.maxPositions) / double(spec.originalMaxPositions);
  switch (spec.type) {
  case RopeType::Default:
    result.inverse = reciprocals(powers(spec.theta, spec.dim));
    break;
  case RopeType::Linear:
    result.inverse = reciprocals(powers(spec.theta, spec.dim));
    for (float &frequency : result.inverse)
      frequency /= static_cast<float>(*spec.factor);
    break;
  case RopeType::Dynamic: {
    double longest = double(std::max(length, spec.maxPositions));
    double stretch = *spec.factor * longest / double(spec.maxPositions) - (*spec.factor - 1);
    double base = spec.theta * std::pow(stretch, double(spec.dim) / double(spec.dim - 2));
    result.inverse = reciprocals(powers(base, spec.dim));
    break;
  }
  case RopeType::Llama3:
    result.inverse = llama3(spec);
    break;
  case RopeType::Proportional:
    result.inverse = proportional(spec);
    break;
  case RopeType::Yarn: {
    double factor = spec.factor.value_or(implied);
    result.inverse = yarn(spec, factor);
    result.attentionScaling =
        static_cast<float>(spec.attentionFactor.value_or(yarnAttentionFactor(spec, factor)));
    break;
  }
  case RopeType::LongRope: {
    double factor = spec.factor.value_or(implied);
    double scaling =
        factor <= 1 ? 1.0
                    : std::sqrt(1 + std::log(factor) / std::log(double(spec.originalMaxPositions)));
    result.inverse = longRope(spec, length);
    result.attentionScaling = static_cast<float>(spec.attentionFactor.value_or(scaling));
    break;
  }
  }
  if (!spec.turns)
    std::ranges::fill(result.inverse, 0.0f);
  return result;
}

} // namespace sinter
