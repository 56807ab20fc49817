//===- Decoder.cpp - From tokens back to text ----------------------------===//

#include "frontends/Tokenizer/Decoder.h"

#include "frontends/Tokenizer/ByteLevel.h"
#include "frontends/Tokenizer/Pieces.h"
#include "frontends/Tokenizer/Unicode.h"

#include <optional>

namespace sinter::tokenizer {

namespace {

std::string joined(const std::vector<std::string> &parts) {
  std::string text;
  for (const std::string &part : parts)
    text += part;
  return text;
}

class ByteLevel : public Decoder {
public:
  void apply(std::vector<std::string> &parts, bool raw) const override {
    std::string bytes;
    for (const std::string &part : parts)
      if (!appendCharactersAsBytes(bytes, part)) // an added token, written as it is
        bytes += part;
    parts.assign(1, raw ? std::move(bytes) : repairUtf8(bytes));
  }
};

/// "<0x0A>" and its like become bytes. A run of them that is not valid UTF-8 becomes one U+FFFD
/// per byte.
class ByteFallback : public Decoder {
public:
  void apply(std::vector<std::string> &parts, bool raw) const override {
    std::vector<std::string> decoded;
    std::string run;
    auto endRun = [&] {
      if (run.empty())
        return;
      if (raw || isValidUtf8(run))
        decoded.push_back(std::move(run));
      else
        decoded.insert(decoded.end(), run.size(), std::string(kReplacementCharacter));
      run.clear();
    };
    for (std::string &part : parts) {
      if (std::optional<char> byte = parse(part)) {
        run += *byte;
        continue;
      }
      endRun();
      decoded.push_back(std::move(part));
    }
    endRun();
    parts = std::move(decoded);
  }

private:
  static std::optional<char> parse(const std::string &part) {
    if (part.size() != 6 || part.compare(0, 3, "<0x") != 0 || part[5] != '>')
      return std::nullopt;
    int value = 0;
    for (char c : {part[3], part[4]}) {
      int digit = c >= '0' && c <= '9'   ? c - '0'
                  : c >= 'a' && c <= 'f' ? c - 'a' + 10
                  : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                         : -1;
      if (digit < 0)
        return std::nullopt;
      value = value * 16 + digit;
    }
    return static_cast<char>(value);
  }
};

class Fuse : public Decoder {
public:
  void apply(std::vector<std::string> &parts, bool) const override {
    parts.assign(1, joined(parts));
  }
};

/// Takes up to `start` and `stop` times `content` from the ends of each part.
class Strip : public Decoder {
public:
  Strip(std::string content, uint32_t start, uint32_t stop)
      : content(std::move(content)), start(start), stop(stop) {}
  void apply(std::vector<std::string> &parts, bool) const override {
    for (std::string &part : parts) {
      std::string_view rest = part;
      for (uint32_t i = 0; i < start && rest.starts_with(content); ++i)
        rest.remove_prefix(content.size());
      for (uint32_t i = 0; i < stop && rest.ends_with(content); ++i)
        rest.remove_suffix(content.size());
      part = std::string(rest);
    }
  }

private:
  std::string content;
  uint32_t start, stop;
};

class Replace : public Decoder {
public:
  Replace(Pattern pattern, std::string content)
      : pattern(std::move(pattern)), content(std::move(content)) {}
  void apply(std::vector<std::string> &parts, bool) const override {
    // A part that a pattern gives up on stays as it is.
    for (std::string &part : parts)
      if (isValidUtf8(part))
        if (Expected<std::string> replaced = pattern.replace(part, content))
          part = std::move(*replaced);
  }

private:
  Pattern pattern;
  std::string content;
};

class Metaspace : public Decoder {
public:
  Metaspace(std::string replacement, bool prefixed)
      : replacement(std::move(replacement)), prefixed(prefixed) {}
  void apply(std::vector<std::string> &parts, bool) const override {
    for (size_t i = 0; i < parts.size(); ++i) {
      std::string text;
      size_t from = 0;
      for (size_t at; (at = parts[i].find(replacement, from)) != std::string::npos;
           from = at + replacement.size()) {
        text.append(parts[i], from, at - from);
        if (i > 0 || !prefixed)
          text += ' ';
      }
      parts[i] = text.append(parts[i], from);
    }
  }

private:
  std::string replacement;
  bool prefixed;
};

/// A suffix marks the ends of words; it becomes the space between them.
class Bpe : public Decoder {
public:
  explicit Bpe(std::string suffix) : suffix(std::move(suffix)) {}
  void apply(std::vector<std::string> &parts, bool) const override {
    if (suffix.empty())
      return;
    for (size_t i = 0; i < parts.size(); ++i)
      for (size_t at = 0; (at = parts[i].find(suffix, at)) != std::string::npos;) {
        bool last = i + 1 == parts.size();
        parts[i].replace(at, suffix.size(), last ? "" : " ");
        at += last ? 0 : 1;
      }
  }

private:
  std::string suffix;
};

class Sequence : public Decoder {
public:
  explicit Sequence(std::vector<std::unique_ptr<Decoder>> steps) : steps(std::move(steps)) {}
  void apply(std::vector<std::string> &parts, bool raw) const override {
    for (const auto &step : steps)
      step->apply(parts, raw);
  }

private:
  std::vector<std::unique_ptr<Decoder>> steps;
};

} // namespace

Expected<std::unique_ptr<Decoder>> readDecoder(const Reader &reader, int depth) {
  SINTER_TRY(std::string type, reader.string("type"));
  if (type == "ByteLevel")
    return std::make_unique<ByteLevel>();
  if (type == "ByteFallback")
    return std::make_unique<ByteFallback>();
  if (type == "Fuse")
    return std::make_unique<Fuse>();
  if (type == "Strip") {
    SINTER_TRY(std::string content, reader.character("content"));
    SINTER_TRY(uint32_t start, reader.integer("start"));
    SINTER_TRY(uint32_t stop, reader.integer("stop"));
    return std::make_unique<Strip>(std::move(content), start, stop);
  }
  if (type == "Replace") {
    SINTER_TRY(Pattern pattern, Pattern::read(reader, "pattern"));
    SINTER_TRY(std::string content, reader.string("content"));
    return std::make_unique<Replace>(std::move(pattern), std::move(content));
  }
  if (type == "Metaspace") {
    SINTER_TRY(std::string replacement, reader.character("replacement"));
    SINTER_TRY(std::string scheme, reader.string("prepend_scheme", "always"));
    SINTER_TRY(bool prefix, reader.boolean("add_prefix_space", true));
    if (scheme != "always" && scheme != "first" && scheme != "never")
      return reader.unknown("the prepend_scheme", scheme);
    return std::make_unique<Metaspace>(std::move(replacement), prefix && scheme != "never");
  }
  if (type == "BPEDecoder") {
    SINTER_TRY(std::string suffix, reader.string("suffix"));
    return std::make_unique<Bpe>(std::move(suffix));
  }
  if (type == "Sequence") {
    SINTER_TRY(auto steps, reader.sequence("decoders", depth, readDecoder));
    return std::make_unique<Sequence>(std::move(steps));
  }
  return reader.unknown("the decoder", type);
}

std::unique_ptr<Decoder> makeByteLevelDecoder() { return std::make_unique<ByteLevel>(); }

} // namespace sinter::tokenizer
