// A step's time as a tree: phases, modules level by level, operators, primitives.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "harness/profile/tables.hpp"

namespace harness {

enum class NodeKind {
  kStep,       ///< the whole step, the root
  kPhase,      ///< forward, backward, ...
  kModule,     ///< one level of a module's name: of "backbone.body" first "backbone", then "body"
  kOperator,   ///< of LibTorch, or a kernel of ours
  kPrimitive,  ///< what ran within an operator, by kind, direction and implementation
  kBetween,    ///< in no operator
  kRest,       ///< small ones of one parent, merged; below it they stand by themselves
};

/// Numbers are of a step and include all below.
struct ProfileNode {
  NodeKind kind = NodeKind::kStep;
  std::string name{};      ///< as the file has it
  std::size_t parent = 0;  ///< place in the tree; the root's is its own
  double seconds = 0;      ///< never below 0
  double calls = 0;        ///< of operators; of a primitive its own
  double flops = 0;
  double bytes = 0;  ///< of primitives only: those of operators count tensors more than once
  /// That all of it belongs to; empty where there are several.
  std::optional<std::string> phase{};
  std::size_t merged = 0;  ///< of kRest: how many
  bool reference = false;  ///< a primitive without a fast implementation
  bool reorder = false;    ///< a primitive that copies into another layout
};

/// What stands under what: phase, modules, operator; or modules, phase, operator; or operator,
/// phase, modules. Primitives are always the last.
enum class TreeOrder { kPhaseFirst, kModuleFirst, kOperatorFirst };

struct TreeLimits {
  std::size_t most_nodes = 1500;
  std::size_t most_children = 60;
  std::size_t least_children = 8;  ///< kept however small they are
  double least_share = 0.004;      ///< of the parent's seconds; what is below is merged
  std::size_t most_levels = 10;    ///< of a module's name; what lies deeper stays in one name
};

/// Parents stand before their children, children of one parent side by side, phases in the order
/// in which a step runs them, others by their seconds. Where nodes run out, the longest have been
/// taken apart first.
std::vector<ProfileNode> profile_tree(const ProfileTables& tables, TreeOrder order,
                                      const TreeLimits& limits = {});

/// An operator's name as a person says it: of "torch::autograd::CppNode<a::b::Function>" that is
/// "Function (node)", all others as they are.
std::string spoken_operator(const std::string& name);

}  // namespace harness
