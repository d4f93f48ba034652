// COCO-format annotations, data folders and manifests; every kind of bad input.
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "harness/base/error.hpp"
#include "harness/base/hash.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/data/annotations.hpp"
#include "workloads/data/data_source.hpp"
#include "workloads/data/manifest.hpp"

namespace fs = std::filesystem;
using namespace harness;             // NOLINT(google-build-using-namespace)
using namespace harness::workloads;  // NOLINT(google-build-using-namespace)

namespace {

void write(const fs::path& path, const std::string& content) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
}

const char* const kImages =
    R"([{"id": 7, "file_name": "a.png", "width": 100, "height": 50, "license": 1},
        {"id": 3, "file_name": "sub/b.png", "width": 10, "height": 20}])";
const char* const kCategories = R"([{"id": 0, "name": "cat"}, {"id": 1, "name": "dog"}])";

std::string coco(const std::string& annotations, const std::string& images = kImages,
                 const std::string& categories = kCategories) {
  return "{\"info\": {\"deep\": [[1, {\"images\": []}]]}, \"annotations\": " + annotations +
         ", \"images\": " + images + ", \"categories\": " + categories + "}";
}

std::string box(const std::string& bbox, int image = 7, int category = 1, int crowd = 0) {
  return "{\"id\": 1, \"image_id\": " + std::to_string(image) +
         ", \"category_id\": " + std::to_string(category) + ", \"bbox\": " + bbox +
         ", \"segmentation\": [[1.5, 2, 3]], \"iscrowd\": " + std::to_string(crowd) + "}";
}

AnnotationSet read(const std::string& text, const AnnotationPolicy& policy = {}) {
  const TemporaryFolder folder;
  write(folder / "a.json", text);
  return read_annotations(folder / "a.json", folder.path(), policy, {});
}

/// How a file of this text is refused.
ErrorParts refusal(const std::string& text, const AnnotationPolicy& policy = {}) {
  const ErrorParts found = refusal_of([&] { read(text, policy); });
  CHECK(found.about.ends_with("/a.json"));
  return found;
}

ErrorParts refusal_of_folder(const fs::path& folder) {
  return refusal_of([&] { open_data_folder(folder, 264, {}); });
}

/// The smallest PNG: one pixel.
std::string pixel_png() { return encode_png({1, 1, {1, 2, 3}}); }

/// A data folder of the plain layout with one image a split.
void write_plain_folder(const fs::path& folder) {
  const std::string text = coco("[" + box("[0, 0, 1, 1]") + "]",
                                R"([{"id": 7, "file_name": "a.png", "width": 1, "height": 1}])");
  for (const char* split : {"train", "eval"}) {
    write(folder / (std::string(split) + ".json"), text);
    write(folder / split / "a.png", pixel_png());
  }
}

}  // namespace

TEST_CASE("a COCO file becomes compact records in the file's order", "[data]") {
  const AnnotationSet set =
      read(coco("[" + box("[1, 2, 30, 40]") + "," + box("[0, 0, 5.5, 6]", 3, 0) + "," +
                box("[90, 40, 20, 20]", 7, 0, 1) + "]"));
  REQUIRE(set.images.size() == 2);
  CHECK(set.images[0].file_name == "a.png");
  CHECK(set.images[1].file_name == "sub/b.png");
  REQUIRE(set.boxes_of(set.images[0]).size() == 2);
  const Box first = set.boxes_of(set.images[0])[0];
  CHECK((first.x1 == 1 && first.y1 == 2 && first.x2 == 31 && first.y2 == 42));
  const Box clamped = set.boxes_of(set.images[0])[1];
  CHECK((clamped.x1 == 90 && clamped.y1 == 40 && clamped.x2 == 100 && clamped.y2 == 50));
  CHECK(set.labels == std::vector<std::int32_t>{1, 0, 0});
  CHECK(set.crowd == std::vector<std::uint8_t>{0, 1, 0});
  CHECK(set.report.boxes_clamped == 1);
  CHECK(set.report.boxes_kept == 3);
  CHECK_FALSE(set.report.categories_renumbered);
  CHECK(set.categories[1].name == "dog");
}

