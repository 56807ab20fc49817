//===- PostProcessor.cpp - Special tokens around a sequence --------------===//

#include "frontends/Tokenizer/PostProcessor.h"

#include <algorithm>

namespace sinter::tokenizer {

static Expected<int32_t> readId(const Reader &owner, const nlohmann::json &value) {
  const auto *id = value.get_ptr<const uint64_t *>();
  if (!id || *id > INT32_MAX)
    return owner.bad("has an id that is not a whole number from 0 to 2147483647");
  return static_cast<int32_t>(*id);
}

Expected<PostProcessor::Template> PostProcessor::readTemplate(const Reader &reader) {
  SINTER_TRY(std::vector<Reader> pieces, reader.list("single"));
  Template parts;
  for (const Reader &piece : pieces) {
    if (piece.has("Sequence")) {
      SINTER_TRY(Reader sequence, piece.object("Sequence"));
      SINTER_TRY(std::string id, sequence.string("id"));
      if (id != "A")
        return sequence.bad("is not the sequence A, and a single text has no other");
      parts.push_back({true, {}});
      continue;
    }
    SINTER_TRY(Reader special, piece.object("SpecialToken"));
    SINTER_TRY(std::string name, special.string("id"));
    SINTER_TRY(Reader tokens, reader.object("special_tokens"));
    if (!tokens.has(name.c_str()))
      return reader.unknown("the special token", name);
    SINTER_TRY(Reader token, tokens.object(name.c_str()));
    SINTER_TRY(std::vector<Reader> ids, token.list("ids"));
    Part part;
    for (const Reader &element : ids) {
      SINTER_TRY(int32_t id, readId(token, element.getValue()));
      part.ids.push_back(id);
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

Expected<PostProcessor::Template> PostProcessor::readClsSep(const Reader &reader) {
  Template parts(3);
  parts[1].text = true;
  for (auto [key, part] : {std::pair{"cls", &parts[0]}, std::pair{"sep", &parts[2]}}) {
    SINTER_TRY(std::vector<Reader> pair, reader.list(key));
    if (pair.size() != 2)
      return reader.bad(std::string("needs a token and its id as ") + key);
    SINTER_TRY(int32_t id, readId(reader, pair[1].getValue()));
    part->ids.push_back(id);
  }
  return parts;
}

Expected<void> PostProcessor::append(const Reader &reader, int depth) {
  SINTER_TRY(std::string type, reader.string("type"));
  if (type == "ByteLevel") // about offsets only
    return {};
  if (type == "TemplateProcessing") {
    SINTER_TRY(Template parts, readTemplate(reader));
    // A template that doubles the text, nested in sequences, would grow it without bound.
    if (std::count_if(parts.begin(), parts.end(), [](const Part &p) { return p.text; }) > 4)
      return reader.bad("repeats the text more than four times");
    templates.push_back(std::move(parts));
    return {};
  }
  if (type == "BertProcessing" || type == "RobertaProcessing") {
    SINTER_TRY(Template parts, readClsSep(reader));
    templates.push_back(std::move(parts));
    return {};
  }
  if (type == "Sequence") {
    if (depth >= 4)
      return reader.bad("nests too deeply");
    SINTER_TRY(std::vector<Reader> elements, reader.list("processors"));
    if (elements.size() > 8)
      return reader.bad("has more than eight processors");
    for (const Reader &element : elements)
      SINTER_CHECK(append(element, depth + 1));
    return {};
  }
  return reader.unknown("the post-processor", type);
}

Expected<PostProcessor> PostProcessor::read(const Reader &reader) {
  PostProcessor processor;
  SINTER_CHECK(processor.append(reader, 0));
  return processor;
}

void PostProcessor::apply(std::vector<int32_t> &ids, bool addSpecial) const {
  for (const Template &parts : templates) {
    if (parts.size() == 1 && parts[0].text)
      continue;
    std::vector<int32_t> result;
    result.reserve(ids.size() + 8);
    for (const Part &part : parts)
      if (part.text)
        result.insert(result.end(), ids.begin(), ids.end());
      else if (addSpecial)
        result.insert(result.end(), part.ids.begin(), part.ids.end());
    ids = std::move(result);
  }
}

} // namespace sinter::tokenizer
