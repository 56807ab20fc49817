//===- AddedTokens.h - Tokens found in the text before anything else -----===//
#pragma once

#include "frontends/Tokenizer/BpeModel.h"
#include "frontends/Tokenizer/Normalizer.h"
#include "frontends/Tokenizer/Pieces.h"

#include <vector>

namespace sinter::tokenizer {

/// A token besides the model's vocabulary, or one of it that the text is searched for.
struct AddedToken {
  std::string content;
  bool singleWord = false; ///< only where no letter or digit stands next to it
  bool stripLeft = false;  ///< takes the whitespace before it along
  bool stripRight = false; ///< takes the whitespace behind it along
  bool normalized = false; ///< searched in the normalized text, in its own normalized form
  bool special = false;    ///< skipped when decoding
};

/// The "added_tokens" of a tokenizer file.
class AddedTokens {
public:
  /// Gives each token its id: the model's, where the model has it, otherwise the next free one.
  /// `normalizer` may be null.
  Expected<void> add(const std::vector<AddedToken> &tokens, const BpeModel &model,
                     const Normalizer *normalizer);

  /// Reads the list at "added_tokens".
  static Expected<std::vector<AddedToken>> read(const Reader &reader);

  /// The id of a token, or -1.
  int32_t find(std::string_view content) const;

  /// What the decoder sees of an id, or null if it is not an added token's.
  const std::string *decoderToken(int32_t id) const;

  /// What the file says of an id, or null if it is not an added token's.
  const AddedToken *token(int32_t id) const;

  /// Whether a token of this content is special.
  bool isSpecial(std::string_view content) const { return specials.count(content) != 0; }

  /// The largest id plus one; 0 without tokens.
  int32_t getIdLimit() const { return limit; }

  /// Cuts the text's pieces at tokens that are searched in the text as given, or (`normalized`) as
  /// normalized. Their pieces get their ids.
  void split(Pieces &pieces, bool normalized) const;

private:
  /// A tree of bytes that finds the longest token at a place.
  class Trie {
  public:
    void insert(std::string_view key, int32_t id);
    bool empty() const { return nodes.size() == 1; }
    /// The longest key at `position`; its length, or 0.
    size_t match(std::string_view text, size_t position, int32_t &id) const;
    bool mayStart(unsigned char byte) const { return starts[byte]; }

  private:
    struct Node {
      int32_t id = -1;
      std::vector<std::pair<unsigned char, int32_t>> children; ///< sorted by byte
    };
    std::vector<Node> nodes = std::vector<Node>(1);
    std::array<bool, 256> starts{};
  };

  struct Known {
    AddedToken token;
    std::string decoded; ///< what the decoder sees
  };

  void splitPiece(const Trie &trie, std::string_view text, const Piece &piece,
                  std::vector<Piece> &out) const;

  std::unordered_map<int32_t, Known> byId;
  StringMap<int32_t> ids;
  StringMap<bool> specials;
  int32_t limit = 0;
  Trie raw, normal;
};

} // namespace sinter::tokenizer
