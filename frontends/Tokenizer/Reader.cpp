//===- Reader.cpp - Typed access to JSON that may be hostile -------------===//

#include "frontends/Tokenizer/Reader.h"

#include "frontends/Tokenizer/Unicode.h"

#include <limits>

namespace sinter::tokenizer {

const nlohmann::json *Reader::find(const char *key) const {
  if (!json->is_object())
    return nullptr;
  auto it = json->find(key);
  return it == json->end() || it->is_null() ? nullptr : &*it;
}

bool Reader::has(const char *key) const { return find(key) != nullptr; }

tl::unexpected<Error> Reader::bad(const std::string &why) const {
  std::string place = path.empty() ? why : path + " " + why;
  return fail(file, place, "use the tokenizer file that the model was published with");
}

tl::unexpected<Error> Reader::unknown(const std::string &kind, const std::string &name) const {
  std::string shown;
  for (char c : name.substr(0, 60))
    shown += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? '?' : c;
  return fail(file,
              kind + " '" + repairUtf8(shown) + "'" + (path.empty() ? "" : " (" + path + ")") +
                  " is not known to Sinter",
              "use a model whose tokenizer is a BPE of the usual parts");
}

tl::unexpected<Error> Reader::missing(const char *key, const char *type) const {
  std::string why = find(key) ? std::string("is not ") + type : std::string("is missing");
  return Reader(*json, file, at(key)).bad(why);
}

Expected<std::string> Reader::string(const char *key, std::optional<std::string> fallback) const {
  const nlohmann::json *member = find(key);
  if (!member && fallback)
    return std::move(*fallback);
  const auto *text = member ? member->get_ptr<const std::string *>() : nullptr;
  if (!text)
    return missing(key, "a string");
  return *text;
}

Expected<bool> Reader::boolean(const char *key, std::optional<bool> fallback) const {
  const nlohmann::json *member = find(key);
  if (!member && fallback)
    return *fallback;
  const auto *flag = member ? member->get_ptr<const bool *>() : nullptr;
  if (!flag)
    return missing(key, "true or false");
  return *flag;
}

Expected<uint32_t> Reader::integer(const char *key, std::optional<uint32_t> fallback) const {
  const nlohmann::json *member = find(key);
  if (!member && fallback)
    return *fallback;
  const auto *number = member ? member->get_ptr<const uint64_t *>() : nullptr;
  if (!number || *number > std::numeric_limits<int32_t>::max())
    return missing(key, "a whole number from 0 to 2147483647");
  return static_cast<uint32_t>(*number);
}

Expected<std::string> Reader::character(const char *key) const {
  SINTER_TRY(std::string text, string(key));
  if (countUtf8(text) != 1)
    return missing(key, "one character");
  return text;
}

Expected<Reader> Reader::object(const char *key) const {
  const nlohmann::json *member = find(key);
  if (!member || !member->is_object())
    return missing(key, "an object");
  return Reader(*member, file, at(key));
}

Expected<std::vector<Reader>> Reader::list(const char *key) const {
  const nlohmann::json *member = find(key);
  if (!member || !member->is_array())
    return missing(key, "a list");
  std::vector<Reader> elements;
  elements.reserve(member->size());
  for (const nlohmann::json &element : *member)
    elements.emplace_back(element, file, at(key) + "[" + std::to_string(elements.size()) + "]");
  return elements;
}

} // namespace sinter::tokenizer
