#include "plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string_view>

#include <fmt/format.h>

#include "text.hpp"

namespace ckpt_tool {
namespace {

constexpr double kWidth = 760;
constexpr double kHeight = 440;
constexpr double kLeft = 70;
constexpr double kRight = kWidth - 24;
constexpr double kTop = 50;
constexpr double kBottom = kHeight - 62;
constexpr std::array<std::string_view, 6> kColours = {"#1f6fb4", "#d1495b", "#2a9d5c", "#e08a1e", "#7a4fa3", "#666666"};

// Where values are on the paper.
struct Axes {
  double least_x = std::numeric_limits<double>::infinity();
  double most_x = 0;
  double most_y = 1;
  [[nodiscard]] double x(double mtbf) const {
    return kLeft + (kRight - kLeft) * std::log(mtbf / least_x) / std::log(most_x / least_x);
  }
  [[nodiscard]] double y(double overhead) const { return kBottom - (kBottom - kTop) * overhead / most_y; }
};

// 1, 2 or 5 times a power of ten, so that about five of them make `whole`.
double nice_step(double whole) {
  const double rough = whole / 5;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough * 0.999) return factor * power;
  }
  return 10 * power;
}

Axes axes_of(const Plot& plot) {
  Axes axes;
  for (const Series& series : plot.series) {
    for (const auto& [mtbf, overhead] : series.points) {
      axes.least_x = std::min(axes.least_x, mtbf);
      axes.most_x = std::max(axes.most_x, mtbf);
    }
  }
  const double step = nice_step(plot.most);
  axes.most_y = step * std::ceil(plot.most / step - 1e-9);
  return axes;
}

std::string line(double x1, double y1, double x2, double y2, std::string_view style) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1, y1, x2, y2, style);
}

std::string label(double x, double y, std::string_view anchor, std::string_view text, std::string_view style = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" {}>{}</text>\n", x, y, anchor, style, text);
}

// Times that a person would name, thinned out until they have room.
std::vector<double> time_ticks(const Axes& axes) {
  constexpr double kMinute = 60;
  constexpr double kHour = 60 * kMinute;
  constexpr double kDay = 24 * kHour;
  constexpr double kYear = 365.25 * kDay;
  std::vector<double> ticks;
  const auto add = [&](double unit, std::initializer_list<double> counts) {
    for (const double count : counts) {
      const double tick = unit * count;
      if (tick >= axes.least_x * 0.999 && tick <= axes.most_x * 1.001) ticks.push_back(tick);
    }
  };
  add(1, {1, 2, 5, 10, 20, 30});
  add(kMinute, {1, 2, 5, 10, 20, 30});
  add(kHour, {1, 2, 4, 8, 12});
  add(kDay, {1, 2, 4, 7, 14, 30, 60, 120, 240});
  add(kYear, {1, 2, 5, 10, 20, 50, 100});
  constexpr double kRoom = 60;
  std::vector<double> kept;
  for (const double tick : ticks) {
    if (kept.empty() || axes.x(tick) - axes.x(kept.back()) >= kRoom) kept.push_back(tick);
  }
  return kept;
}

