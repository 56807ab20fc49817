//===- PlanHtml.h - A picture of the memory plan ----------------*- C++ -*-===//
#pragma once

#include "runtime/Base/Error.h"
#include <string>
#include <string_view>

namespace sinter {

/// One self-contained page (no network, no other files) that draws the arena of each program over
/// its commands, with the peak and what lives there, the space totals and the largest owners.
/// @param report JSON as makeMemoryReport writes it.
/// @param title  what was planned, e.g. the model's name and the mode.
/// Fails on text that is not such a report.
Expected<std::string> renderPlanHtml(std::string_view report, std::string_view title);

} // namespace sinter
