//===- Error.h - Errors that a person can act on ----------------*- C++ -*-===//
//
// Everything that can fail because of what a user gave us returns Expected<T>. An Error is one
// line: what failed, why, and what to do about it. Defects of Sinter are assertions instead.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace sinter {

/// A mistake of the user's, or of the world's, in one line.
struct Error {
  std::string what;    ///< the thing that failed, e.g. "model.safetensors"
  std::string why;     ///< the reason, e.g. "the header says 812 bytes, the file has 100"
  std::string remedy;  ///< what to do, e.g. "download the file again"
  bool defect = false; ///< not the user's mistake but Sinter's

  /// "<what>: <why>; <remedy>", without the parts that are empty.
  std::string message() const {
    std::string text = what;
    if (!why.empty())
      text += ": " + why;
    if (!remedy.empty())
      text += "; " + remedy;
    return text;
  }
};

/// A value, or the reason why there is none.
template <typename T> using Expected = tl::expected<T, Error>;

/// The failing alternative of every Expected<T>.
inline tl::unexpected<Error> fail(std::string what, std::string why, std::string remedy) {
  return tl::unexpected<Error>(Error{std::move(what), std::move(why), std::move(remedy)});
}

#define SINTER_CONCAT_IMPL(a, b) a##b
#define SINTER_CONCAT(a, b) SINTER_CONCAT_IMPL(a, b)

/// Declares `declaration` from the value of `expression`, or returns its error.
#define SINTER_TRY(declaration, expression)                                                        \
  SINTER_TRY_IMPL(SINTER_CONCAT(expected, __LINE__), declaration, expression)
#define SINTER_TRY_IMPL(name, declaration, expression)                                             \
  auto name = (expression);                                                                        \
  if (!name)                                                                                       \
    return tl::unexpected<::sinter::Error>(std::move(name).error());                               \
  declaration = std::move(*name)

/// Returns the error of an Expected<void>, if it has one.
#define SINTER_CHECK(expression)                                                                   \
  if (auto checked = (expression); !checked)                                                       \
  return tl::unexpected<::sinter::Error>(std::move(checked).error())

} // namespace sinter
