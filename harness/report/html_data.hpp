// What the report page shows, as plain data. Everything that is derived is derived before it stands
// here; the page only draws, sorts and filters. Texts may come from hostile files: no id is made
// from one, and none is ever markup.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace harness {

/// How a value is coloured; its text always says the same.
enum class Tone { kPlain, kGood, kDoubt, kBad };

struct PageCell {
  std::string text{};
  std::optional<double> key{};  ///< what it sorts by; its text where empty
  Tone tone = Tone::kPlain;
  std::string target{};  ///< id of the section that it leads to
};

struct PageColumn {
  std::string title{};
  bool number = false;  ///< set flush right
};

struct PageTable {
  std::string caption{};
  std::vector<PageColumn> columns{};
  std::vector<std::vector<PageCell>> rows{};  ///< each as long as `columns`
  std::string note{};
};

struct PlotAxis {
  std::string label{};
  bool logarithmic = false;
  std::vector<std::string> names{};  ///< of the places 0, 1, 2, ...; empty for numbers
  bool from_zero = false;
  /// Where the names stand for equal parts of a way: its beginning and its end.
  std::vector<double> edges{};
};

struct PlotPoint {
  double x = 0;
  double y = 0;
  /// An interval along the axis without names; of a bar `low` is where it starts.
  std::optional<double> low{};
  std::optional<double> high{};
  std::string label{};  ///< shown when pointed at, and beside a bar
  double size = 0;      ///< of a point's area, 0 to 1; 0: as small as points are
};

enum class PlotStyle { kLine, kPoints, kBars };

/// Colours that mean something; below these, places in the page's palette.
inline constexpr std::size_t kMutedColour = 100;
inline constexpr std::size_t kGoodColour = 101;
inline constexpr std::size_t kBadColour = 102;

struct PlotSeries {
  std::string name{};
  PlotStyle style = PlotStyle::kLine;
  std::size_t colour = 0;
  std::vector<PlotPoint> points{};
};

/// A shaded part of the x axis.
struct PlotBand {
  double from = 0;
  double to = 0;
  std::string label{};
};

/// A line across the plot, at a place of the x axis or of the y axis.
struct PlotMark {
  double at = 0;
  std::string label{};
  bool across = false;  ///< horizontal: `at` is a place of the y axis
};

struct PagePlot {
  std::string title{};
  std::string description{};  ///< what a person reads who does not see it
  PlotAxis x{};
  PlotAxis y{};
  std::vector<PlotSeries> series{};
  std::vector<PlotBand> bands{};
  std::vector<PlotMark> marks{};
  /// Of the plots of a section that have one, those of one choice at a time are shown.
  std::string choice{};
  bool wide = false;    ///< over the whole page: its names are long
  bool paired = false;  ///< bars of one place stand beside each other, not behind
};

/// How a node of a tree is drawn, beside its tone.
struct PageNode {
  std::string name{};
  std::string kind{};      ///< a word: "module", "operator"
  std::size_t parent = 0;  ///< place in the tree, before the node's own; the root's is 0, itself
  double value = 0;        ///< its width; those of children add up to no more than their parent's
  std::string text{};      ///< what is said of it: time, share, calls
  std::size_t colour = 0;  ///< as that of a series
  Tone tone = Tone::kPlain;
};

struct PageTree {
  std::string choice{};  ///< of the trees of an icicle one is shown at a time
  std::vector<PageNode> nodes{};
};

/// Colour of the nodes named so.
struct PageKey {
  std::string name{};
  std::size_t colour = 0;
  Tone tone = Tone::kPlain;
};

/// Trees as nested bars, each level below the one that it is part of.
struct PageIcicle {
  std::string title{};
  std::string description{};
  std::vector<PageKey> keys{};
  std::vector<PageTree> trees{};
};

struct PageFact {
  std::string name{};
  std::string value{};
  Tone tone = Tone::kPlain;
};

struct PageSection {
  std::string id{};  ///< letters, digits and dashes; unique
  std::string title{};
  Tone tone = Tone::kPlain;
  std::vector<std::string> paragraphs{};
  std::vector<PageFact> facts{};
  std::vector<PageIcicle> icicles{};
  std::vector<PagePlot> plots{};
  std::vector<PageTable> tables{};
  std::vector<PageSection> parts{};
  bool folded = false;
  bool open = false;  ///< of a folded one: unfolded from the start
};

/// One row of a verdict, drawn on a scale about 1.
struct PageJudged {
  std::string name{};
  std::string word{};
  Tone tone = Tone::kPlain;
  std::string text{};  ///< ratio with its interval, margin
  double margin = 0;   ///< 0: nothing is drawn
  double center = 0;
  std::optional<double> low{};
  std::optional<double> high{};
};

/// What a gate found, before everything else on the page.
struct PageVerdict {
  std::string word{};
  Tone tone = Tone::kPlain;
  std::string subject{};
  std::string sentence{};
  std::vector<PageJudged> rows{};
  std::string more{};    ///< what is not shown of it; may be empty
  std::string target{};  ///< id of the section that tells more
};

struct ReportPage {
  std::string subtitle{};
  std::vector<PageVerdict> verdicts{};
  std::vector<PageFact> tiles{};  ///< the figures at the top
  std::vector<PageSection> sections{};
};

}  // namespace harness
