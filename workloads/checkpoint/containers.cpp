#include "workloads/checkpoint/containers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "harness/base/text.hpp"
#include "workloads/checkpoint/pickle.hpp"
#include "workloads/checkpoint/zip_archive.hpp"

namespace harness::workloads {
namespace {

using Kind = PickleValue::Kind;
using namespace std::string_view_literals;

constexpr std::size_t kMaxNameLength = 300;
constexpr std::uint64_t kMaxPickle = std::uint64_t{64} << 20;
// 0x1950a86a20f9469cfc6c, the number every old file begins with, as a pickled long.
constexpr std::string_view kMagic = "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"sv;
constexpr std::int64_t kLegacyProtocol = 1001;

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameLength &&
         std::all_of(name.begin(), name.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

/// Tensors by name in `dict`; values of other kinds and keys that are no text are left out.
std::map<std::string, FileTensor> tensors_in(const PickleHeap& heap, PickleValue dict) {
  std::map<std::string, FileTensor> tensors;
  const auto& items = heap.sequences[static_cast<std::size_t>(dict.number)];
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    if (items[i].kind != Kind::kText || items[i + 1].kind != Kind::kTensor) continue;
    const std::string_view name = heap.text(items[i]);
    expect_plain_name(name);
    tensors[std::string(name)] = heap.tensors[static_cast<std::size_t>(items[i + 1].number)];
  }
  return tensors;
}

std::map<std::string, FileTensor> pick_tensors(const PickleHeap& heap, PickleValue root) {
  if (root.kind == Kind::kDict) {
    std::vector<PickleValue> candidates = {root};
    for (const char* key : {"model", "state_dict", "model_state_dict"}) {
      if (const PickleValue* nested = heap.find(root, key);
          nested != nullptr && nested->kind == Kind::kDict) {
        candidates.push_back(*nested);
      }
    }
    for (const PickleValue candidate : candidates) {
      std::map<std::string, FileTensor> tensors = tensors_in(heap, candidate);
      if (tensors.empty()) continue;
      strip_data_parallel_prefix(tensors);
      return tensors;
    }
  }
  throw BadFile("holds no dictionary of tensors, neither by itself nor under model or state_dict",
                "write it with torch.save(model.state_dict(), FILE)");
}

std::uint64_t byte_size(const StorageRef& ref) {
  return static_cast<std::uint64_t>(ref.numel * element_size(ref.dtype));
}

/// Replaces each tensor's index into the heap's storages by the one that `place` gives for its key.
template <class Place>
void place_storages(std::map<std::string, FileTensor>& tensors, const PickleHeap& heap,
                    Place place) {
  std::map<std::string_view, std::size_t> placed;
  std::map<std::string_view, const StorageRef*> first;
  for (auto& [name, tensor] : tensors) {
    const StorageRef& ref = heap.storages[tensor.storage];
    const auto [entry, fresh] = first.emplace(ref.key, &ref);
    if (fresh) placed[ref.key] = place(ref);
    if (byte_size(*entry->second) != byte_size(ref)) {
      throw BadFile(fmt::format("is damaged: two sizes for storage {}", plain_ascii(ref.key)));
    }
    tensor.storage = placed[ref.key];
  }
}

void check_little_endian(bool little) {
  if (!little) {
    throw BadFile("was written on a big-endian machine", "save it again on a little-endian one");
  }
}

std::int64_t read_count(std::string_view content, std::size_t& position) {
  std::int64_t count = 0;
  if (content.size() - position < sizeof count) throw BadFile("ends before its last tensor");
  std::memcpy(&count, content.data() + position, sizeof count);
  position += sizeof count;
  return count;
}

/// The bytes of every storage in the order that `keys` lists them.
std::map<std::string_view, std::string_view> legacy_storages(std::string_view content,
                                                             std::size_t position,
                                                             const PickleHeap& heap,
                                                             PickleValue keys) {
  if (keys.kind != Kind::kList) throw BadFile("is damaged: no list of storage keys");
  std::map<std::string_view, const StorageRef*> known;
  for (const StorageRef& ref : heap.storages) known.emplace(ref.key, &ref);
  std::map<std::string_view, std::string_view> storages;
  for (const PickleValue item : heap.sequences[static_cast<std::size_t>(keys.number)]) {
    const std::string_view key = heap.text(item);
    const auto ref = known.find(key);
    if (item.kind != Kind::kText || ref == known.end()) {
      throw BadFile("is damaged: it lists a storage that no tensor uses");
    }
    const std::int64_t count = read_count(content, position);
    if (count != ref->second->numel) {
      throw BadFile(fmt::format("is damaged: {} elements announced for a storage of {}",
                                ref->second->numel, count));
    }
    const std::uint64_t size = byte_size(*ref->second);
    if (size > content.size() - position) throw BadFile("ends before its last tensor");
    if (!storages.emplace(key, content.substr(position, size)).second) {
      throw BadFile("is damaged: it lists a storage twice");
    }
    position += size;
  }
  return storages;
}

}  // namespace

void expect_plain_name(std::string_view name) {
  if (is_plain_name(name)) return;
  throw BadFile(fmt::format("names a tensor {}, which is no plain name", plain_ascii(name)));
}

void strip_data_parallel_prefix(std::map<std::string, FileTensor>& tensors) {
  constexpr std::string_view kPrefix = "module.";
  const bool all = std::all_of(tensors.begin(), tensors.end(), [&](const auto& entry) {
    return entry.first.starts_with(kPrefix) && entry.first.size() > kPrefix.size();
  });
  if (!all) return;
  std::map<std::string, FileTensor> stripped;
  for (auto& [name, tensor] : tensors) {
    stripped.emplace(name.substr(kPrefix.size()), std::move(tensor));
  }
  tensors = std::move(stripped);
}

Contents read_zip_container(std::string_view content) {
  ZipArchive archive(content);
  const std::optional<std::string> pickle_name = archive.find_suffix("/data.pkl");
  if (!pickle_name) {
    throw BadFile("is a zip archive without data.pkl, not a file of torch.save()");
  }
  const std::string prefix = pickle_name->substr(0, pickle_name->size() - "data.pkl"sv.size());
  if (archive.contains(prefix + "constants.pkl")) {
    throw BadFile("is a TorchScript program, not a tensor dictionary",
                  "write it with torch.save(model.state_dict(), FILE)");
  }
  if (archive.contains(prefix + "byteorder")) {
    check_little_endian(trim(archive.read(prefix + "byteorder", 16)) == "little");
  }
  const std::string pickle = archive.read(*pickle_name, kMaxPickle);
  PickleHeap heap;
  std::size_t position = 0;
  const PickleValue root = run_pickle(pickle, position, heap);
  Contents contents;
  contents.tensors = pick_tensors(heap, root);
  place_storages(contents.tensors, heap, [&](const StorageRef& ref) {
    const std::string name = prefix + "data/" + std::string(ref.key);
    auto bytes = std::make_unique<const std::string>(archive.read(name, byte_size(ref)));
    if (bytes->size() != byte_size(ref)) {
      throw BadFile(fmt::format("is damaged: {} bytes in its entry {}, {} expected", bytes->size(),
                                plain_ascii(name), byte_size(ref)));
    }
    contents.storages.emplace_back(*bytes);
    contents.owned.push_back(std::move(bytes));
    return contents.storages.size() - 1;
  });
  return contents;
}

bool looks_like_legacy(std::string_view content) {
  // PROTO n, LONG1 of ten bytes; or, in protocol 4 and up, a FRAME (nine bytes) in between.
  return content.size() > 1 && content[0] == '\x80' &&
         content.substr(0, 2 + 9 + 2 + kMagic.size()).find(kMagic) != std::string_view::npos;
}

Contents read_legacy_container(std::string_view content) {
  PickleHeap heap;
  std::size_t position = 0;
  const PickleValue magic = run_pickle(content, position, heap);
  if (magic.kind != Kind::kLong || heap.texts[static_cast<std::size_t>(magic.number)] != kMagic) {
    throw BadFile("is not a file of torch.save(): its magic number is missing");
  }
  const PickleValue protocol = run_pickle(content, position, heap);
  if (protocol.kind != Kind::kInt || protocol.number != kLegacyProtocol) {
    throw BadFile("is written in another version of the old PyTorch format than 1001");
  }
  const PickleValue system = run_pickle(content, position, heap);
  const PickleValue* little = heap.find(system, "little_endian");
  if (little == nullptr || little->kind != Kind::kBool) {
    throw BadFile("is damaged: it does not say its byte order");
  }
  check_little_endian(little->number == 1);
  const PickleValue root = run_pickle(content, position, heap);
  const PickleValue keys = run_pickle(content, position, heap);
  const auto storages = legacy_storages(content, position, heap, keys);
  Contents contents;
  contents.tensors = pick_tensors(heap, root);
  place_storages(contents.tensors, heap, [&](const StorageRef& ref) {
    const auto found = storages.find(ref.key);
    if (found == storages.end()) {
      throw BadFile(fmt::format("is damaged: storage {} is missing", plain_ascii(ref.key)));
    }
    contents.storages.push_back(found->second);
    return contents.storages.size() - 1;
  });
  return contents;
}

}  // namespace harness::workloads
