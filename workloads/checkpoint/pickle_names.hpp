// The names a pickle may refer to, and what each one builds.
#pragma once

#include <string_view>
#include <vector>

#include "workloads/checkpoint/pickle.hpp"

namespace harness::workloads {

/// The kGlobal value for `module.name`; throws BadFile when the name is not on the list.
PickleValue allowed_global(std::string_view module, std::string_view name);

/// What calling `callable` with the tuple `arguments` stands for (no call takes place).
PickleValue reduce(PickleValue callable, PickleValue arguments, PickleHeap& heap);

/// The storage that a persistent id stands for: ("storage", type, key, location, numel[, view]).
PickleValue persistent_storage(PickleValue id, PickleHeap& heap);

}  // namespace harness::workloads