TEST_CASE("boxes that are no boxes are dropped and counted", "[data]") {
  const AnnotationSet set = read(coco("[" + box("[1, 1, 0, 5]") + "," + box("[1, 1, -4, 5]") + "," +
                                      box("[200, 1, 5, 5]") + "," + box("[null, 1, 5, 5]") + "," +
                                      box("[1, 1, 1e300, 5]") + "," + box("[1, 1, 5, 5]") + "]"));
  CHECK(set.report.boxes_read == 6);
  CHECK(set.report.boxes_kept == 1);
  CHECK(set.report.dropped_degenerate == 3);
  CHECK(set.report.dropped_not_finite == 2);
  CHECK(set.report.images_without_boxes == 1);
  CHECK(set.images.size() == 2);
}

TEST_CASE("the COCO policy drops groups and images without boxes", "[data]") {
  const std::string text =
      coco("[" + box("[1, 1, 5, 5]", 7, 1, 1) + "," + box("[1, 1, 5, 5]", 3) + "]");
  const AnnotationSet set =
      read(text, {.num_classes = 264, .keep_crowd = false, .keep_empty_images = false});
  REQUIRE(set.images.size() == 1);
  CHECK(set.images[0].id == 3);
  CHECK(set.boxes_of(set.images[0]).size() == 1);
  CHECK(set.report.dropped_crowd == 1);
}

TEST_CASE("sparse category ids become ranks, and too many are refused", "[data]") {
  const char* sparse = R"([{"id": 90, "name": "z"}, {"id": 1, "name": "a"}])";
  const AnnotationSet set = read(coco("[" + box("[1, 1, 5, 5]", 7, 90) + "]", kImages, sparse));
  CHECK(set.report.categories_renumbered);
  CHECK(set.labels == std::vector<std::int32_t>{1});
  CHECK(set.categories[1].id == 90);
  const ErrorParts found = refusal(coco("[" + box("[1, 1, 5, 5]") + "]"), {.num_classes = 1});
  for (const char* what : {"2 categories", "1 classes"}) CHECK(found.names(what));
}

TEST_CASE("wrong ids and sizes are refused by name", "[data]") {
  const std::string twice = R"([{"id": 1, "file_name": "a", "width": 1, "height": 1},
                                {"id": 1, "file_name": "b", "width": 1, "height": 1}])";
  const std::vector<std::pair<std::string, const char*>> cases = {
      {coco("[" + box("[1, 1, 5, 5]", 8) + "]"), "annotations[0].image_id 8"},
      {coco("[" + box("[1, 1, 5, 5]", 7, 5) + "]"), "annotations[0].category_id 5"},
      {coco("[{\"bbox\": [1, 1, 5, 5], \"category_id\": 1}]"), "annotations[0].image_id"},
      {coco("[{\"image_id\": \"7\", \"category_id\": 1}]"), "annotations[0].image_id"},
      {coco("[" + box("[1, 1, 5]") + "]"), "annotations[0].bbox"},
      {coco("[" + box("[1, 1, 5, 5, 5]") + "]"), "annotations[0].bbox"},
      {coco("[" + box("[1, [1], 5, 5]") + "]"), "annotations[0].bbox"},
      {coco("[]", twice), "image id 1"},
      {coco("[]", R"([{"id": 1, "file_name": "a", "width": 0, "height": 1}])"), "size 0x1"},
      {coco("[]", R"([{"id": 1, "file_name": "a", "width": 5}])"), "images[0].height"},
      {coco("[]", kImages, R"([{"id": 1}, {"id": 1}])"), "category id 1"},
      {coco("[]", "[]"), "no images"}};
  for (const auto& [text, what] : cases) {
    CAPTURE(text);
    CHECK(refusal(text).names(what));
  }
}

TEST_CASE("file names that leave the folder are refused", "[data]") {
  for (const char* name :
       {"/etc/passwd", "../a.png", "x/../../a.png", "", "a\\u0000b", "a\\u001b[2J"}) {
    const std::string images =
        std::string(R"([{"id": 1, "width": 5, "height": 5, "file_name": ")") + name + "\"}]";
    CHECK(refusal(coco("[]", images)).names("the file name"));
  }
}

