#include "workloads/data/labelled_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <string>
#include <system_error>

#include "harness/base/error.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/number.hpp"
#include "harness/base/text.hpp"
#include "workloads/data/image.hpp"

namespace harness::workloads {
namespace {

namespace fs = std::filesystem;

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

bool is_picture(const fs::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return extension == ".jpg" || extension == ".jpeg" || extension == ".png";
}

/// What lies in `folder`, by name.
std::vector<fs::path> sorted(const fs::path& folder) {
  std::error_code failed;
  std::vector<fs::path> paths;
  for (fs::directory_iterator entry(folder, failed); !failed && entry != fs::directory_iterator();
       entry.increment(failed)) {
    if (!is_hidden(entry->path())) paths.push_back(entry->path());
  }
  if (failed) throw Error(printable(folder.string()), failed.message());
  std::sort(paths.begin(), paths.end());
  return paths;
}

bool is_number(const std::string& name) {
  return std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

std::optional<std::int64_t> number_below(const std::string& name, std::int64_t classes) {
  const auto number = is_number(name) ? parse_integer(name) : std::nullopt;
  return number && *number < classes ? number : std::nullopt;
}

/// Folders by their classes.
std::map<std::int64_t, fs::path> class_folders(const fs::path& root, std::int64_t classes) {
  std::error_code none;
  if (!fs::is_directory(root, none))
    throw Error("--data " + printable(root.string()), "is no folder");
  std::vector<fs::path> folders = sorted(root);
  std::erase_if(folders, [&](const fs::path& path) { return !fs::is_directory(path, none); });
  std::map<std::int64_t, fs::path> by_class;
  for (const fs::path& folder : folders) {
    const auto number = number_below(folder.filename().string(), classes);
    if (!number) break;
    if (!by_class.emplace(*number, folder).second) {
      throw Error(printable(folder.string()), fmt::format("is class {} a second time", *number));
    }
  }
  if (!folders.empty() && by_class.size() == folders.size()) return by_class;
  by_class.clear();
  const auto numbered = std::find_if(folders.begin(), folders.end(), [](const fs::path& path) {
    return is_number(path.filename().string());
  });
  if (numbered != folders.end()) {
    const auto odd = std::find_if(folders.begin(), folders.end(), [&](const fs::path& path) {
      return !number_below(path.filename().string(), classes);
    });
    throw Error(printable(odd->string()),
                fmt::format("is called by no class, 0 to {}, as others are", classes - 1),
                "classes are numbered from 0");
  }
  if (std::ssize(folders) != classes) {
    throw Error(
        printable(root.string()),
        fmt::format("has {}, but the classes are {}", format_count(std::ssize(folders), "folder"),
                    classes),
        "one folder for each class, named in the classes' order (as ImageNet's synsets), or "
        "folders named by the classes' numbers from 0");
  }
  for (const fs::path& folder : folders) by_class.emplace(std::ssize(by_class), folder);
  return by_class;
}

}  // namespace

LabelledFolder read_labelled_folder(const fs::path& root, std::int64_t classes,
                                    const Preparation& preparation) {
  LabelledFolder folder{root, {}, ""};
  std::error_code none;
  for (const auto& [label, place] : class_folders(root, classes)) {
    const std::size_t before = folder.pictures.size();
    for (const fs::path& path : sorted(place)) {
      if (!is_picture(path)) {
        throw Error(printable(path.string()), "is no picture", "only .jpg, .jpeg and .png are");
      }
      if (!fs::is_regular_file(path, none)) {
        throw Error(printable(path.string()), "not a regular file");
      }
      folder.pictures.push_back({path.lexically_relative(root), label});
    }
    if (folder.pictures.size() == before) {
      throw Error(printable(place.string()), "has no picture");
    }
  }
  std::vector<std::string> hashes(folder.pictures.size());
  parallel_for(hashes.size(), "hashing pictures", preparation, [&](std::size_t i) {
    const fs::path file = root / folder.pictures[i].file;
    require_picture(file);  // most of them are decoded only when the run is almost over
    hashes[i] = sha256_of_file(file);
  });
  std::string all;
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    const LabelledPicture& picture = folder.pictures[i];
    all += fmt::format("{} {} {}\n", hashes[i], picture.label, picture.file.string());
  }
  folder.sha256 = sha256_hex(all);
  return folder;
}

}  // namespace harness::workloads
