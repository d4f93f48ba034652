#include "workloads/checkpoint/pickle_names.hpp"

#include <fmt/format.h>

#include <array>

namespace harness::workloads {
namespace {

using Kind = PickleValue::Kind;

// _rebuild_tensor_v2 takes seven.
constexpr std::size_t kMaxArguments = 8;

enum class Role {
  kOrderedDict,
  kTensor,     ///< (storage, offset, shape, strides, ...)
  kParameter,  ///< (tensor, requires_grad, hooks)
  kStorage,
  kOpaque,
};

struct Name {
  std::string_view module;
  std::string_view name;
  Role role;
  DType dtype = DType::kUntyped;  ///< of a storage
};

// Opaque names turn up beside the weights in training checkpoints (options, schedulers); they carry
// data only and are read over. Everything else that a pickle could name is refused.
constexpr std::array kNames = {
    Name{"collections", "OrderedDict", Role::kOrderedDict},
    Name{"torch._utils", "_rebuild_tensor_v2", Role::kTensor},
    Name{"torch._utils", "_rebuild_tensor", Role::kTensor},
    Name{"torch._utils", "_rebuild_parameter", Role::kParameter},
    Name{"torch", "DoubleStorage", Role::kStorage, DType::kFloat64},
    Name{"torch", "FloatStorage", Role::kStorage, DType::kFloat32},
    Name{"torch", "HalfStorage", Role::kStorage, DType::kFloat16},
    Name{"torch", "BFloat16Storage", Role::kStorage, DType::kBFloat16},
    Name{"torch", "LongStorage", Role::kStorage, DType::kInt64},
    Name{"torch", "IntStorage", Role::kStorage, DType::kInt32},
    Name{"torch", "ShortStorage", Role::kStorage, DType::kInt16},
    Name{"torch", "CharStorage", Role::kStorage, DType::kInt8},
    Name{"torch", "ByteStorage", Role::kStorage, DType::kUInt8},
    Name{"torch", "BoolStorage", Role::kStorage, DType::kBool},
    Name{"torch.storage", "UntypedStorage", Role::kStorage},
    Name{"torch.storage", "TypedStorage", Role::kStorage},
    Name{"torch", "Size", Role::kOpaque},
    Name{"torch", "device", Role::kOpaque},
    Name{"torch", "float64", Role::kOpaque},
    Name{"torch", "float32", Role::kOpaque},
    Name{"torch", "float16", Role::kOpaque},
    Name{"torch", "bfloat16", Role::kOpaque},
    Name{"torch", "int64", Role::kOpaque},
    Name{"collections", "Counter", Role::kOpaque},
    Name{"argparse", "Namespace", Role::kOpaque},
};

const Name& name_of(PickleValue global) {
  if (global.kind != Kind::kGlobal) throw BadFile(pickle_trouble::kNoName);
  return kNames.at(static_cast<std::size_t>(global.number));
}

PickleValue make_dict(const std::vector<PickleValue>& arguments, PickleHeap& heap) {
  std::vector<PickleValue> entries;
  if (!arguments.empty()) {
    // Python 2 wrote OrderedDict([[key, value], ...]).
    if (arguments.size() != 1 || arguments[0].kind != Kind::kList) {
      throw BadFile("is damaged: an OrderedDict of something that is no list");
    }
    for (const PickleValue pair : heap.sequences[static_cast<std::size_t>(arguments[0].number)]) {
      const bool sequence = pair.kind == Kind::kList || pair.kind == Kind::kTuple;
      if (!sequence || heap.sequences[static_cast<std::size_t>(pair.number)].size() != 2) {
        throw BadFile("is damaged: an OrderedDict entry that is no pair");
      }
      const auto& items = heap.sequences[static_cast<std::size_t>(pair.number)];
      heap.charge(2);
      entries.insert(entries.end(), items.begin(), items.end());
    }
  }
  heap.sequences.push_back(std::move(entries));
  return {Kind::kDict, static_cast<std::int64_t>(heap.sequences.size() - 1)};
}

std::vector<std::int64_t> integers(PickleValue tuple, const PickleHeap& heap) {
  if (tuple.kind != Kind::kTuple && tuple.kind != Kind::kList) {
    throw BadFile("is damaged: a tensor's shape is no tuple");
  }
  std::vector<std::int64_t> numbers;
  for (const PickleValue item : heap.sequences[static_cast<std::size_t>(tuple.number)]) {
    if (item.kind != Kind::kInt) throw BadFile("is damaged: a tensor's shape is not of integers");
    numbers.push_back(item.number);
    // check_view() refuses this many; stop before a hostile file makes us copy millions.
    if (numbers.size() > 100) break;
  }
  return numbers;
}

PickleValue make_tensor(const std::vector<PickleValue>& arguments, PickleHeap& heap) {
  if (arguments.size() < 4 || arguments[0].kind != Kind::kStorage ||
      arguments[1].kind != Kind::kInt) {
    throw BadFile(pickle_trouble::kNoTensor);
  }
  const auto storage = static_cast<std::size_t>(arguments[0].number);
  const StorageRef& ref = heap.storages[storage];
  FileTensor tensor{ref.dtype, integers(arguments[2], heap), integers(arguments[3], heap), storage,
                    arguments[1].number};
  check_view(tensor, ref.view_numel);
  tensor.offset += ref.view_offset;
  heap.tensors.push_back(std::move(tensor));
  return {Kind::kTensor, static_cast<std::int64_t>(heap.tensors.size() - 1)};
}

}  // namespace

PickleValue allowed_global(std::string_view module, std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i].module == module && kNames[i].name == name) {
      return {Kind::kGlobal, static_cast<std::int64_t>(i)};
    }
  }
  throw BadFile(fmt::format("names {}.{}, which is not part of a plain tensor dictionary; nothing "
                            "was executed",
                            plain_ascii(module), plain_ascii(name)),
                "write it with torch.save(model.state_dict(), FILE)");
}

