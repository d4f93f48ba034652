// A step as a tree: nothing is lost, nothing counted twice, whatever names a file holds.
#include "harness/report/profile_tree.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/support/sample_profile.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

/// The place of the node that these names lead to; 0 where there is none.
std::size_t find(const std::vector<ProfileNode>& tree, const std::vector<std::string>& names) {
  std::size_t at = 0;
  for (const std::string& name : names) {
    std::size_t next = 0;
    for (std::size_t i = 1; i < tree.size(); ++i) {
      if (tree[i].parent == at && tree[i].name == name) next = i;
    }
    if (next == 0) return 0;
    at = next;
  }
  return at;
}

std::vector<std::string> children(const std::vector<ProfileNode>& tree, std::size_t parent) {
  std::vector<std::string> names;
  for (std::size_t i = 1; i < tree.size(); ++i) {
    if (tree[i].parent == parent) names.push_back(tree[i].name);
  }
  return names;
}

/// Parents before children, children side by side and no longer than what they are part of.
void check_sound(const std::vector<ProfileNode>& tree) {
  std::vector<double> inside(tree.size(), 0);
  std::vector<bool> left(tree.size(), false);
  for (std::size_t i = 1; i < tree.size(); ++i) {
    REQUIRE(tree[i].parent < i);
    const std::size_t parent = tree[i].parent;
    if (tree[i - 1].parent != parent) {
      CHECK_FALSE(left[parent]);
      left[tree[i - 1].parent] = i > 1;
    }
    inside[parent] += tree[i].seconds;
  }
  for (std::size_t i = 0; i < tree.size(); ++i) {
    CHECK(inside[i] <= tree[i].seconds * (1 + 1e-9) + 1e-12);
  }
}

ProfileTables many_rows(std::size_t count) {
  ProfileTables tables;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string module = "layer" + std::to_string(i % 97) + "." + std::to_string(i % 1009);
    tables.operators.push_back(sample_operator(i % 2 == 0 ? "forward" : "backward", module,
                                               "aten::op" + std::to_string(i), 1e-5));
    tables.step_seconds += 1e-5;
  }
  return tables;
}

}  // namespace

TEST_CASE("a step is taken apart by phase, by module and by operator", "[report][profile]") {
  const ProfileTables tables = sample_tables();
  const auto phases = profile_tree(tables, TreeOrder::kPhaseFirst);
  check_sound(phases);
  CHECK(phases[0].seconds == 10);
  CHECK(children(phases, 0) ==
        std::vector<std::string>{"forward", "backward", "optimizer", "(between operators)"});
  const std::size_t backward = find(phases, {"backward"});
  CHECK(phases[backward].seconds == Approx(6));
  CHECK(phases[backward].phase == "backward");
  CHECK_FALSE(phases[0].phase.has_value());
  const std::size_t conv =
      find(phases, {"backward", "backbone", "body", "conv1", "aten::convolution_backward"});
  REQUIRE(conv > 0);
  CHECK(phases[conv].seconds == 4);
  CHECK(phases[conv].calls == 2);
  CHECK(children(phases, conv) ==
        std::vector<std::string>{"backward_weights convolution · jit:avx512_core",
                                 "reorder · jit:uni"});
  const std::size_t slow = find(phases, {"backward", "head", "conv", "aten::convolution_backward",
                                         "backward_data convolution · ref:any"});
  REQUIRE(slow > 0);
  CHECK(phases[slow].reference);
  CHECK(phases[slow].flops == 2e11);

  const auto modules = profile_tree(tables, TreeOrder::kModuleFirst);
  check_sound(modules);
  // By their seconds; what belongs to no module stands behind them.
  CHECK(children(modules, 0) ==
        std::vector<std::string>{"backbone", "head", "optimizer", "(between operators)"});
  const std::size_t body = find(modules, {"backbone", "body", "conv1"});
  CHECK(modules[body].seconds == 6);
  CHECK_FALSE(modules[body].phase.has_value());
  CHECK(children(modules, body) == std::vector<std::string>{"forward", "backward"});

  const auto operators = profile_tree(tables, TreeOrder::kOperatorFirst);
  check_sound(operators);
  CHECK(operators[find(operators, {"aten::convolution_backward"})].seconds == 6);
  CHECK(find(operators, {"aten::convolution_backward", "backward", "head", "conv",
                         "backward_data convolution · ref:any"}) > 0);
}

