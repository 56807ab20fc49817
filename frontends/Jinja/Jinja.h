//===- Jinja.h - The programs that chat templates are -----------*- C++ -*-===//
//
// Jinja as far as chat templates use it, with what transformers adds: loops with filters, break and
// continue; conditions; variables, namespaces and macros; filters, tests and the methods of
// strings, lists and dictionaries; `raise_exception`, `strftime_now` and {% generation %}. Blocks
// are trimmed as transformers sets Jinja up (trim_blocks, lstrip_blocks). There is no library of it
// for C++ among Debian's packages. What is left out is an error that names it: files that include
// others, call blocks, recursive loops.
//
// A program comes with a model's files, and so from anywhere: how deep it nests, how many steps it
// takes and how much it writes is bounded.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontends/Jinja/Value.h"
#include <memory>
#include <string_view>

namespace sinter::jinja {

struct Statement;

class Program {
public:
  /// Reads a program; `source` names it in errors, which say the line.
  static Expected<Program> parse(std::string_view text, std::string source);

  Program(Program &&) noexcept;
  Program &operator=(Program &&) noexcept;
  ~Program();

  /// What it writes with these variables. Fails where it says so (`raise_exception`, with its own
  /// words), or does what has no meaning.
  Expected<std::string> render(const Dictionary &variables) const;

private:
  Program(std::string source, std::vector<std::unique_ptr<Statement>> body);

  std::string source;
  std::vector<std::unique_ptr<Statement>> body;
};

} // namespace sinter::jinja
