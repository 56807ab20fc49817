#include "runtime/Checkpoint/Manifest.h"
#include "runtime/Base/Json.h"

namespace sinter::runtime {
namespace {

using Json = nlohmann::json;
constexpr const char *manifestRemedy = "delete this checkpoint";

bool isPlainName(const std::string &name) {
  return !name.empty() && name.front() != '.' &&
         name.find_first_of(std::string("/\0", 2)) == std::string::npos;
}

bool isHash(const std::string &text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

} // namespace

std::string Manifest::toJson() const {
  Json json = {{"format", 1}, {"files", Json::object()}};
  for (const auto &[name, file] : files)
    json["files"][name] = {{"bytes", file.bytes}, {"xxh3", file.hash}};
  return writeJson(json, 2) + "\n";
}

Expected<Manifest> Manifest::parse(std::string_view text, const std::string &source) {
  Json json = parseJson(text);
  if (!json.is_object() || json.value("format", Json()) != 1)
    return fail(source, "it is no manifest of format 1", manifestRemedy);
  auto files = json.find("files");
  if (files == json.end() || !files->is_object())
    return fail(source, "it has no 'files'", manifestRemedy);
  Manifest manifest;
  for (const auto &[name, entry] : files->items()) {
    if (!isPlainName(name) || !entry.is_object())
      return fail(source, "a file of it has no plain name or no entry", manifestRemedy);
    auto bytes = entry.find("bytes"), hash = entry.find("xxh3");
    if (bytes == entry.end() || !bytes->is_number_unsigned() || hash == entry.end() ||
        !hash->is_string() || !isHash(hash->get_ref<const std::string &>()))
      return fail(source, "the size or hash of '" + name + "' is missing or none", manifestRemedy);
    manifest.files[name] = {bytes->get<uint64_t>(), hash->get<std::string>()};
  }
  return manifest;
}

} // namespace sinter::runtime
