#include "frontends/Weights/Safetensors.h"
#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace sinter {
namespace {

Expected<void> writeAll(int descriptor, const std::filesystem::path &path, const void *data,
                        size_t size) {
  const char *position = static_cast<const char *>(data);
  while (size > 0) {
    ssize_t written = ::write(descriptor, position, size);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return fail(path.string(), std::string("cannot be written: ") + std::strerror(errno),
                  "check the permissions and the free space");
    position += written;
    size -= static_cast<size_t>(written);
  }
  return {};
}

Expected<void> writeParts(int descriptor, const std::filesystem::path &path,
                          const std::string &header, std::span<const TensorToWrite *const> order) {
  uint8_t length[8];
  for (int i = 0; i < 8; ++i)
    length[i] = static_cast<uint8_t>(uint64_t(header.size()) >> (8 * i));
  SINTER_CHECK(writeAll(descriptor, path, length, sizeof(length)));
  SINTER_CHECK(writeAll(descriptor, path, header.data(), header.size()));
  for (const TensorToWrite *tensor : order)
    SINTER_CHECK(writeAll(descriptor, path, tensor->data.data(), tensor->data.size()));
  if (::fsync(descriptor) != 0)
    return fail(path.string(), std::string("cannot be synced: ") + std::strerror(errno), "");
  return {};
}

/// Makes the rename itself last through a power failure; not every file system can, so a failure
/// is no error.
void syncDirectory(const std::filesystem::path &directory) {
  int descriptor = ::open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY);
  if (descriptor < 0)
    return;
  ::fsync(descriptor);
  ::close(descriptor);
}

} // namespace

Expected<void> writeSafetensors(const std::filesystem::path &path,
                                std::span<const TensorToWrite> tensors,
                                const std::map<std::string, std::string> &metadata) {
  std::vector<const TensorToWrite *> order;
  for (const TensorToWrite &tensor : tensors)
    order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](const TensorToWrite *a, const TensorToWrite *b) {
    return sizeOf(a->dtype) != sizeOf(b->dtype) ? sizeOf(a->dtype) > sizeOf(b->dtype)
                                                : a->name < b->name;
  });

  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty())
    header["__metadata__"] = metadata;
  uint64_t offset = 0;
  for (const TensorToWrite *tensor : order) {
    uint64_t bytes = sizeOf(tensor->dtype);
    for (int64_t size : tensor->shape)
      bytes *= static_cast<uint64_t>(size);
    assert(bytes == tensor->data.size() && "shape and data of a tensor to write disagree");
    if (header.contains(tensor->name))
      return fail(path.string(), "two tensors are named '" + tensor->name + "'", "rename one");
    header[tensor->name] = {{"dtype", nameOf(tensor->dtype)},
                            {"shape", tensor->shape},
                            {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  std::string text = header.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  text.append((64 - (text.size() + 8) % 64) % 64, ' ');

  std::filesystem::path aside = path;
  aside += ".partial";
  int descriptor = ::open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0)
    return fail(path.string(), std::string("cannot be written: ") + std::strerror(errno),
                "check the path and its permissions");
  Expected<void> written = writeParts(descriptor, path, text, order);
  ::close(descriptor);
  if (written && ::rename(aside.c_str(), path.c_str()) != 0)
    written = fail(path.string(), std::string("cannot be written: ") + std::strerror(errno), "");
  if (!written) {
    ::unlink(aside.c_str());
    return written;
  }
  syncDirectory(path.parent_path());
  return {};
}

} // namespace sinter
