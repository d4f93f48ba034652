#include "workloads/inference/assets.hpp"

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <system_error>

#include "harness/base/error.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/json_reader.hpp"

namespace harness::workloads {

namespace fs = std::filesystem;

fs::path assets_folder(const fs::path& home) {
  const char* const own = std::getenv("HARNESS_ASSETS");
  return own != nullptr && *own != '\0' ? fs::path(own) : home / ".venv" / "assets";
}

fs::path find_asset(const std::string& file, const fs::path& home) {
  const nlohmann::json asset =
      read_json_file(home / "workloads" / "inference" / "assets.json").at(file);
  const fs::path path = assets_folder(home) / file;
  std::error_code none;
  if (!fs::is_regular_file(path, none)) {
    throw Error(path.string(), "is not there",
                "./quickstart assets takes it from the package " +
                    asset.at("package").get<std::string>() +
                    "; HARNESS_ASSETS=FOLDER is for people who have it already");
  }
  const std::string found = sha256_of_file(path);
  const std::string expected = asset.at("sha256");
  if (found != expected) {
    throw Error(path.string(), "is another file: its SHA-256 is " + found + ", not " + expected,
                "remove it, then ./quickstart assets");
  }
  return path;
}

}  // namespace harness::workloads