PickleValue reduce(PickleValue callable, PickleValue arguments, PickleHeap& heap) {
  const Name& name = name_of(callable);
  if (arguments.kind != Kind::kTuple) throw BadFile("is damaged: call arguments are no tuple");
  if (name.role == Role::kOpaque) return {Kind::kOpaque, 0};
  if (heap.sequences[static_cast<std::size_t>(arguments.number)].size() > kMaxArguments) {
    throw BadFile("is damaged: a call with too many arguments");
  }
  // A copy: the tables grow below.
  const std::vector<PickleValue> items = heap.sequences[static_cast<std::size_t>(arguments.number)];
  switch (name.role) {
    case Role::kOrderedDict:
      return make_dict(items, heap);
    case Role::kTensor:
      return make_tensor(items, heap);
    case Role::kParameter:
      if (items.empty() || items[0].kind != Kind::kTensor) {
        throw BadFile("is damaged: a parameter without a tensor");
      }
      return items[0];
    case Role::kOpaque:
    case Role::kStorage:
      break;
  }
  throw BadFile(fmt::format("builds a {}.{} in a way that no tensor dictionary does", name.module,
                            name.name));
}

PickleValue persistent_storage(PickleValue id, PickleHeap& heap) {
  const BadFile damaged(pickle_trouble::kNoStorage);
  if (id.kind != Kind::kTuple) throw damaged;
  const auto& items = heap.sequences[static_cast<std::size_t>(id.number)];
  if (items.size() < 5 || heap.text(items[0]) != "storage" || items[1].kind != Kind::kGlobal ||
      items[2].kind != Kind::kText || items[4].kind != Kind::kInt) {
    throw damaged;
  }
  const Name& type = name_of(items[1]);
  const std::int64_t numel = items[4].number;
  std::int64_t bytes = 0;
  if (type.role != Role::kStorage || numel < 0 ||
      __builtin_mul_overflow(numel, element_size(type.dtype), &bytes)) {
    throw damaged;
  }
  StorageRef ref{heap.text(items[2]), type.dtype, numel, 0, numel};
  if (items.size() > 5 && items[5].kind == Kind::kTuple) {
    // Old files: (key of the view, offset, size), a part of the storage under `key`.
    const auto& view = heap.sequences[static_cast<std::size_t>(items[5].number)];
    if (view.size() != 3 || view[1].kind != Kind::kInt || view[2].kind != Kind::kInt ||
        view[1].number < 0 || view[2].number < 0 || view[1].number > numel ||
        view[2].number > numel - view[1].number) {
      throw damaged;
    }
    ref.view_offset = view[1].number;
    ref.view_numel = view[2].number;
  }
  heap.storages.push_back(ref);
  return {Kind::kStorage, static_cast<std::int64_t>(heap.storages.size() - 1)};
}

}  // namespace harness::workloads