TEST_CASE("small nodes are merged and lose nothing", "[report][profile]") {
  ProfileTables tables = sample_tables();
  for (int i = 0; i < 50; ++i) {
    tables.operators.push_back(
        sample_operator("forward", "tiny", "aten::tiny" + std::to_string(i), 1e-4));
    tables.step_seconds += 1e-4;
  }
  TreeLimits limits;
  limits.least_share = 0.5;
  limits.least_children = 2;
  limits.most_children = 10;
  const auto all = profile_tree(tables, TreeOrder::kPhaseFirst, limits);
  check_sound(all);
  const std::size_t shown = find(all, {"forward", "tiny"});
  REQUIRE(shown > 0);
  const std::vector<std::string> below = children(all, shown);
  CHECK(below == std::vector<std::string>{"aten::tiny0", "aten::tiny1", "48 more"});
  const std::size_t place = find(all, {"forward", "tiny", "48 more"});
  // They are there once more below what they were merged into, and no further.
  CHECK(children(all, place) == std::vector<std::string>{"aten::tiny2", "aten::tiny3", "46 more"});
  CHECK(children(all, find(all, {"forward", "tiny", "48 more", "46 more"})).empty());
  const ProfileNode& rest = all[place];
  CHECK(rest.kind == NodeKind::kRest);
  CHECK(rest.merged == 48);
  CHECK(rest.seconds == Approx(48e-4));
  CHECK(rest.calls == 96);
}

TEST_CASE("a tree of very many rows stays small", "[report][profile]") {
  const ProfileTables tables = many_rows(100000);
  for (const TreeOrder order :
       {TreeOrder::kPhaseFirst, TreeOrder::kModuleFirst, TreeOrder::kOperatorFirst}) {
    const auto tree = profile_tree(tables, order);
    CHECK(tree.size() <= TreeLimits{}.most_nodes);
    CHECK(tree.size() > 2);
    check_sound(tree);
  }
}

TEST_CASE("there are no more children than fit", "[report][profile]") {
  TreeLimits limits;
  limits.least_share = 0;
  limits.most_children = 10;
  const auto tree = profile_tree(many_rows(1000), TreeOrder::kPhaseFirst, limits);
  check_sound(tree);
  for (std::size_t i = 0; i < tree.size(); ++i) CHECK(children(tree, i).size() <= 10);
  CHECK(find(tree, {"forward", "88 more"}) > 0);
}

TEST_CASE("a tree bears whatever a file says", "[report][profile]") {
  CHECK(profile_tree({}, TreeOrder::kPhaseFirst).size() == 1);
  ProfileTables tables = sample_tables();
  tables.operators[0].module = std::string(5000, '.');
  tables.operators[1].self_seconds = -1;
  tables.operators[2].name.clear();
  tables.primitives[0].owner = 77;
  tables.primitives[1].owner.reset();
  tables.between_seconds = -3;
  const auto tree = profile_tree(tables, TreeOrder::kPhaseFirst);
  std::size_t deepest = 0;
  std::vector<std::size_t> depth(tree.size(), 0);
  for (std::size_t i = 1; i < tree.size(); ++i) {
    depth[i] = depth[tree[i].parent] + 1;
    deepest = std::max(deepest, depth[i]);
    CHECK(tree[i].seconds >= 0);
  }
  CHECK(deepest <= TreeLimits{}.most_levels + 4);
}

TEST_CASE("a node of the autograd graph is called by its function", "[report][profile]") {
  CHECK(spoken_operator("torch::autograd::CppNode<harness::kernels::(anonymous "
                        "namespace)::ConvBlockFunction>") == "ConvBlockFunction (node)");
  CHECK(spoken_operator("torch::autograd::CppNode<Plain>") == "Plain (node)");
  CHECK(spoken_operator("torch::autograd::CppNode<>") == "torch::autograd::CppNode<>");
  CHECK(spoken_operator("aten::add_") == "aten::add_");
}
