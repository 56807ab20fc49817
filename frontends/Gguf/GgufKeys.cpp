#include "frontends/Gguf/GgufKeys.h"
#include <algorithm>
#include <cmath>

namespace sinter {

int64_t GgufKeys::size(const std::string &key) {
  const Json *value = find(key);
  if (!value) {
    mistake("it has no " + nameOf(key));
    return 1;
  }
  if (!value->is_number_unsigned() || value->get<uint64_t>() == 0 ||
      value->get<uint64_t>() > INT32_MAX) {
    mistake("its " + nameOf(key) + " is no whole number from 1 to 2^31 - 1");
    return 1;
  }
  return static_cast<int64_t>(value->get<uint64_t>());
}

int64_t GgufKeys::count(const std::string &key, int64_t absent) {
  const Json *value = find(key);
  if (!value)
    return absent;
  if (value->is_number_unsigned() && value->get<uint64_t>() <= INT32_MAX)
    return static_cast<int64_t>(value->get<uint64_t>());
  mistake("its " + nameOf(key) + " is no whole number from 0 to 2^31 - 1");
  return absent;
}

double GgufKeys::number(const std::string &key, double absent) {
  const Json *value = find(key);
  if (!value)
    return absent;
  if (value->is_number() && std::isfinite(value->get<double>()))
    return value->get<double>();
  mistake("its " + nameOf(key) + " is no number");
  return absent;
}

const GgufKeys::Json *GgufKeys::find(const std::string &key) const {
  return findEntry(nameOf(key));
}

const GgufKeys::Json *GgufKeys::findEntry(const std::string &name) const {
  auto found = file.metadata.find(name);
  return found == file.metadata.end() ? nullptr : &*found;
}

const GgufTensor *GgufKeys::findTensor(std::string_view name) const {
  auto found = std::ranges::find(file.tensors, name, &GgufTensor::name);
  return found == file.tensors.end() ? nullptr : &*found;
}

void GgufKeys::mistake(const std::string &why, const char *remedy) {
  if (!error)
    error = Error{std::string(source), why, remedy};
}

Expected<void> GgufKeys::finish() const {
  if (error)
    return tl::unexpected(*error);
  return {};
}

} // namespace sinter
