//===- DeviceMemory.h - Allocations of an emulated device -------*- C++ -*-===//
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace sinter::simt {

/// Owns allocations of the emulated device. Memory is aligned to 256 bytes, begins as NaNs that
/// nobody may read, and stands between gaps that nobody may touch: in checked mode a kernel that
/// does either is found.
class DeviceMemory {
public:
  DeviceMemory() = default;
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory &) = delete;
  DeviceMemory &operator=(const DeviceMemory &) = delete;

  /// Memory of so many bytes; null where the device has no more.
  void *allocate(size_t bytes);
  /// Gives one allocation back before the rest.
  void release(void *pointer);

  /// Copies from the host to the device; the bytes count as initialised.
  static void upload(void *device, const void *host, size_t bytes);
  /// Copies from the device to the host.
  static void download(void *host, const void *device, size_t bytes);
  /// Sets bytes of the device.
  static void fill(void *device, unsigned char value, size_t bytes);

  /// `count` values that nobody has written yet.
  template <typename T> T *array(size_t count) {
    return static_cast<T *>(allocate(count * sizeof(T)));
  }
  /// The values of the host, on the device.
  template <typename T> T *copyOf(std::span<const T> values) {
    T *device = array<T>(values.size());
    upload(device, values.data(), values.size_bytes());
    return device;
  }
  template <typename T> T *copyOf(const std::vector<T> &values) {
    return copyOf(std::span<const T>(values));
  }
  /// `count` values of the device, on the host.
  template <typename T> static std::vector<T> values(const T *device, size_t count) {
    std::vector<T> host(count);
    download(host.data(), device, count * sizeof(T));
    return host;
  }

private:
  std::vector<void *> allocations;
};

} // namespace sinter::simt
