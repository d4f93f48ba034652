// Results for other people: redacted, and each in its place in a results tree.
#pragma once

#include <string>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/result/redact.hpp"

namespace harness {

/// Writes each result among `paths` (files, or folders of them) without `names` to its place below
/// the folder `tree`, and says what was taken out. Throws Error, having written nothing, when any
/// of them is not sound (kUsage for one that is damaged or edited), no valid measurement
/// (kInvalid), or there already: the same run under any name.
ExitCode submit_results(const std::vector<std::string>& paths, const std::string& tree,
                        const PrivateNames& names);

/// Whether all that lies below `tree` is as submit_results() leaves it: sound and valid, in its
/// place, without anybody's home, each run there once. Throws Error when there is nothing.
ExitCode check_results_tree(const std::string& tree);

}  // namespace harness