TEST_CASE("malformed annotation files are one error with the place", "[data]") {
  const std::string good = coco("[" + box("[1, 1, 5, 5]") + "]");
  const std::string nan = coco("[" + box("[NaN, 1, 5, 5]") + "]");
  const std::string infinity = coco("[" + box("[-Infinity, 1, 5, 5]") + "]");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "empty"},
      {good.substr(0, good.size() / 2), "malformed JSON at byte"},
      {good + "x", "malformed JSON at byte " + std::to_string(good.size() + 1)},
      {"\x89PNG\r\n", "malformed JSON at byte 1"},
      {nan, "NaN or Infinity"},
      {infinity, "NaN or Infinity"},
      {coco("[" + box("[1e999, 1, 5, 5]") + "]"), "the number 1e999 is too large"},
      {"[]", "is a list"},
      {"5", "is not an object"},
      {"{}", "no list \"images\""},
      {coco("{}"), "\"annotations\" is an object"},
      {coco("null"), "\"annotations\" is a plain value"},
      {coco("[5]"), "entry of \"annotations\""},
      {coco("[[]]"), "entry of \"annotations\""},
      {"{\"a\": " + std::string(100000, '['), "nested too deep"},
      {"{\"a\": \"" + std::string((1 << 20) + 100, 'x') + "\"}", "1 MiB"},
      {"{\"a\": " + std::string(5000, '1') + "}", "4096 digits"}};
  for (const auto& [text, what] : cases) {
    CAPTURE(what);
    CHECK(refusal(text).names(what));
  }
}

TEST_CASE("a million boxes on one image are refused, not matched", "[data]") {
  const TemporaryFolder folder;
  {
    std::ofstream out(folder / "a.json", std::ios::binary);
    out << R"({"images": [{"id": 7, "file_name": "a.png", "width": 100, "height": 100}],
               "categories": [{"id": 0, "name": "c"}], "annotations": [)";
    const std::string one = R"({"image_id":7,"category_id":0,"bbox":[1,1,5,5]})";
    for (int i = 0; i < 1'000'000; ++i) out << (i == 0 ? "" : ",") << one;
    out << "]}";
  }
  CHECK(refusal_of([&] {
          read_annotations(folder / "a.json", folder.path(), {}, {});
        }).names("image 7 has more than 10000 boxes"));
  // The same when the images come after the boxes.
  std::string many = box("[1, 1, 5, 5]");
  for (int i = 0; i < 10000; ++i) many += ",{\"image_id\":7,\"category_id\":0,\"bbox\":[1,1,5,5]}";
  CHECK(refusal(coco("[" + many + "]")).names("image 7 has more than 10000 boxes"));
}

TEST_CASE("reading annotations can be interrupted", "[data]") {
  const TemporaryFolder folder;
  write(folder / "a.json", coco("[" + std::string(3 << 20, ' ') + "]"));
  Preparation preparation;
  int calls = 0;
  preparation.interrupted = [&] {
    if (++calls == 2) throw Interrupted();
  };
  CHECK_THROWS_AS(read_annotations(folder / "a.json", folder.path(), {}, preparation), Interrupted);
}

TEST_CASE("a data folder is recognised by its annotation files", "[data]") {
  const TemporaryFolder folder;
  const fs::path root = folder / "d";
  const auto refusal_of_root = [&] { return refusal_of([&] { find_layout(root, 264); }); };
  CHECK_THAT(refusal_of_root(), is_about(root.string(), {"--data"}));
  write(root, "x");
  CHECK_THAT(refusal_of_root(), is_about(root.string(), {"not a folder"}));
  fs::remove(root);
  fs::create_directory(root);
  CHECK(refusal_of_root().names("empty"));
  write(root / "readme", "x");
  for (const char* known : {"train.json", "annotations", "openimages-mlperf.json"}) {
    CHECK(refusal_of_root().names(known));
  }
  write(root / "train.json", "{}");
  CHECK(refusal_of_root().about == (root / "eval.json").string());
  write(root / "eval.json", "{}");
  CHECK(refusal_of_root().about == (root / "train").string());
  fs::create_directories(root / "train");
  fs::create_directories(root / "eval");
  CHECK(find_layout(root, 264).name == "plain");

  const fs::path coco_root = folder / "coco";
  write(coco_root / "annotations" / "instances_train2017.json", "{}");
  write(coco_root / "annotations" / "instances_val2017.json", "{}");
  fs::create_directories(coco_root / "train2017");
  fs::create_directories(coco_root / "val2017");
  CHECK(find_layout(coco_root, 264).name == "coco");
  CHECK_FALSE(find_layout(coco_root, 264).policy.keep_crowd);

  const fs::path open_root = folder / "openimages";
  for (const char* split : {"train", "validation"}) {
    write(open_root / split / "labels" / "openimages-mlperf.json", "{}");
    fs::create_directories(open_root / split / "data");
  }
  CHECK(find_layout(open_root, 264).name == "openimages-mlperf");
  CHECK(find_layout(open_root, 264).policy.keep_empty_images);
}

