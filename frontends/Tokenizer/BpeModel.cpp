//===- BpeModel.cpp - Byte pair encoding ---------------------------------===//

#include "frontends/Tokenizer/BpeModel.h"

#include "frontends/Tokenizer/Unicode.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <functional>
#include <xxhash.h>

namespace sinter::tokenizer {

/// Ids from here on are refused: no vocabulary has them, and tables are as long as the largest.
static constexpr int32_t kIdLimit = 1 << 22;

/// Words up to this many symbols are merged by scanning.
static constexpr size_t kScanLimit = 48;

/// Longer words are not remembered.
static constexpr size_t kCacheWordLimit = 256;

/// U+2581, which stands for a space.
static constexpr std::string_view kMetaspace = "\xE2\x96\x81";

void MergeTable::reset(size_t count) {
  slots.assign(std::bit_ceil(count * 2 + 1), {});
  mask = slots.size() - 1;
}

void MergeTable::add(int32_t left, int32_t right, Merge merge) {
  uint64_t key = keyOf(left, right);
  size_t i = slotOf(key);
  while (slots[i].key != kEmpty && slots[i].key != key)
    i = (i + 1) & mask;
  slots[i] = {key, merge};
}

Expected<void> BpeModel::setVocabulary(const Reader &reader, Vocabulary vocabulary) {
  int32_t limit = 0;
  for (const auto &[token, id] : vocabulary.ids)
    limit = std::max(limit, id);
  if (!vocabulary.good || limit >= kIdLimit)
    return reader.bad("has an id that is not a whole number below " + std::to_string(kIdLimit));
  if (vocabulary.ids.empty())
    return reader.bad("has no tokens");
  ids = std::move(vocabulary.ids);
  tokenOfId.assign(static_cast<size_t>(limit) + 1, nullptr);
  for (const auto &[token, id] : ids) {
    // Of two tokens with one id, the one that comes first in order of bytes stands for it.
    const std::string *&known = tokenOfId[static_cast<size_t>(id)];
    if (!known || token < *known)
      known = &token;
  }
  return {};
}

/// Adds a merge; false if one of the three tokens is not in the vocabulary.
bool BpeModel::addMerge(std::string_view left, std::string_view right) {
  int32_t leftId = find(left), rightId = find(right);
  if (leftId < 0 || rightId < 0 || right.size() < prefix.size())
    return false;
  std::string joined(left);
  joined += right.substr(prefix.size());
  int32_t id = find(joined);
  if (id < 0)
    return false;
  merges.add(leftId, rightId, {mergeCount++, id});
  // A token in which U+2581 follows another character could reach over the start of a word.
  for (size_t at = joined.find(kMetaspace); at != std::string::npos;
       at = joined.find(kMetaspace, at + 3))
    if (at > 0 && !std::string_view(joined).substr(0, at).ends_with(kMetaspace))
      cutsAtMetaspace = false;
  return true;
}

void BpeModel::finish() {
  characterIds.assign(0x800, -1);
  for (char32_t c = 0; c < 0x800; ++c) {
    std::string character;
    appendUtf8(character, c);
    characterIds[c] = find(character);
  }
  for (int byte = 0; byte < 256; ++byte) {
    char name[8];
    std::snprintf(name, sizeof(name), "<0x%02X>", byte);
    byteIds[static_cast<size_t>(byte)] = find(name);
  }
  // With U+2581 unknown, or with prefixes, the start of a word is not where it seems.
  cutsAtMetaspace =
      cutsAtMetaspace && !ignoreMerges && prefix.empty() && suffix.empty() && find(kMetaspace) >= 0;
}

/// Cuts "a b" at its one space.
static bool cutMerge(std::string_view line, std::string_view &left, std::string_view &right) {
  size_t space = line.find(' ');
  if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos)
    return false;
  left = line.substr(0, space);
  right = line.substr(space + 1);
  return true;
}

static constexpr const char *kAbsent = "merges to or from a token that is not in the vocabulary";
static constexpr const char *kNotTwo = "is not two tokens with a space between them";

