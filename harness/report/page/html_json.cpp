#include "harness/report/page/html_json.hpp"

#include <fmt/format.h>

#include "harness/result/common_json.hpp"

namespace harness {
namespace {

using nlohmann::json;

const char* tone_text(Tone tone) {
  switch (tone) {
    case Tone::kGood:
      return "good";
    case Tone::kDoubt:
      return "doubt";
    case Tone::kBad:
      return "bad";
    case Tone::kPlain:
      break;
  }
  return "";
}

const char* style_text(PlotStyle style) {
  switch (style) {
    case PlotStyle::kPoints:
      return "points";
    case PlotStyle::kBars:
      return "bars";
    case PlotStyle::kLine:
      break;
  }
  return "line";
}

json cell_json(const PageCell& cell) {
  json object = {{"t", cell.text}};
  if (cell.key) object["k"] = *cell.key;
  if (cell.tone != Tone::kPlain) object["tone"] = tone_text(cell.tone);
  if (!cell.target.empty()) object["to"] = cell.target;
  return object;
}

json table_json(const PageTable& table) {
  return {{"caption", table.caption},
          {"note", table.note},
          {"columns", list_json(table.columns,
                                [](const PageColumn& column) {
                                  return json{{"title", column.title}, {"number", column.number}};
                                })},
          {"rows", list_json(table.rows, [](const std::vector<PageCell>& row) {
             return list_json(row, cell_json);
           })}};
}

json axis_json(const PlotAxis& axis) {
  return {{"label", axis.label},
          {"log", axis.logarithmic},
          {"names", axis.names},
          {"zero", axis.from_zero},
          {"edges", axis.edges}};
}

json point_json(const PlotPoint& point) {
  json object = {{"x", point.x}, {"y", point.y}};
  if (point.low) object["low"] = *point.low;
  if (point.high) object["high"] = *point.high;
  if (!point.label.empty()) object["label"] = point.label;
  if (point.size > 0) object["size"] = point.size;
  return object;
}

json plot_json(const PagePlot& plot) {
  return {{"title", plot.title},
          {"description", plot.description},
          {"choice", plot.choice},
          {"wide", plot.wide},
          {"paired", plot.paired},
          {"x", axis_json(plot.x)},
          {"y", axis_json(plot.y)},
          {"series", list_json(plot.series,
                               [](const PlotSeries& series) {
                                 return json{{"name", series.name},
                                             {"style", style_text(series.style)},
                                             {"colour", series.colour},
                                             {"points", list_json(series.points, point_json)}};
                               })},
          {"bands",
           list_json(plot.bands,
                     [](const PlotBand& band) {
                       return json{{"from", band.from}, {"to", band.to}, {"label", band.label}};
                     })},
          {"marks", list_json(plot.marks, [](const PlotMark& mark) {
             return json{{"at", mark.at}, {"label", mark.label}, {"across", mark.across}};
           })}};
}

json node_json(const PageNode& node) {
  json object = {{"n", node.name},  {"k", node.kind}, {"p", node.parent},
                 {"v", node.value}, {"t", node.text}, {"c", node.colour}};
  if (node.tone != Tone::kPlain) object["tone"] = tone_text(node.tone);
  return object;
}

json icicle_json(const PageIcicle& icicle) {
  return {
      {"title", icicle.title},
      {"description", icicle.description},
      {"keys",
       list_json(
           icicle.keys,
           [](const PageKey& key) {
             return json{{"name", key.name}, {"colour", key.colour}, {"tone", tone_text(key.tone)}};
           })},
      {"trees", list_json(icicle.trees, [](const PageTree& tree) {
         return json{{"choice", tree.choice}, {"nodes", list_json(tree.nodes, node_json)}};
       })}};
}

json fact_json(const PageFact& fact) {
  return {{"name", fact.name}, {"value", fact.value}, {"tone", tone_text(fact.tone)}};
}

json judged_json(const PageJudged& row) {
  json object = {
      {"name", row.name}, {"word", row.word}, {"tone", tone_text(row.tone)}, {"text", row.text}};
  if (!(row.margin > 0)) return object;
  object["margin"] = row.margin;
  object["center"] = row.center;
  if (row.low) object["low"] = *row.low;
  if (row.high) object["high"] = *row.high;
  return object;
}

json verdict_json(const PageVerdict& verdict) {
  return {{"word", verdict.word},
          {"tone", tone_text(verdict.tone)},
          {"subject", verdict.subject},
          {"sentence", verdict.sentence},
          {"more", verdict.more},
          {"to", verdict.target},
          {"rows", list_json(verdict.rows, judged_json)}};
}

json section_json(const PageSection& section) {
  return {{"id", section.id},
          {"title", section.title},
          {"tone", tone_text(section.tone)},
          {"paragraphs", section.paragraphs},
          {"facts", list_json(section.facts, fact_json)},
          {"icicles", list_json(section.icicles, icicle_json)},
          {"plots", list_json(section.plots, plot_json)},
          {"tables", list_json(section.tables, table_json)},
          {"parts", list_json(section.parts, section_json)},
          {"folded", section.folded},
          {"open", section.open}};
}

}  // namespace

json to_json(const ReportPage& page) {
  return {{"subtitle", page.subtitle},
          {"notice", kUnverifiedNotice},
          {"verdicts", list_json(page.verdicts, verdict_json)},
          {"tiles", list_json(page.tiles, fact_json)},
          {"sections", list_json(page.sections, section_json)}};
}

std::string script_json(const json& document) {
  // Beyond ASCII everything is escaped by the library, U+2028 and U+2029 among it; the other three
  // stand within strings only.
  const std::string text = document.dump(-1, ' ', true, json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size() + text.size() / 16);
  for (const char c : text) {
    if (c == '<' || c == '>' || c == '&') {
      safe += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace harness
