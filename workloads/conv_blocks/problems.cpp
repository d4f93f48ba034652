#include "workloads/conv_blocks/problems.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <sstream>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "workloads/retinanet/architecture.hpp"

namespace harness::workloads {
namespace {

constexpr std::size_t kMostProblems = 1000;
constexpr std::int64_t kLargestExtent = 1 << 20;
constexpr const char* kNorm = "mul:f32:per_oc+add:f32:per_oc";
constexpr const char* kResidual = "add:f32:per_tensor";
constexpr const char* kRelu = "relu";

// What options have set for the lines to come.
struct Options {
  std::string direction = "FWD_B";
  std::int64_t batch = 0;  ///< 0: as the problem says
  bool norm = false, residual = false, relu = false;
};

class Parser {
 public:
  explicit Parser(const std::string& source) : source_(source) {}

  std::vector<ConvProblem> parse(std::string_view text) {
    for (const std::string& whole : split(text, '\n')) {
      ++line_;
      const std::string_view line = trim(std::string_view(whole).substr(0, whole.find('#')));
      for (const std::string& word : split(line, ' ')) {
        if (trim(word).empty()) continue;
        if (word.rfind("--", 0) == 0) {
          option(std::string(trim(word)));
        } else {
          problem(std::string(trim(word)));
        }
      }
    }
    if (problems_.empty()) throw Error(printable(source_), "holds no convolution problem");
    return std::move(problems_);
  }

 private:
  [[noreturn]] void fail(const std::string& why, const std::string& hint = "") const {
    throw Error(printable(source_) + " line " + std::to_string(line_), why, hint);
  }

  void option(const std::string& word) {
    const auto value_of = [&](const char* name) -> std::optional<std::string> {
      const std::string prefix = std::string("--") + name + "=";
      if (word.rfind(prefix, 0) != 0) return std::nullopt;
      return word.substr(prefix.size());
    };
    if (word == "--reset") {
      options_ = {};
    } else if (const auto direction = value_of("dir")) {
      if (*direction != "FWD_I" && *direction != "FWD_D" && *direction != "FWD_B") {
        fail("direction " + printable(*direction, 20) + " is not understood",
             "use FWD_I, FWD_D or FWD_B");
      }
      options_.direction = *direction;
    } else if (const auto batch = value_of("mb")) {
      const auto number = parse_integer(*batch);
      if (!number || *number < 0 || *number > kLargestExtent) {
        fail("--mb=" + printable(*batch, 20) + " is no batch size");
      }
      options_.batch = *number;
    } else if (const auto operations = value_of("attr-post-ops")) {
      post_operations(*operations);
    } else {
      fail("option " + printable(word, 40) + " is not understood",
           "known: --dir, --mb, --attr-post-ops, --reset");
    }
  }

  void post_operations(std::string text) {
    const std::string asked = text;
    const auto take = [&text](const std::string& operation) {
      if (text != operation && text.rfind(operation + "+", 0) != 0) return false;
      text.erase(0, operation.size() + 1);
      return true;
    };
    options_.norm = take(kNorm);
    options_.residual = take(kResidual);
    options_.relu = take(kRelu);
    if (!text.empty()) {
      fail("post-operations " + printable(asked, 80) + " are not understood",
           std::string("in this order: ") + kNorm + "+" + kResidual + "+" + kRelu);
    }
  }

  void problem(const std::string& word) {
    if (problems_.size() == kMostProblems) fail("more than 1000 problems");
    std::map<std::string, std::int64_t> values;
    std::string name;
    std::size_t at = 0;
    while (at < word.size()) {
      if (word[at] == '_') {
        ++at;
        continue;
      }
      if (word[at] == 'n') {
        name = word.substr(at + 1);
        break;
      }
      const std::size_t key_begin = at;
      while (at < word.size() && std::isalpha(static_cast<unsigned char>(word[at])) != 0) ++at;
      const std::string key = word.substr(key_begin, at - key_begin);
      const std::size_t digits = at;
      while (at < word.size() && std::isdigit(static_cast<unsigned char>(word[at])) != 0) ++at;
      const auto number = parse_integer(std::string_view(word).substr(digits, at - digits));
      static const std::vector<std::string> known{"g",  "mb", "ic", "ih", "iw", "oc", "oh", "ow",
                                                  "kh", "kw", "sh", "sw", "ph", "pw", "dh", "dw"};
      if (std::find(known.begin(), known.end(), key) == known.end() || !number) {
        fail(printable(word, 60) + " is no convolution problem", "for example " + example());
      }
      if (*number > kLargestExtent) fail(key + " is too large");
      if (!values.emplace(key, *number).second) fail(key + " is there twice");
    }
    problems_.push_back(complete(values, name));
  }

