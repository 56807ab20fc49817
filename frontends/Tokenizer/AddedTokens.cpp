//===- AddedTokens.cpp - Tokens found in the text before anything else ---===//

#include "frontends/Tokenizer/AddedTokens.h"

#include "frontends/Tokenizer/Unicode.h"

#include <algorithm>

namespace sinter::tokenizer {

Expected<std::vector<AddedToken>> AddedTokens::read(const Reader &reader) {
  std::vector<AddedToken> tokens;
  if (!reader.has("added_tokens"))
    return tokens;
  SINTER_TRY(std::vector<Reader> elements, reader.list("added_tokens"));
  for (const Reader &element : elements) {
    AddedToken token;
    SINTER_TRY(token.content, element.string("content"));
    SINTER_TRY(token.singleWord, element.boolean("single_word", false));
    SINTER_TRY(token.stripLeft, element.boolean("lstrip", false));
    SINTER_TRY(token.stripRight, element.boolean("rstrip", false));
    SINTER_TRY(token.special, element.boolean("special", false));
    SINTER_TRY(token.normalized, element.boolean("normalized", !token.special));
    tokens.push_back(std::move(token));
  }
  return tokens;
}

Expected<void> AddedTokens::add(const std::vector<AddedToken> &tokens, const BpeModel &model,
                                const Normalizer *normalizer) {
  auto next = static_cast<int32_t>(model.size());
  for (const AddedToken &token : tokens) {
    if (token.content.empty())
      continue;
    int32_t id = find(token.content);
    if (id < 0)
      id = model.find(token.content);
    if (id < 0)
      id = next++;
    Known known{token, token.content};
    if (token.normalized && normalizer) {
      bool lostStart = false;
      SINTER_CHECK(normalizer->apply(known.decoded, lostStart));
    }
    ids[token.content] = id;
    if (token.special)
      specials[token.content] = true;
    byId[id] = std::move(known);
    limit = std::max(limit, id + 1);
  }
  for (const auto &[id, known] : byId)
    (known.token.normalized ? normal : raw)
        .insert(known.token.normalized ? known.decoded : known.token.content, id);
  return {};
}

int32_t AddedTokens::find(std::string_view content) const {
  auto it = ids.find(content);
  return it == ids.end() ? -1 : it->second;
}

const std::string *AddedTokens::decoderToken(int32_t id) const {
  auto it = byId.find(id);
  return it == byId.end() ? nullptr : &it->second.decoded;
}

const AddedToken *AddedTokens::token(int32_t id) const {
  auto it = byId.find(id);
  return it == byId.end() ? nullptr : &it->second.token;
}

void AddedTokens::Trie::insert(std::string_view key, int32_t id) {
  if (key.empty())
    return;
  starts[static_cast<unsigned char>(key[0])] = true;
  size_t node = 0;
  for (char c : key) {
    auto byte = static_cast<unsigned char>(c);
    auto &children = nodes[node].children;
    auto it = std::lower_bound(children.begin(), children.end(), std::pair{byte, INT32_MIN});
    if (it == children.end() || it->first != byte) {
      auto child = static_cast<int32_t>(nodes.size());
      children.insert(it, {byte, child});
      nodes.emplace_back();
      node = static_cast<size_t>(child);
    } else {
      node = static_cast<size_t>(it->second);
    }
  }
  // Of two tokens that are searched alike, the one with the smaller id is found.
  int32_t &known = nodes[node].id;
  known = known < 0 ? id : std::min(known, id);
}

size_t AddedTokens::Trie::match(std::string_view text, size_t position, int32_t &id) const {
  size_t node = 0, length = 0;
  for (size_t i = position; i < text.size(); ++i) {
    auto byte = static_cast<unsigned char>(text[i]);
    const auto &children = nodes[node].children;
    auto it = std::lower_bound(children.begin(), children.end(), std::pair{byte, INT32_MIN});
    if (it == children.end() || it->first != byte)
      break;
    node = static_cast<size_t>(it->second);
    if (nodes[node].id >= 0) {
      id = nodes[node].id;
      length = i + 1 - position;
    }
  }
  return length;
}

/// Whether a letter, digit or the like stands right before, or (`behind`) right at, a position.
static bool wordAt(std::string_view text, size_t position, bool behind) {
  static const Regex word = Regex::own(("[" + wordClass() + "\\x{200c}\\x{200d}]").c_str());
  size_t other = position;
  if (behind)
    decodeUtf8(text, other);
  else
    decodeUtf8Before(text, other);
  return word.matches(text.substr(std::min(position, other),
                                  position < other ? other - position : position - other));
}

void AddedTokens::splitPiece(const Trie &trie, std::string_view text, const Piece &piece,
                             std::vector<Piece> &out) const {
  size_t done = 0; // what lies before is in a piece already
  auto emit = [&](size_t begin, size_t end, int32_t id) {
    if (begin < end)
      out.push_back({piece.begin + begin, piece.begin + end, id, piece.atStart && begin == 0});
    else if (id >= 0)
      out.push_back({piece.begin + begin, piece.begin + begin, id, false});
  };
  for (size_t i = 0; i < text.size();) {
    int32_t id = -1;
    size_t length =
        trie.mayStart(static_cast<unsigned char>(text[i])) ? trie.match(text, i, id) : 0;
    if (length == 0) {
      ++i;
      continue;
    }
    size_t begin = i, end = i + length;
    i = end;
    const AddedToken &token = byId.at(id).token;
    if (token.singleWord && ((begin > 0 && wordAt(text, begin, false)) ||
                             (end < text.size() && wordAt(text, end, true))))
      continue;
    if (token.stripLeft)
      while (begin > done) {
        size_t before = begin;
        if (!isWhitespace(decodeUtf8Before(text, before)))
          break;
        begin = before;
      }
    if (token.stripRight)
      while (end < text.size()) {
        size_t behind = end;
        if (!isWhitespace(decodeUtf8(text, behind)))
          break;
        end = behind;
      }
    if (done < begin)
      emit(done, begin, -1);
    emit(begin, end, id);
    done = end;
  }
  if (done < text.size())
    emit(done, text.size(), -1);
}

void AddedTokens::split(Pieces &pieces, bool normalized) const {
  const Trie &trie = normalized ? normal : raw;
  if (trie.empty())
    return;
  std::vector<Piece> cut;
  cut.reserve(pieces.pieces.size());
  for (const Piece &piece : pieces.pieces)
    if (piece.id >= 0)
      cut.push_back(piece);
    else
      splitPiece(trie, pieces.view(piece), piece, cut);
  pieces.pieces = std::move(cut);
}

} // namespace sinter::tokenizer