// "30 min", as round as the tick is.
std::string tick_text(double seconds) {
  constexpr std::pair<double, std::string_view> kUnits[] = {
      {365.25 * 86400, "y"}, {86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};
  for (const auto& [unit, name] : kUnits) {
    if (seconds >= unit * 0.999) return fmt::format("{:.3g} {}", seconds / unit, name);
  }
  return duration_text(seconds);
}

std::string grid(const Axes& axes, const Plot& plot) {
  std::string svg;
  const double step = nice_step(plot.most);
  for (int i = 0; i * step <= axes.most_y * 1.001; ++i) {
    const double y = axes.y(i * step);
    svg += line(kLeft, y, kRight, y, "stroke=\"#e4e4e4\"");
    svg += label(kLeft - 8, y + 4, "end", fmt::format("{:.3g} %", 100 * i * step));
  }
  for (const double tick : time_ticks(axes)) {
    const double x = axes.x(tick);
    svg += line(x, kTop, x, kBottom + 5, "stroke=\"#e4e4e4\"");
    svg += label(x, kBottom + 20, "middle", tick_text(tick));
  }
  svg +=
      line(kLeft, kBottom, kRight, kBottom, "stroke=\"#444\"") + line(kLeft, kTop, kLeft, kBottom, "stroke=\"#444\"");
  svg += label((kLeft + kRight) / 2, kHeight - 16, "middle", "mean time between failures, of all levels");
  svg += label(0, 0, "middle", "overhead, share of the work",
               fmt::format("transform=\"translate(18 {:.1f}) rotate(-90)\"", (kTop + kBottom) / 2));
  return svg;
}

// Whether a person sees one curve where both are drawn.
bool looks_the_same(const Axes& axes, const Series& a, const Series& b) {
  constexpr double kSeen = 1;
  return std::ranges::equal(a.points, b.points, [&](const auto& one, const auto& other) {
    return std::abs(axes.x(one.first) - axes.x(other.first)) < kSeen &&
           std::abs(axes.y(one.second) - axes.y(other.second)) < kSeen;
  });
}

// Of the curve `number`, so that it can be seen beside later ones that are drawn over it.
int width_of(const Axes& axes, const Plot& plot, std::size_t number) {
  const Series& series = plot.series[number];
  int width = 2;
  for (std::size_t later = number + 1; later < plot.series.size(); ++later) {
    if (looks_the_same(axes, series, plot.series[later])) width += 5;
  }
  return width;
}

std::string curve(const Axes& axes, const Series& series, int width, std::string_view colour) {
  std::string points;
  std::string dots;
  for (const auto& [mtbf, overhead] : series.points) {
    if (!std::isfinite(overhead)) continue;
    const double y = axes.y(std::min(overhead, 10 * axes.most_y));
    points += fmt::format("{:.1f},{:.1f} ", axes.x(mtbf), y);
    if (!series.dashed && overhead <= axes.most_y)
      dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"{}\"/>\n", axes.x(mtbf), y, width + 1,
                          colour);
  }
  return fmt::format(
      "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"{} clip-path=\"url(#area)\"/>\n{}",
      points, colour, width, series.dashed ? " stroke-dasharray=\"6 4\"" : "", dots);
}

std::string legend_entry(const Series& series, std::size_t number, int width, std::string_view colour) {
  constexpr double kX = kRight - 250;
  const double y = kTop + 18 + 20 * static_cast<double>(number);
  return line(kX, y - 4, kX + 28, y - 4,
              fmt::format("stroke=\"{}\" stroke-width=\"{}\"{}", colour, width,
                          series.dashed ? " stroke-dasharray=\"6 4\"" : "")) +
         label(kX + 36, y, "start", series.name);
}

}  // namespace

std::string svg_text(const Plot& plot) {
  const Axes axes = axes_of(plot);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n"
      "<clipPath id=\"area\"><rect x=\"{2}\" y=\"{3}\" width=\"{4}\" height=\"{5}\"/></clipPath>\n",
      kWidth, kHeight, kLeft, kTop, kRight - kLeft, kBottom - kTop);
  svg += label(kLeft, 26, "start", plot.title, "font-size=\"15\"");
  svg += grid(axes, plot);
  svg +=
      fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"256\" height=\"{}\" fill=\"#fff\" fill-opacity=\"0.85\"/>\n",
                  kRight - 256, kTop + 2, 20 * plot.series.size() + 8);
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const std::string_view colour = kColours[i % kColours.size()];
    const int width = width_of(axes, plot, i);
    svg += curve(axes, plot.series[i], width, colour) + legend_entry(plot.series[i], i, width, colour);
  }
  return svg + "</svg>\n";
}

}  // namespace ckpt_tool