Expected<BpeModel> BpeModel::read(const Reader &reader, Vocabulary vocabulary,
                                  const MergeList &merges) {
  // Files from before models had types hold only BPE's merges.
  SINTER_TRY(std::string type,
             reader.string("type", reader.has("merges") ? "BPE" : "without type"));
  if (type != "BPE")
    return reader.unknown("the tokenizer model", type);
  if (reader.has("dropout") &&
      !(reader.getValue()["dropout"].is_number() && reader.getValue()["dropout"] == 0))
    return reader.bad("drops merges at random (dropout)");

  BpeModel model;
  model.hasUnknown = reader.has("unk_token");
  SINTER_TRY(model.unknownToken, reader.string("unk_token", ""));
  SINTER_TRY(model.prefix, reader.string("continuing_subword_prefix", ""));
  SINTER_TRY(model.suffix, reader.string("end_of_word_suffix", ""));
  SINTER_TRY(model.fuseUnknown, reader.boolean("fuse_unk", false));
  SINTER_TRY(model.byteFallback, reader.boolean("byte_fallback", false));
  SINTER_TRY(model.ignoreMerges, reader.boolean("ignore_merges", false));
  model.cutsAtMetaspace = true;
  SINTER_TRY(Reader vocabularyReader, reader.object("vocab"));
  SINTER_CHECK(model.setVocabulary(vocabularyReader, std::move(vocabulary)));
  SINTER_CHECK(reader.list("merges"));
  model.merges.reset(merges.merges.size());
  for (size_t i = 0; i < merges.merges.size(); ++i) {
    const MergeList::Merge &merge = merges.merges[i];
    Reader place = reader.element("merges", i);
    if (i == merges.bad)
      return place.bad("is not a pair of tokens");
    std::string_view left = merge.left, right = merge.right;
    if (merge.line && left.starts_with("#version"))
      continue;
    if (merge.line && !cutMerge(merge.left, left, right))
      return place.bad(kNotTwo);
    if (!model.addMerge(left, right))
      return place.bad(kAbsent);
  }
  if (merges.bad != MergeList::kNone)
    return reader.element("merges", merges.bad).bad("is not a pair of tokens");
  model.finish();
  return model;
}

Expected<BpeModel> BpeModel::readGpt2(const Reader &reader, Vocabulary vocabulary,
                                      const std::string &mergesName, std::string_view text) {
  BpeModel model;
  SINTER_CHECK(model.setVocabulary(reader, std::move(vocabulary)));
  model.merges.reset(static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) + 1);
  for (size_t number = 1; !text.empty(); ++number) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    if (line.starts_with("#version"))
      continue;
    std::string_view left, right;
    bool two = cutMerge(line, left, right);
    if (!two || !model.addMerge(left, right))
      return fail(mergesName, "line " + std::to_string(number) + " " + (two ? kAbsent : kNotTwo),
                  "use the merges.txt that the model was published with");
  }
  model.finish();
  return model;
}

int32_t BpeModel::find(std::string_view token) const {
  auto it = ids.find(token);
  return it == ids.end() ? -1 : it->second;
}

const std::string *BpeModel::token(int32_t id) const {
  return id >= 0 && id < getIdLimit() ? tokenOfId[static_cast<size_t>(id)] : nullptr;
}

BpeModel::Scratch::Scratch(size_t bytes)
    : cache(bytes < 64 ? 0 : std::min<size_t>(std::bit_ceil(bytes / 2), 1 << 16)) {}

Expected<void> BpeModel::encode(std::string_view word, std::vector<int32_t> &out,
                                Scratch &scratch) const {
  if (word.empty())
    return {};
  if (!cutsAtMetaspace)
    return encodeCached(word, out, scratch);
  // Cut before each U+2581 that follows something else.
  size_t begin = 0;
  for (size_t at = word.find(kMetaspace, 1); at != std::string_view::npos;) {
    if (word.compare(at - std::min<size_t>(at, 3), 3, kMetaspace) != 0) {
      SINTER_CHECK(encodeCached(word.substr(begin, at - begin), out, scratch));
      begin = at;
    }
    at = word.find(kMetaspace, at + 3);
  }
  return encodeCached(word.substr(begin), out, scratch);
}

Expected<void> BpeModel::encodeCached(std::string_view word, std::vector<int32_t> &out,
                                      Scratch &scratch) const {
  if (scratch.cache.empty() || word.size() > kCacheWordLimit)
    return encodeWord(word, out, scratch);
  uint64_t hash = XXH3_64bits(word.data(), word.size());
  Scratch::CachedWord &cached = scratch.cache[hash & (scratch.cache.size() - 1)];
  if (cached.hash == hash && cached.word == word) {
    for (size_t i = cached.begin; i < cached.end; ++i)
      out.push_back(out[i]);
    return {};
  }
  size_t begin = out.size();
  SINTER_CHECK(encodeWord(word, out, scratch));
  cached = {hash, word, begin, out.size()};
  return {};
}

Expected<void> BpeModel::encodeWord(std::string_view word, std::vector<int32_t> &out,
                                    Scratch &scratch) const {
  if (ignoreMerges)
    if (int32_t id = find(word); id >= 0) {
      out.push_back(id);
      return {};
    }
  scratch.symbols.clear();
  SINTER_CHECK(makeSymbols(word, scratch.symbols));
  if (scratch.symbols.size() <= kScanLimit)
    mergeByScanning(scratch);
  else
    mergeByHeap(scratch);
  out.insert(out.end(), scratch.symbols.begin(), scratch.symbols.end());
  return {};
}

int32_t BpeModel::findCharacter(std::string_view character) const {
  if (character.size() > 2)
    return find(character);
  size_t position = 0;
  return characterIds[decodeUtf8(character, position)];
}

