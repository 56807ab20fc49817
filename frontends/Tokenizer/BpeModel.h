//===- BpeModel.h - Byte pair encoding -----------------------------------===//
//
// A word starts as its characters. The two neighbours whose merge comes first in the list of
// merges (the leftmost, of equal ones) become one token, again and again, until no neighbours have
// a merge.
//
// Short words do this by scanning; long ones keep candidates in a heap, so that a text that is one
// word of a megabyte takes n log n. Two things make the usual case much faster than either:
//
//  * a cache of words, since texts repeat them;
//  * for vocabularies of the SentencePiece kind, where the pre-tokenizer does not cut at all: if no
//    merge makes a token in which U+2581 follows another character, then no merge ever reaches
//    over the start of a word, and the text may be cut there without changing a token.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontends/Tokenizer/Reader.h"
#include "frontends/Tokenizer/TokenizerFile.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::tokenizer {

/// Merges by the pair of tokens that they join; a table with open addressing, since encoding does
/// little else than to ask it.
class MergeTable {
public:
  struct Merge {
    uint32_t rank; ///< place in the list of merges, or kNone
    int32_t id;    ///< the token that the pair becomes
  };
  static constexpr uint32_t kNone = UINT32_MAX;

  /// Makes room for `count` merges and forgets all.
  void reset(size_t count);

  /// Adds a merge; a later one of the same pair takes its place.
  void add(int32_t left, int32_t right, Merge merge);

  /// The merge of a pair; its rank is kNone if there is none.
  Merge find(int32_t left, int32_t right) const {
    uint64_t key = keyOf(left, right);
    for (size_t i = slotOf(key);; i = (i + 1) & mask) {
      if (slots[i].key == key)
        return slots[i].merge;
      if (slots[i].key == kEmpty)
        return {kNone, -1};
    }
  }

private:
  static constexpr uint64_t kEmpty = UINT64_MAX;
  struct Slot {
    uint64_t key = kEmpty;
    Merge merge = {kNone, -1};
  };
  static uint64_t keyOf(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  size_t slotOf(uint64_t key) const { return (key * 0x9E3779B97F4A7C15u >> 20) & mask; }

  std::vector<Slot> slots = std::vector<Slot>(1);
  size_t mask = 0;
};

/// The "model" of a tokenizer file, of type BPE.
class BpeModel {
public:
  /// Reads the model of a tokenizer.json. `reader` is at "model"; the large tables come apart.
  static Expected<BpeModel> read(const Reader &reader, Vocabulary vocabulary,
                                 const MergeList &merges);

  /// Takes GPT-2's pair of files: a vocabulary, and a text of one merge a line, which errors call
  /// `mergesName`. `reader` is at the vocabulary.
  static Expected<BpeModel> readGpt2(const Reader &reader, Vocabulary vocabulary,
                                     const std::string &mergesName, std::string_view merges);

  /// The id of a token, or -1.
  int32_t find(std::string_view token) const;

  /// The token of an id, or null.
  const std::string *token(int32_t id) const;

  /// How many tokens there are, and the largest id plus one.
  size_t size() const { return ids.size(); }
  int32_t getIdLimit() const { return static_cast<int32_t>(tokenOfId.size()); }

  /// What encoding one text needs besides the model: words already seen, and room to work.
  class Scratch {
  public:
    /// `bytes` is the length of the text; it bounds the size of the cache.
    explicit Scratch(size_t bytes);

  private:
    friend class BpeModel;
    struct CachedWord {
      uint64_t hash = 0;
      std::string_view word;
      size_t begin = 0, end = 0; ///< where in the output its tokens are
    };
    std::vector<CachedWord> cache;
    std::vector<int32_t> symbols, previous, next;
    std::vector<MergeTable::Merge> merges;
    std::vector<uint64_t> heap;
  };

  /// Appends the ids of a word. All words of one scratch must stay where they are in memory, and
  /// `out` must only grow, while it is used. An error if a character has no token and the unknown
  /// token itself is not in the vocabulary.
  Expected<void> encode(std::string_view word, std::vector<int32_t> &out, Scratch &scratch) const;

private:
  Expected<void> setVocabulary(const Reader &reader, Vocabulary vocabulary);
  bool addMerge(std::string_view left, std::string_view right);
  void finish();

  Expected<void> encodeCached(std::string_view word, std::vector<int32_t> &out,
                              Scratch &scratch) const;
  Expected<void> encodeWord(std::string_view word, std::vector<int32_t> &out,
                            Scratch &scratch) const;
  Expected<void> makeSymbols(std::string_view word, std::vector<int32_t> &symbols) const;
  int32_t findCharacter(std::string_view character) const;
  void mergeByScanning(Scratch &scratch) const;
  void mergeByHeap(Scratch &scratch) const;

  StringMap<int32_t> ids;
  std::vector<const std::string *> tokenOfId;
  MergeTable merges;
  uint32_t mergeCount = 0;
  std::vector<int32_t> characterIds; ///< of single characters below U+0800
  std::array<int32_t, 256> byteIds;  ///< of "<0x00>" to "<0xFF>"; -1 where absent
  std::string prefix, suffix;        ///< of characters that do not begin, or that end, a word
  std::string unknownToken;
  bool hasUnknown = false, fuseUnknown = false, byteFallback = false, ignoreMerges = false;
  bool cutsAtMetaspace = false;
};

} // namespace sinter::tokenizer
