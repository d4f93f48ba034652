#include "workloads/data/scene_set.hpp"

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"

namespace harness::workloads {
namespace {

constexpr const char* kFashionMnistSha256 =
    "ca3ab2a37f845e1b8ae23cab1b51749a3011ba3bf1d9016176d75cbaabac376f";

SceneSet full() {
  SceneSet set;
  set.name = "full";
  set.width = 1024;
  set.height = 768;
  set.train_count = 256;
  set.eval_count = 64;
  set.min_items = 1;
  set.max_items = 8;
  set.min_side = 768 * 11 / 64;
  set.max_side = 768 / 2;
  set.frozen_train = {"7dd53e4123019f5c78cdd9150bd199df7e11a9478e10b2367c519091dd08e0fe",
                      "b2bed39242f49922827cb512afb67e54c2d295aa88633af2e26008a6d9367e27",
                      "feddfa34ad7b19ddbf1a434e5239b1b9e4f32acb6cbf8f14310d1bfd195f36c4"};
  set.frozen_eval = {"cd599862066bec5d250cdf1651642f1c0ccf2d14cf39ee8eb3c160c38688fbd1",
                     "285db2a8a86e33f87867c3271eafb8cb982d556132792e21e77bdaa3ddbd1a7b",
                     "e0472c4246eeb6a0269de638434a5919e1441d51297a94558c60f634a62b0a1a"};
  set.source_sha256 = kFashionMnistSha256;
  return set;
}

SceneSet mini() {
  SceneSet set;
  set.name = "mini";
  set.width = 128;
  set.height = 128;
  set.train_count = 3000;
  set.eval_count = 400;
  set.min_items = 1;
  set.max_items = 6;
  set.min_side = 22;
  set.max_side = 63;
  set.frozen_train = {"4fa1220fbaf0bafc5cb7c19b4b08bdddc50c1a3618b89b6364387aafe868ded5",
                      "24c16c11b24f15cd5b5465e292c0fe33e6cd130cca1305eb61fc3bcb3da4d2fb",
                      "1cf740db8faeb3faa48cbdf3ebb9e9d252b68ac3eda09327f19cc213809d2c0a"};
  set.frozen_eval = {"22f6e2832632c39724d65bee62423e17221df660efbd917944f9629f62e855d8",
                     "4e7a5b3b06286639f3e4ae805b9e475af1630305e89d1feca9764255bd0428cc",
                     "e31b80db2992015948fbe8ef711122903dfaa67fba8d719314fcc1424d1d5dea"};
  set.source_sha256 = kFashionMnistSha256;
  return set;
}

}  // namespace

const char* to_string(SceneSplit split) { return split == SceneSplit::kTrain ? "train" : "eval"; }

const std::vector<SceneSet>& scene_sets() {
  static const std::vector<SceneSet> sets = {full(), mini()};
  return sets;
}

const SceneSet& scene_set(const std::string& name) {
  std::vector<std::string> names;
  for (const SceneSet& set : scene_sets()) {
    if (set.name == name) return set;
    names.push_back(set.name);
  }
  throw Error("scene set " + printable(name), "unknown", did_you_mean(name, names));
}

}  // namespace harness::workloads
