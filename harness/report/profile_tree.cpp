#include "harness/report/profile_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

#include "harness/base/text.hpp"

namespace harness {
namespace {

using Step = std::pair<NodeKind, std::string>;

std::vector<std::string> levels_of(const std::string& module, std::size_t most) {
  if (module.empty()) return {};
  std::vector<std::string> levels = split(module, '.');
  if (levels.size() > most) {
    const auto last = levels.begin() + static_cast<std::ptrdiff_t>(most) - 1;
    const std::string rest = join({last, levels.end()}, ".");
    levels.erase(last, levels.end());
    levels.push_back(rest);
  }
  return levels;
}

std::vector<Step> path_of(const OperatorRow& row, TreeOrder order, std::size_t most_levels) {
  const Step phase{NodeKind::kPhase, row.phase.empty() ? "(no phase)" : row.phase};
  const Step own{NodeKind::kOperator, row.name};
  std::vector<Step> path;
  const auto add_modules = [&] {
    for (std::string& level : levels_of(row.module, most_levels)) {
      path.emplace_back(NodeKind::kModule, std::move(level));
    }
  };
  if (order == TreeOrder::kOperatorFirst) path.push_back(own);
  if (order == TreeOrder::kModuleFirst) add_modules();
  path.push_back(phase);
  if (order != TreeOrder::kModuleFirst) add_modules();
  if (order != TreeOrder::kOperatorFirst) path.push_back(own);
  return path;
}

class Builder {
 public:
  explicit Builder(double step_seconds) {
    nodes_.emplace_back();
    nodes_[0].name = "step";
    nodes_[0].seconds = std::max(0.0, step_seconds);
  }

  /// A node that is there already keeps its phase only where it is this one. The phase is a copy:
  /// another node's would move with the list.
  std::size_t child(std::size_t parent, NodeKind kind, const std::string& name,
                    std::optional<std::string> phase) {
    const auto [found, is_new] = places_.emplace(std::tuple(parent, kind, name), nodes_.size());
    if (is_new) {
      ProfileNode& node = nodes_.emplace_back();
      node.kind = kind;
      node.name = name;
      node.parent = parent;
      node.phase = std::move(phase);
    } else if (nodes_[found->second].phase != phase) {
      nodes_[found->second].phase.reset();
    }
    return found->second;
  }

  /// The place of the row's last node.
  std::size_t add(const OperatorRow& row, const std::vector<Step>& path) {
    std::size_t at = 0;
    nodes_[0].calls += row.calls;
    nodes_[0].flops += row.flops;
    for (const auto& [kind, name] : path) {
      at = child(at, kind, name, row.phase);
      nodes_[at].seconds += std::max(0.0, row.self_seconds);
      nodes_[at].calls += row.calls;
      nodes_[at].flops += row.flops;
    }
    return at;
  }

  ProfileNode& at(std::size_t place) { return nodes_[place]; }
  std::vector<ProfileNode> take() { return std::move(nodes_); }

 private:
  std::vector<ProfileNode> nodes_{};
  std::map<std::tuple<std::size_t, NodeKind, std::string>, std::size_t> places_{};
};

/// What tells it apart goes first: a bar shows no more than its beginning.
std::string name_of(const Primitive& primitive) {
  const bool directed = !primitive.direction.empty() && primitive.direction != "undef";
  std::string name = directed ? primitive.direction + " " : std::string();
  name += primitive.kind;
  if (!primitive.implementation.empty()) name += " · " + primitive.implementation;
  return name;
}

std::vector<ProfileNode> whole_tree(const ProfileTables& tables, TreeOrder order,
                                    std::size_t most_levels) {
  Builder builder(tables.step_seconds);
  std::vector<std::size_t> leaves;
  leaves.reserve(tables.operators.size());
  for (const OperatorRow& row : tables.operators) {
    leaves.push_back(builder.add(row, path_of(row, order, most_levels)));
  }
  const std::size_t between = builder.child(0, NodeKind::kBetween, "(between operators)", {});
  builder.at(between).seconds = std::max(0.0, tables.between_seconds);
  for (const PrimitiveRow& row : tables.primitives) {
    const bool owned = row.owner && *row.owner < leaves.size();
    const std::size_t owner = owned ? leaves[*row.owner] : between;
    const std::size_t place =
        builder.child(owner, NodeKind::kPrimitive, name_of(row.primitive), builder.at(owner).phase);
    ProfileNode& node = builder.at(place);
    node.seconds += std::max(0.0, row.seconds);
    node.calls += row.calls;
    node.flops += row.flops.value_or(0) * row.calls;
    node.bytes += row.bytes.value_or(0) * row.calls;
    node.reference = is_reference_implementation(row.primitive.implementation);
    node.reorder = row.primitive.kind == "reorder";
  }
  return builder.take();
}

/// As a step runs them; whatever is no phase first, what lies between operators last.
std::size_t rank_of(const ProfileNode& node) {
  static constexpr std::array kPhases = {"data", "forward", "loss", "backward", "optimizer"};
  if (node.kind == NodeKind::kBetween) return kPhases.size() + 2;
  if (node.kind != NodeKind::kPhase) return 0;
  const auto found = std::find(kPhases.begin(), kPhases.end(), node.name);
  return 1 + static_cast<std::size_t>(found - kPhases.begin());
}

/// A node that is shown, and what is below it in the whole tree.
struct Shown {
  ProfileNode node{};
  std::vector<std::size_t> below{};
};

ProfileNode merged(const std::vector<ProfileNode>& nodes, const std::vector<std::size_t>& small) {
  ProfileNode rest;
  rest.kind = NodeKind::kRest;
  rest.merged = small.size();
  rest.name = fmt::format("{} more", small.size());
  rest.phase = nodes[small.front()].phase;
  for (const std::size_t i : small) {
    rest.seconds += nodes[i].seconds;
    rest.calls += nodes[i].calls;
    rest.flops += nodes[i].flops;
    if (nodes[i].phase != rest.phase) rest.phase.reset();
  }
  return rest;
}

class Pruner {
 public:
  Pruner(const std::vector<ProfileNode>& nodes, const TreeLimits& limits)
      : nodes_(nodes), limits_(limits), children_(nodes.size()) {
    for (std::size_t i = 1; i < nodes.size(); ++i) children_[nodes[i].parent].push_back(i);
  }