  static std::string example() { return "mb1ic64ih56oc64oh56kh3ph1n\"name\""; }

  // benchdnn's defaults: a width is like the height, the output follows from the rest.
  ConvProblem complete(const std::map<std::string, std::int64_t>& values, std::string name) const {
    const auto value = [&](const char* key, std::int64_t otherwise) {
      const auto found = values.find(key);
      return found == values.end() ? otherwise : found->second;
    };
    ConvProblem p;
    p.groups = value("g", 1);
    p.batch = options_.batch > 0 ? options_.batch : value("mb", 2);
    p.in_channels = value("ic", 0);
    p.out_channels = value("oc", 0);
    p.in_height = value("ih", 0);
    p.in_width = value("iw", p.in_height);
    p.kernel_height = value("kh", 1);
    p.kernel_width = value("kw", p.kernel_height);
    p.stride = value("sh", 1);
    p.padding = value("ph", 0);
    if (value("sw", p.stride) != p.stride || value("pw", p.padding) != p.padding ||
        value("dh", 0) != 0 || value("dw", 0) != 0) {
      fail("only equal strides and paddings and no dilation are understood");
    }
    if (p.groups < 1 || p.batch < 1 || p.in_channels < 1 || p.out_channels < 1 || p.in_height < 1 ||
        p.in_width < 1 || p.kernel_height < 1 || p.kernel_width < 1 || p.stride < 1 ||
        p.in_channels % p.groups != 0 || p.out_channels % p.groups != 0) {
      fail("a channel count, extent, stride or number of groups makes no convolution");
    }
    const auto extent = [&](std::int64_t in, std::int64_t kernel) {
      return in + 2 * p.padding < kernel ? 0 : (in + 2 * p.padding - kernel) / p.stride + 1;
    };
    p.out_height = value("oh", extent(p.in_height, p.kernel_height));
    p.out_width = value("ow", extent(p.in_width, p.kernel_width));
    if (values.contains("oh") && !values.contains("ow") && p.in_height == p.in_width) {
      p.out_width = p.out_height;
    }
    if (p.out_height < 1 || p.out_height != extent(p.in_height, p.kernel_height) ||
        p.out_width < 1 || p.out_width != extent(p.in_width, p.kernel_width)) {
      fail("the output's extents do not follow from the input's");
    }
    p.bias = options_.direction == "FWD_B";
    p.trained = options_.direction != "FWD_I";
    p.norm = options_.norm;
    if (p.bias && p.norm) {
      fail("a bias in front of a norm is none of these models'", "use --dir=FWD_D or FWD_I");
    }
    p.residual = options_.residual;
    p.relu = options_.relu;
    set_name(p, std::move(name));
    return p;
  }

  void set_name(ConvProblem& p, std::string name) const {
    std::erase(name, '"');
    if (const std::size_t star = name.rfind('*'); star != std::string::npos) {
      const auto times = parse_integer(std::string_view(name).substr(star + 1));
      if (!times || *times < 1 || *times > kLargestExtent) fail("the name's multiplicity is none");
      p.multiplicity = *times;
      name.resize(star);
    }
    if (name.empty()) name = "problem" + std::to_string(problems_.size() + 1);
    const auto fits = [](unsigned char c) {
      return std::isalnum(c) != 0 ||
             std::string_view("_.-").find(static_cast<char>(c)) != std::string_view::npos;
    };
    // It becomes part of a metric's tag.
    if (name.size() > 80 || !std::all_of(name.begin(), name.end(), fits)) {
      fail("the name is longer than 80 or holds more than letters, digits, '_', '.' and '-'");
    }
    for (const ConvProblem& other : problems_) {
      if (other.name == name) fail("the name " + name + " is there already");
    }
    p.name = std::move(name);
  }

