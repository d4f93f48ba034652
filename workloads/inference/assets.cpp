#include "workloads/inference/assets.hpp"

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <system_error>

#include "harness/base/error.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/json_reader.hpp"
#include "harness/base/text.hpp"

namespace harness::workloads {

namespace fs = std::filesystem;

namespace {

constexpr const char* kVariable = "HARNESS_ASSETS";
constexpr const char* kPutRightOne =
    "put the right one there, or unset HARNESS_ASSETS and run ./quickstart assets";

/// Empty where quickstart's own folder is meant.
std::string own_folder() {
  const char* const own = std::getenv(kVariable);
  return own == nullptr ? "" : own;
}

/// What assets.json says of `file`, which is there.
nlohmann::json asset_there(const std::string& file, const fs::path& home) {
  nlohmann::json asset = read_json_file(home / "workloads" / "inference" / "assets.json").at(file);
  std::error_code none;
  const std::string own = own_folder();
  if (!own.empty() && !fs::is_directory(own, none)) {
    throw Error(std::string(kVariable) + "=" + printable(own, 4096), "there is no such folder",
                "name the one that holds the weights, or unset it and run ./quickstart assets");
  }
  const fs::path path = assets_folder(home) / file;
  if (!fs::is_regular_file(path, none)) {
    throw Error(path.string(), fs::exists(path, none) ? "not a regular file" : "is not there",
                own.empty() ? "./quickstart assets takes it from the package " +
                                  asset.at("package").get<std::string>() +
                                  "; HARNESS_ASSETS=FOLDER is for people who have it already"
                            : kPutRightOne);
  }
  return asset;
}

}  // namespace

fs::path assets_folder(const fs::path& home) {
  const std::string own = own_folder();
  return own.empty() ? home / ".venv" / "assets" : fs::path(own);
}

void require_assets(const std::vector<std::string>& files, const fs::path& home) {
  for (const std::string& file : files) asset_there(file, home);
}

fs::path find_asset(const std::string& file, const fs::path& home) {
  const nlohmann::json asset = asset_there(file, home);
  fs::path path = assets_folder(home) / file;
  const std::string found = sha256_of_file(path);
  const std::string expected = asset.at("sha256");
  if (found != expected) {
    throw Error(path.string(), "is another file: its SHA-256 is " + found + ", not " + expected,
                own_folder().empty() ? "./quickstart assets gets the right one" : kPutRightOne);
  }
  return path;
}

}  // namespace harness::workloads
