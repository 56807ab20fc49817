//===- Regex.cpp - Compiling and running patterns with PCRE2 -------------===//

#include "frontends/Tokenizer/Regex.h"

#include "frontends/Tokenizer/Unicode.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <algorithm>
#include <cassert>
#include <cstdint>
#include <pcre2.h>

namespace sinter::tokenizer {

namespace {

/// What a thread needs to match, made when it first does.
struct MatchState {
  pcre2_match_data *data = pcre2_match_data_create(1, nullptr);
  pcre2_match_context *context = pcre2_match_context_create(nullptr);
  pcre2_jit_stack *stack = pcre2_jit_stack_create(32 << 10, 16 << 20, nullptr);

  MatchState() {
    pcre2_jit_stack_assign(context, nullptr, stack);
    pcre2_set_heap_limit(context, 256 << 10);
  }
  MatchState(const MatchState &) = delete;
  MatchState &operator=(const MatchState &) = delete;
  ~MatchState() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
    pcre2_jit_stack_free(stack);
  }
};

MatchState &matchState() {
  thread_local MatchState state;
  return state;
}

std::string pcreMessage(int code) {
  PCRE2_UCHAR buffer[256];
  if (pcre2_get_error_message(code, buffer, sizeof(buffer)) < 0)
    return "PCRE2 error " + std::to_string(code);
  return reinterpret_cast<const char *>(buffer);
}

std::string shortened(std::string_view pattern) {
  std::string text;
  for (char c : pattern.substr(0, 80))
    text += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? '?' : c;
  return repairUtf8(text) + (pattern.size() > 80 ? "..." : "");
}

constexpr const char *kRemedy = "use the tokenizer file that the model was published with";

} // namespace

Expected<Regex> Regex::compileTranslated(std::string_view original, const std::string &translated) {
  std::unique_ptr<pcre2_compile_context, decltype(&pcre2_compile_context_free)> context(
      pcre2_compile_context_create(nullptr), pcre2_compile_context_free);
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  pcre2_set_bsr(context.get(), PCRE2_BSR_UNICODE);
  int error;
  PCRE2_SIZE offset;
  // Without start optimizations: with them, PCRE2 10.42's compiled code finds matches that are none
  // ("(?>..+|b?)e" in "zef"), and a pattern that cuts a text into words gains nothing by them.
  uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C |
                     PCRE2_NO_AUTO_CAPTURE | PCRE2_NO_START_OPTIMIZE;
  pcre2_code *code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()),
                                   translated.size(), options, &error, &offset, context.get());
  if (!code)
    return fail("the pattern '" + shortened(original) + "'", pcreMessage(error), kRemedy);
  Regex regex;
  regex.code =
      std::shared_ptr<void>(code, [](void *p) { pcre2_code_free(static_cast<pcre2_code *>(p)); });
  // Without just-in-time compilation (some systems forbid it) the interpreter matches the same.
  regex.jit = pcre2_jit_compile(code, PCRE2_JIT_COMPLETE) == 0;
  return regex;
}

Expected<Regex> Regex::compile(std::string_view pattern) {
  Expected<std::string> translated = translatePattern(pattern);
  if (!translated)
    return fail("the pattern '" + shortened(pattern) + "'", translated.error().why, kRemedy);
  return compileTranslated(pattern, *translated);
}

Regex Regex::own(const char *pattern) {
  Expected<Regex> regex = compileTranslated(pattern, pattern);
  assert(regex && "one of Sinter's own patterns does not compile");
  return *regex;
}

int Regex::match(std::string_view text, size_t from) const {
  MatchState &state = matchState();
  auto *subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  auto *compiled = static_cast<const pcre2_code *>(code.get());
  int result = PCRE2_ERROR_JIT_STACKLIMIT;
  if (jit)
    result = pcre2_jit_match(compiled, subject, text.size(), from, PCRE2_NO_UTF_CHECK, state.data,
                             state.context);
  if (result == PCRE2_ERROR_JIT_STACKLIMIT)
    result = pcre2_match(compiled, subject, text.size(), from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                         state.data, state.context);
  return result;
}

Expected<void> Regex::forEachMatch(std::string_view text,
                                   const std::function<void(size_t, size_t)> &visit) const {
  // A hostile pattern gives up instead of running for hours. Honest ones take back what they
  // matched, character by character, over as much as all of the text.
  pcre2_set_match_limit(matchState().context, static_cast<uint32_t>(std::min<size_t>(
                                                  1'000'000 + 64 * text.size(), UINT32_MAX)));
  size_t from = 0;
  size_t lastEnd = std::string_view::npos;
  while (from <= text.size()) {
    int result = match(text, from);
    if (result == PCRE2_ERROR_NOMATCH)
      break;
    if (result < 0)
      return fail("a pattern of the tokenizer", pcreMessage(result), kRemedy);
    const PCRE2_SIZE *range = pcre2_get_ovector_pointer(matchState().data);
    size_t begin = range[0], end = range[1];
    if (begin >= end && end == lastEnd) {
      // An empty match right behind a match: look further, by one character.
      from += from < text.size() ? utf8Length(static_cast<unsigned char>(text[from])) : 1;
      continue;
    }
    from = lastEnd = end;
    visit(begin, end);
  }
  return {};
}

bool Regex::matches(std::string_view text) const { return match(text, 0) >= 0; }

} // namespace sinter::tokenizer
