// Several processes share the work of one run: how one of them, a rank, deals with the others.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/base/error.hpp"

namespace harness {

/// Another rank is gone, or did not answer in time. What it ended by is for others to say.
class LostRank : public Error {
 public:
  explicit LostRank(const std::string& why)
      : Error("ranks", why, "the other ranks stop, too", ExitCode::kAborted) {}
};

/// Where a rank finds the others.
struct RankPlace {
  int rank = 0;  ///< from 0
  int world = 1;
  std::string address = "127.0.0.1";  ///< of this machine, by which the others reach it
  /// What a rank tells the others of itself by a name, and asks of them; bytes of any kind. `get`
  /// waits until it is told.
  std::function<void(const std::string& name, const std::string& bytes)> put{};
  std::function<std::string(const std::string& name)> get{};
  /// After which a rank that does not come, or does not answer, counts as lost.
  double timeout_seconds = 600;
};

/// All ranks make the same calls in the same order. Each throws LostRank where one is gone.
class Ranks {
 public:
  virtual ~Ranks() = default;

  virtual int rank() const = 0;   ///< from 0
  virtual int world() const = 0;  ///< how many there are
  /// What carries the words from one to the other, with its version.
  virtual std::string engine() const = 0;
  /// What each rank has to say, by rank. Bytes of any kind and number.
  virtual std::vector<std::string> gather(const std::string& mine) = 0;
  /// From now on no other rank can be reached, and who waits for one throws LostRank. Made to be
  /// called in the handler of a signal.
  virtual void hang_up() noexcept = 0;
};

/// By rank.
std::vector<std::vector<double>> gather_numbers(Ranks& ranks, const std::vector<double>& mine);
/// The mean over the ranks of each of `mine`, the same bits on all; NaN where one rank has NaN.
std::vector<double> mean_over(Ranks& ranks, const std::vector<double>& mine);
/// Whether one of them says so.
bool any_of(Ranks& ranks, bool mine);
/// Throws Error, on all ranks, naming the first one whose `mine` is not what rank 0 has: "rank 2:
/// has other WHAT than rank 0".
void expect_same(Ranks& ranks, const std::string& what, const std::string& mine,
                 const std::string& hint);

/// What carries words between ranks: makes one rank of a world, and returns when all are there.
struct RankEngine {
  std::function<std::unique_ptr<Ranks>(const RankPlace&)> connect{};
  /// Why it is not to be had here, and what to do; empty: it is.
  std::function<std::string()> missing = [] { return std::string(); };
};

/// "gloo", "mpi". Throws Error for one that this program does not have.
const RankEngine& rank_engine(const std::string& name);

/// The registration line of an engine.
struct RegisterRankEngine {
  RegisterRankEngine(const std::string& name, RankEngine engine);
};

}  // namespace harness
