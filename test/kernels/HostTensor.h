//===- HostTensor.h - A kernel's operand, in double precision ---*- C++ -*-===//
#pragma once

#include "runtime/Base/Float8.h"
#include "runtime/Base/HalfFloat.h"

#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace sinter::kernels {

/// Element types, as kernels call them.
inline constexpr const char *kF32 = "float", *kBf16 = "__nv_bfloat16", *kF16 = "__half",
                            *kByte = "signed char", *kE4M3 = "sinter::E4M3",
                            *kE5M2 = "sinter::E5M2";

/// Numbers that are exactly those of an element type; "float", "double", "int", "signed char",
/// "sinter::E4M3", "sinter::E5M2", "__nv_bfloat16" or "__half", as kernels call it.
struct HostTensor {
  std::string type;
  std::vector<double> values;

  HostTensor(std::string type, size_t count) : type(std::move(type)), values(count) {}

  /// Normal numbers of this deviation.
  static HostTensor random(std::string type, size_t count, std::mt19937 &engine,
                           double deviation = 1) {
    HostTensor tensor(std::move(type), count);
    std::normal_distribution<double> normal(0, deviation);
    for (double &value : tensor.values)
      value = tensor.round(normal(engine));
    return tensor;
  }
  /// Memory that nobody has written yet.
  static HostTensor unwritten(std::string type, size_t count) {
    HostTensor tensor(std::move(type), count);
    tensor.values.assign(count, NAN);
    return tensor;
  }
  template <typename T> static HostTensor of(std::string type, const std::vector<T> &values) {
    HostTensor tensor(std::move(type), values.size());
    for (size_t i = 0; i < values.size(); ++i)
      tensor.values[i] = tensor.round(values[i]);
    return tensor;
  }

  size_t elementBytes() const {
    if (type == "signed char" || type == "sinter::E4M3" || type == "sinter::E5M2")
      return 1;
    return type == "double" ? 8 : type == "float" || type == "int" ? 4 : 2;
  }

  /// What the element type makes of a number.
  double round(double value) const {
    std::vector<char> bytes(elementBytes());
    encode(value, bytes.data());
    return decode(bytes.data());
  }

  std::vector<char> bytes() const {
    std::vector<char> result(values.size() * elementBytes());
    for (size_t i = 0; i < values.size(); ++i)
      encode(values[i], result.data() + i * elementBytes());
    return result;
  }
  void read(const std::vector<char> &bytes) {
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = decode(bytes.data() + i * elementBytes());
  }

private:
  template <typename T> static void put(T value, char *to) { std::memcpy(to, &value, sizeof(T)); }
  template <typename T> static T get(const char *from) {
    T value;
    std::memcpy(&value, from, sizeof(T));
    return value;
  }
  void encode(double value, char *to) const {
    if (type == "double")
      put(value, to);
    else if (type == "float")
      put(static_cast<float>(value), to);
    else if (type == "int")
      put(static_cast<int32_t>(value), to);
    else if (type == "signed char")
      put(static_cast<signed char>(value), to);
    else if (type == "sinter::E4M3")
      put(floatToE4M3(static_cast<float>(value)), to);
    else if (type == "sinter::E5M2")
      put(floatToE5M2(static_cast<float>(value)), to);
    else if (type == "__half")
      put(floatToF16(static_cast<float>(value)), to);
    else
      put(floatToBf16(static_cast<float>(value)), to);
  }
  double decode(const char *from) const {
    if (type == "double")
      return get<double>(from);
    if (type == "float")
      return get<float>(from);
    if (type == "int")
      return get<int32_t>(from);
    if (type == "signed char")
      return get<signed char>(from);
    if (type == "sinter::E4M3")
      return e4m3ToFloat(get<uint8_t>(from));
    if (type == "sinter::E5M2")
      return e5m2ToFloat(get<uint8_t>(from));
    uint16_t bits = get<uint16_t>(from);
    return type == "__half" ? f16ToFloat(bits) : bf16ToFloat(bits);
  }
};

/// The largest of |a - b| / (1 + |b|), infinity where one is NaN and not both or sizes differ.
inline double distance(const std::vector<double> &a, const std::vector<double> &b) {
  double largest = a.size() == b.size() ? 0 : HUGE_VAL;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (a[i] == b[i])
      continue;
    double difference = std::abs(a[i] - b[i]) / (1 + std::abs(b[i]));
    largest = std::isnan(difference) ? HUGE_VAL : std::max(largest, difference);
  }
  return largest;
}

} // namespace sinter::kernels