TEST_CASE("a folder without a manifest is opened, and says that images were not hashed", "[data]") {
  const TemporaryFolder folder;
  write_plain_folder(folder.path());
  const DataSource source = open_data_folder(folder.path(), 264, {});
  CHECK(source.artifact.details.at("images_hashed") == "false");
  CHECK(source.artifact.details.at("train_boxes") == "1");
  REQUIRE(source.artifact.sha256);
  CHECK(load_image(source.train, 0).pixels == std::vector<std::uint8_t>{1, 2, 3});

  write(folder / "train" / "a.png", encode_png({2, 1, std::vector<std::uint8_t>(6)}));
  const std::string picture = (folder / "train" / "a.png").string();
  const auto refusal_of_image = [&] { return refusal_of([&] { load_image(source.train, 0); }); };
  CHECK(refusal_of_image().about == picture);
  for (const char* size : {"2x1", "1x1"}) CHECK(refusal_of_image().names(size));
  write(folder / "train" / "a.png", "GIF89a");
  CHECK_THAT(refusal_of_image(), is_about(picture, {"neither a JPEG nor a PNG"}));
  fs::remove(folder / "train" / "a.png");
  CHECK(refusal_of_folder(folder.path()).about == picture);
  REQUIRE(::mkfifo((folder / "train" / "a.png").c_str(), 0600) == 0);
  CHECK(refusal_of_folder(folder.path()).about == picture);
}

TEST_CASE("evaluation labels mean what training labels mean", "[data]") {
  const TemporaryFolder folder;
  write_plain_folder(folder.path());
  write(folder / "eval.json",
        coco("[]", R"([{"id": 7, "file_name": "a.png", "width": 1, "height": 1}])",
             R"([{"id": 0, "name": "dog"}, {"id": 1, "name": "cat"}])"));
  CHECK_THAT(refusal_of_folder(folder.path()),
             is_about((folder / "eval.json").string(), {"categories"}));
}

TEST_CASE("a manifest is believed only after every file was hashed", "[data]") {
  const TemporaryFolder folder;
  write_plain_folder(folder.path());
  Manifest manifest;
  manifest.dataset = "mine";
  for (const char* file : {"train.json", "eval.json", "train/a.png", "eval/a.png"}) {
    manifest.files[file] = sha256_of_file(folder / file);
  }
  write(folder / "manifest.json", to_json(manifest));
  const DataSource source = open_data_folder(folder.path(), 264, {});
  CHECK(source.artifact.name == "mine");
  CHECK(source.artifact.details.at("images_hashed") == "true");
  CHECK(source.artifact.sha256 == sha256_of_file(folder / "manifest.json"));

  const auto refusal_of_manifest = [&](const std::string& text) {
    write(folder / "manifest.json", text);
    return refusal_of_folder(folder.path());
  };
  const std::string file = (folder / "manifest.json").string();
  Manifest bad = manifest;
  bad.files["train/a.png"] = std::string(64, '0');
  CHECK(refusal_of_manifest(to_json(bad)).about == (folder / "train/a.png").string());
  for (const char* missing : {"eval/a.png", "train.json"}) {
    bad = manifest;
    bad.files.erase(missing);
    CHECK_THAT(refusal_of_manifest(to_json(bad)), is_about(file, {missing}));
  }
  for (const auto& [name, hash] :
       {std::pair{"../x", std::string(64, '0')}, std::pair{"train.json", std::string("123")}}) {
    bad = manifest;
    bad.files[name] = hash;
    CHECK_THAT(refusal_of_manifest(to_json(bad)), is_about(file, {name}));
  }
  CHECK(refusal_of_manifest(R"({"format": "harness-data/9"})").names("harness-data/9"));
  CHECK(refusal_of_manifest(std::string(100000, '[')).names("nested more than 64 deep"));
  write(folder / "manifest.json", R"({"name": "some web app"})");  // another program's
  CHECK(open_data_folder(folder.path(), 264, {}).artifact.details.at("images_hashed") == "false");
}