  std::vector<ProfileNode> prune() {
    struct Open {
      double seconds;
      std::size_t place;  // in what is returned
      std::vector<std::size_t> below;
    };
    const auto shorter = [](const Open& a, const Open& b) {
      return std::pair(a.seconds, b.place) < std::pair(b.seconds, a.place);
    };
    std::priority_queue<Open, std::vector<Open>, decltype(shorter)> open(shorter);
    std::vector<ProfileNode> tree = {nodes_[0]};
    open.push({nodes_[0].seconds, 0, children_[0]});
    while (!open.empty()) {
      const Open next = open.top();
      open.pop();
      std::vector<Shown> kept = shown_of(tree[next.place], next.below);
      if (tree.size() + kept.size() > limits_.most_nodes) continue;
      for (Shown& one : kept) {
        one.node.parent = next.place;
        if (!one.below.empty()) open.push({one.node.seconds, tree.size(), std::move(one.below)});
        tree.push_back(std::move(one.node));
      }
    }
    return tree;
  }

 private:
  /// Those of `children` that are large enough, the others as one.
  std::vector<Shown> shown_of(const ProfileNode& parent, std::vector<std::size_t> children) const {
    std::stable_sort(children.begin(), children.end(), [&](std::size_t a, std::size_t b) {
      const auto key = [&](std::size_t i) {
        return std::pair(rank_of(nodes_[i]), -nodes_[i].seconds);
      };
      return key(a) < key(b);
    });
    std::vector<Shown> kept;
    std::vector<std::size_t> small;
    for (const std::size_t i : children) {
      const ProfileNode& node = nodes_[i];
      if (node.seconds <= 0) continue;
      const bool large = node.seconds >= limits_.least_share * parent.seconds ||
                         kept.size() < limits_.least_children || node.kind == NodeKind::kPhase;
      if (large && kept.size() + 1 < limits_.most_children) {
        kept.push_back({node, children_[i]});
      } else {
        small.push_back(i);
      }
    }
    if (small.size() == 1) {
      kept.push_back({nodes_[small.front()], children_[small.front()]});
    } else if (!small.empty()) {
      ProfileNode rest = merged(nodes_, small);
      // What is merged can be looked into once: else many small ones would take all places.
      const bool again = parent.kind == NodeKind::kRest;
      kept.push_back({std::move(rest), again ? std::vector<std::size_t>{} : std::move(small)});
    }
    return kept;
  }

  const std::vector<ProfileNode>& nodes_;
  const TreeLimits& limits_;
  std::vector<std::vector<std::size_t>> children_;
};

}  // namespace

std::vector<ProfileNode> profile_tree(const ProfileTables& tables, TreeOrder order,
                                      const TreeLimits& limits) {
  const std::vector<ProfileNode> nodes =
      whole_tree(tables, order, std::max<std::size_t>(1, limits.most_levels));
  return Pruner(nodes, limits).prune();
}

std::string spoken_operator(const std::string& name) {
  constexpr const char* kNode = "torch::autograd::CppNode<";
  if (!name.starts_with(kNode) || !name.ends_with('>')) return name;
  const std::string inner = name.substr(std::string_view(kNode).size());
  const std::size_t colon = inner.rfind("::");
  std::string last = inner.substr(colon == std::string::npos ? 0 : colon + 2);
  last.pop_back();
  return last.empty() ? name : last + " (node)";
}

}  // namespace harness
