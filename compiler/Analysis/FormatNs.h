//===- FormatNs.h - Times as people read them -------------------*- C++ -*-===//
#pragma once

#include <string>

namespace sinter {

/// "3.1 us", with three significant digits.
std::string formatNs(double ns);

} // namespace sinter