  const std::string& source_;
  std::size_t line_ = 0;
  Options options_;
  std::vector<ConvProblem> problems_;
};

std::string options_of(const ConvProblem& p) {
  std::vector<std::string> operations;
  if (p.norm) operations.emplace_back(kNorm);
  if (p.residual) operations.emplace_back(kResidual);
  if (p.relu) operations.emplace_back(kRelu);
  const char* direction = !p.trained ? "FWD_I" : p.bias ? "FWD_B" : "FWD_D";
  std::string text = std::string("--reset --dir=") + direction;
  if (!operations.empty()) text += " --attr-post-ops=" + join(operations, "+");
  return text;
}

std::string line_of(const ConvProblem& p) {
  std::ostringstream text;
  const auto pair = [&text](const char* high, std::int64_t h, const char* wide, std::int64_t w) {
    text << high << h;
    if (w != h) text << wide << w;
  };
  if (p.groups > 1) text << 'g' << p.groups;
  text << "mb" << p.batch << "ic" << p.in_channels;
  pair("ih", p.in_height, "iw", p.in_width);
  text << "oc" << p.out_channels;
  pair("oh", p.out_height, "ow", p.out_width);
  pair("kh", p.kernel_height, "kw", p.kernel_width);
  if (p.stride > 1) text << "sh" << p.stride;
  if (p.padding > 0) text << "ph" << p.padding;
  text << "n\"" << p.name << '*' << p.multiplicity << '"';
  return text.str();
}

// "layer2.0.conv1" for backbone.body.layer2.0.conv1: the name becomes part of a metric's.
std::string short_name(const std::string& layer) {
  for (const std::string_view prefix : {"backbone.body.", "backbone.", "head."}) {
    if (layer.starts_with(prefix)) return layer.substr(prefix.size());
  }
  return layer;
}

// The model applies it; the table of layers does not say so.
bool has_relu(const std::string& layer) {
  const bool body = layer.rfind("backbone.body.", 0) == 0;
  return body ? layer.find(".downsample.") == std::string::npos
              : layer.find("_head.conv.") != std::string::npos;
}

}  // namespace

std::vector<ConvProblem> parse_problems(std::string_view text, const std::string& source) {
  return Parser(source).parse(text);
}

std::string to_text(const std::vector<ConvProblem>& problems) {
  std::string text;
  std::string options;
  for (const ConvProblem& problem : problems) {
    if (options_of(problem) != options) text += (options = options_of(problem)) + "\n";
    text += line_of(problem) + "\n";
  }
  return text;
}

std::vector<ConvProblem> retinanet_problems(std::int64_t batch, std::int64_t height,
                                            std::int64_t width, std::int64_t num_classes) {
  std::vector<ConvProblem> problems;
  for (const ConvolutionCall& call : retinanet_calls(batch, height, width, num_classes)) {
    const ConvLayer& layer = call.layer;
    ConvProblem p{.batch = batch,
                  .groups = layer.groups,
                  .in_channels = layer.in_channels,
                  .in_height = call.in_height,
                  .in_width = call.in_width,
                  .out_channels = layer.out_channels,
                  .out_height = call.out_height,
                  .out_width = call.out_width,
                  .kernel_height = layer.kernel,
                  .kernel_width = layer.kernel,
                  .stride = layer.stride,
                  .padding = layer.padding,
                  .bias = layer.bias,
                  .norm = !layer.norm.empty(),
                  .residual = layer.name.ends_with(".conv3"),
                  .relu = has_relu(layer.name),
                  .trained = layer.trainable};
    const auto same = std::find_if(problems.begin(), problems.end(), [&](ConvProblem other) {
      other.name.clear();
      other.multiplicity = 1;
      return other == p;
    });
    if (same != problems.end()) {
      ++same->multiplicity;
    } else {
      p.name = short_name(layer.name);
      p.name.append(".").append(std::to_string(call.out_height));
      if (call.out_width != call.out_height) {
        p.name.append("x").append(std::to_string(call.out_width));
      }
      problems.push_back(std::move(p));
    }
  }
  return problems;
}

}  // namespace harness::workloads
