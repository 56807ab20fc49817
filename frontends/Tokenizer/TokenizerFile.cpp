//===- TokenizerFile.cpp - Reading tokenizer.json at speed ---------------===//

#include "frontends/Tokenizer/TokenizerFile.h"

#include <limits>
#include <xxhash.h>

namespace sinter::tokenizer {

size_t StringHash::operator()(std::string_view text) const {
  return XXH3_64bits(text.data(), text.size());
}

namespace {

using Json = nlohmann::json;

/// Takes the parser's events: to the tables inside of their two members, to the tree elsewhere.
class Parser : public nlohmann::json_sax<Json> {
public:
  Parser(TokenizerFile &file, bool vocabularyOnly) : file(file), vocabularyOnly(vocabularyOnly) {}

  size_t errorPosition = 0;

  bool null() override { return value(nullptr); }
  bool boolean(bool flag) override { return value(flag); }
  bool number_integer(number_integer_t number) override { return value(number); }
  bool number_float(number_float_t number, const string_t &) override { return value(number); }
  bool binary(binary_t &) override { return value(nullptr); }

  bool number_unsigned(number_unsigned_t number) override {
    if (table != Table::Vocabulary || depth > 0 ||
        number > static_cast<uint64_t>(std::numeric_limits<int32_t>::max()))
      return value(number);
    file.vocabulary.ids.insert_or_assign(std::move(token), static_cast<int32_t>(number));
    return true;
  }

  bool string(string_t &text) override {
    if (table != Table::Merges || depth > 1)
      return value(text);
    std::vector<MergeList::Merge> &merges = file.merges.merges;
    if (depth == 0) {
      ++elements;
      merges.push_back({text, "", true});
    } else if (++pairSize == 1)
      merges.push_back({text, "", false});
    else if (pairSize == 2)
      merges.back().right = text;
    return true;
  }

  bool key(string_t &text) override {
    if (table == Table::Vocabulary && depth == 0)
      token = text;
    else if (table == Table::None)
      open.back().key = text;
    return true;
  }

  bool start_object(size_t) override {
    if (table != Table::None)
      return startInside();
    if (vocabularyOnly ? open.empty() : atModel("vocab")) {
      table = Table::Vocabulary;
      file.vocabulary = {};
    }
    return start(Json::object());
  }

  bool start_array(size_t) override {
    if (table == Table::Merges && depth == 0) {
      ++depth;
      ++elements;
      pairSize = 0;
      return true;
    }
    if (table != Table::None)
      return startInside();
    if (!vocabularyOnly && atModel("merges")) {
      table = Table::Merges;
      elements = 0;
      file.merges = {};
    }
    return start(Json::array());
  }

  bool end_object() override { return end(); }

  bool end_array() override {
    if (table == Table::Merges && depth == 1 && pairSize != 2)
      bad();
    return end();
  }

  bool parse_error(size_t position, const std::string &, const Json::exception &) override {
    errorPosition = position;
    return false;
  }

private:
  enum class Table { None, Vocabulary, Merges };
  struct Container {
    Json *json;
    std::string key;
  };

  /// Whether a value that starts now is this member of the model.
  bool atModel(const char *member) const {
    return open.size() == 2 && open[0].key == "model" && open[1].key == member &&
           open[1].json->is_object();
  }

  void bad() {
    if (table == Table::Vocabulary)
      file.vocabulary.good = false;
    else if (file.merges.bad == MergeList::kNone)
      file.merges.bad = depth == 0 ? elements : elements - 1;
  }

  bool value(Json json) {
    if (table != Table::None)
      bad();
    else
      place(std::move(json));
    return true;
  }

  Json *place(Json json) {
    if (open.empty()) {
      file.rest = std::move(json);
      return &file.rest;
    }
    Json &container = *open.back().json;
    if (container.is_array()) {
      container.push_back(std::move(json));
      return &container.back();
    }
    return &(container[open.back().key] = std::move(json));
  }

  bool start(Json json) {
    open.push_back({place(std::move(json)), ""});
    return true;
  }

  /// A container where a table has none.
  bool startInside() {
    bad();
    ++depth;
    return true;
  }

  bool end() {
    if (table != Table::None && depth > 0) {
      --depth;
      return true;
    }
    table = Table::None;
    open.pop_back();
    return true;
  }

  TokenizerFile &file;
  bool vocabularyOnly;
  std::vector<Container> open; ///< the containers of the tree around the next value
  Table table = Table::None;
  size_t depth = 0; ///< containers open inside of the table
  std::string token;
  size_t elements = 0; ///< of the list of merges, so far
  size_t pairSize = 0; ///< strings of the last pair, so far
};

Expected<TokenizerFile> parseFile(const std::string &name, std::string_view content,
                                  bool vocabularyOnly) {
  TokenizerFile file;
  Parser parser(file, vocabularyOnly);
  if (Json::sax_parse(content, &parser))
    return file;
  return fail(name,
              "is not JSON: wrong at byte " + std::to_string(parser.errorPosition) + " of " +
                  std::to_string(content.size()),
              "download the file again");
}

} // namespace

Expected<TokenizerFile> TokenizerFile::parse(const std::string &name, std::string_view content) {
  return parseFile(name, content, false);
}

Expected<TokenizerFile> TokenizerFile::parseVocabulary(const std::string &name,
                                                       std::string_view content) {
  return parseFile(name, content, true);
}

} // namespace sinter::tokenizer
