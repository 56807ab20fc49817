#include "tools/sinter/Report.h"
#include "compiler/Executable/HtmlTemplate.h"
#include "tools/sinter/ReportPage.h"
#include <cmath>

using namespace sinter;
using namespace sinter::cli;
using nlohmann::json;

Curve sinter::cli::thinOut(Curve curve) {
  constexpr size_t kPoints = 1500;
  size_t width = curve.points.size() / kPoints + 1;
  std::vector<std::pair<double, double>> points;
  for (size_t i = 0; i < curve.points.size(); i += width) {
    size_t end = std::min(i + width, curve.points.size());
    double sum = 0;
    for (size_t j = i; j < end; ++j)
      sum += curve.points[j].second;
    points.emplace_back(curve.points[i].first, sum / double(end - i));
  }
  curve.points = std::move(points);
  return curve;
}

std::string sinter::cli::renderReport(const Report &report) {
  json charts = json::array(), sections = json::array();
  for (const Chart &chart : report.charts) {
    json curves = json::array();
    for (const Curve &curve : chart.curves) {
      json points = json::array();
      for (auto [x, y] : curve.points)
        if (std::isfinite(x) && std::isfinite(y))
          points.push_back({x, y});
      curves.push_back({{"name", curve.name}, {"points", points}, {"marked", curve.marked}});
    }
    charts.push_back({{"title", chart.title},
                      {"across", chart.across},
                      {"unit", chart.unit},
                      {"curves", curves}});
  }
  for (const Section &section : report.sections)
    sections.push_back(
        {{"title", section.title}, {"heading", section.heading}, {"rows", section.rows}});
  std::string page = makePage(kReportPage);
  fillIn(page, "{{title}}", escapeHtml(report.title));
  fillIn(page, "{{summary}}", escapeHtml(report.summary));
  fillIn(page, "{{report}}", embedJson({{"charts", charts}, {"sections", sections}}));
  return page;
}