/// The ids that a word starts as: of its characters, of their bytes, or the unknown token.
Expected<void> BpeModel::makeSymbols(std::string_view word, std::vector<int32_t> &symbols) const {
  bool plain = prefix.empty() && suffix.empty();
  std::string decorated;
  // An unknown character waits, since the next one may join it. A character written as bytes does
  // not end the wait; that is what other implementations do.
  bool waiting = false;
  int32_t unknownId = -1;
  for (size_t i = 0; i < word.size();) {
    size_t begin = i;
    i += utf8Length(static_cast<unsigned char>(word[i]));
    std::string_view character = word.substr(begin, i - begin);
    int32_t id;
    if (plain) {
      id = findCharacter(character);
    } else {
      decorated = (begin > 0 ? prefix : "") + std::string(character);
      if (i == word.size())
        decorated += suffix;
      character = decorated;
      id = find(character);
    }
    if (id >= 0) {
      if (waiting)
        symbols.push_back(unknownId);
      waiting = false;
      symbols.push_back(id);
      continue;
    }
    if (byteFallback && std::all_of(character.begin(), character.end(), [&](char c) {
          return byteIds[static_cast<unsigned char>(c)] >= 0;
        })) {
      for (char c : character)
        symbols.push_back(byteIds[static_cast<unsigned char>(c)]);
      continue;
    }
    if (!hasUnknown)
      continue; // dropped, as other implementations do
    if (unknownId < 0 && (unknownId = find(unknownToken)) < 0)
      return fail("tokenizer", "a character is not in the vocabulary, nor is the unknown token",
                  "use the tokenizer file that the model was published with");
    if (waiting && !fuseUnknown)
      symbols.push_back(unknownId);
    waiting = true;
  }
  if (waiting)
    symbols.push_back(unknownId);
  return {};
}

void BpeModel::mergeByScanning(Scratch &scratch) const {
  std::vector<int32_t> &symbols = scratch.symbols;
  size_t count = symbols.size();
  if (count < 2)
    return;
  std::vector<MergeTable::Merge> &pending = scratch.merges;
  pending.resize(count - 1);
  for (size_t i = 0; i + 1 < count; ++i)
    pending[i] = merges.find(symbols[i], symbols[i + 1]);
  while (count > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < count; ++i)
      if (pending[i].rank < pending[best].rank)
        best = i;
    if (pending[best].rank == MergeTable::kNone)
      break;
    symbols[best] = pending[best].id;
    std::copy(symbols.begin() + best + 2, symbols.begin() + count, symbols.begin() + best + 1);
    std::copy(pending.begin() + best + 1, pending.begin() + (count - 1), pending.begin() + best);
    --count;
    if (best > 0)
      pending[best - 1] = merges.find(symbols[best - 1], symbols[best]);
    if (best + 1 < count)
      pending[best] = merges.find(symbols[best], symbols[best + 1]);
  }
  symbols.resize(count);
}

void BpeModel::mergeByHeap(Scratch &scratch) const {
  // Symbols form a list linked by position. The heap holds rank << 32 | position of the left one;
  // entries outlive the pairs that they were made for, and are checked when they come up.
  std::vector<int32_t> &symbols = scratch.symbols, &previous = scratch.previous,
                       &next = scratch.next;
  std::vector<uint64_t> &heap = scratch.heap;
  auto count = static_cast<int32_t>(symbols.size());
  previous.resize(symbols.size());
  next.resize(symbols.size());
  heap.clear();
  auto entry = [](uint32_t rank, int32_t position) {
    return static_cast<uint64_t>(rank) << 32 | static_cast<uint32_t>(position);
  };
  for (int32_t i = 0; i < count; ++i) {
    previous[i] = i - 1;
    next[i] = i + 1 < count ? i + 1 : -1;
    if (i + 1 < count)
      if (MergeTable::Merge merge = merges.find(symbols[i], symbols[i + 1]);
          merge.rank != MergeTable::kNone)
        heap.push_back(entry(merge.rank, i));
  }
  std::make_heap(heap.begin(), heap.end(), std::greater<>());
  auto consider = [&](int32_t left, int32_t right) {
    if (left < 0 || right < 0)
      return;
    MergeTable::Merge merge = merges.find(symbols[left], symbols[right]);
    if (merge.rank == MergeTable::kNone)
      return;
    heap.push_back(entry(merge.rank, left));
    std::push_heap(heap.begin(), heap.end(), std::greater<>());
  };
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    uint64_t top = heap.back();
    heap.pop_back();
    auto left = static_cast<int32_t>(top & UINT32_MAX);
    int32_t right = next[left];
    if (symbols[left] < 0 || right < 0)
      continue;
    MergeTable::Merge merge = merges.find(symbols[left], symbols[right]);
    if (merge.rank != top >> 32)
      continue;
    symbols[left] = merge.id;
    symbols[right] = -1;
    next[left] = next[right];
    if (next[left] >= 0)
      previous[next[left]] = left;
    consider(previous[left], left);
    consider(left, next[left]);
  }
  symbols.erase(std::remove(symbols.begin(), symbols.end(), -1), symbols.end());
}

} // namespace sinter::tokenizer
