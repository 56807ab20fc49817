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

int64_t GgufKeys::sizeInLayers(const std::string &key) {
  const Json *value = find(key);
  if (!value || !value->is_array())
    return size(key);
  uint64_t of = 0;
  for (const Json &one : *value) {
    bool isWhole = one.is_number_integer() && one >= 0 && one <= INT32_MAX;
    if (!isWhole || (of && one != 0 && one != of)) {
      mistake("its " + nameOf(key) + " is no whole number, the same in all layers that have one");
      return 1;
    }
    of = std::max(of, one.get<uint64_t>());
  }
  return of ? static_cast<int64_t>(of) : 1;
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

bool GgufKeys::holdsInLayer(std::string_view name) const {
  return std::any_of(file.tensors.begin(), file.tensors.end(), [&](const GgufTensor &tensor) {
    std::string_view own = tensor.name;
    return own.starts_with("blk.") && own.ends_with(name) &&
           own.substr(0, own.size() - name.size()).ends_with('.');
  });
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
