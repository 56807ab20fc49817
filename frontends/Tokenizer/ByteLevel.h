//===- ByteLevel.h - Bytes as printable characters -----------------------===//
//
// Byte-level vocabularies (GPT-2 and after) write each of the 256 bytes as one printable
// character: printable Latin-1 stands for itself, the other 68 bytes for U+0100 and up.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <string>
#include <string_view>

namespace sinter::tokenizer {

/// Appends the bytes of `text` as characters.
void appendBytesAsCharacters(std::string &out, std::string_view text);

/// Appends the bytes that the characters of `text` stand for; false, and nothing appended, if one
/// of them stands for none.
bool appendCharactersAsBytes(std::string &out, std::string_view text);

} // namespace sinter::tokenizer
