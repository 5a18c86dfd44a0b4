// Draws overheads against MTBF as an SVG picture. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace ckpt_tool {

struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;  // MTBF in seconds, overhead as a share of the work; by MTBF
  bool dashed = false;
};

struct Plot {
  std::string title;
  std::vector<Series> series;
  double most = 1;  // the highest overhead drawn; higher ones are cut off
};

// Of curves that look the same, earlier ones are wider, so that each can be seen. The horizontal axis is logarithmic
// and spans the points of all series.
[[nodiscard]] std::string svg_text(const Plot& plot);

}  // namespace ckpt_tool
