// Operators and their implementations. An operator is a typed function; each implementation
// registers itself by one line at the end of its file:
//   const Register<FocalLossFn> registered{focal_loss_operator(), {"custom", "...", custom,
//   supported}};
#pragma once

#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace harness::kernels {

/// For each operator the implementation that is chosen, e.g. {"focal-loss", "reference"}.
using Selection = std::map<std::string, std::string>;

/// Whether an implementation can run on this machine, and if not, why.
struct Support {
  bool ok = true;
  std::string reason{};
};

inline Support always_supported() { return {}; }

/// An implementation without its type.
struct ImplementationSummary {
  std::string name{};
  std::string summary{};  ///< one sentence
  Support support{};      ///< on this machine, now
  bool tuned = false;     ///< follows a table of what was measured
};

/// An operator without its type: what `list` shows.
class OperatorBase {
 public:
  /// Adds itself to operators(); throws std::logic_error for a name that is taken.
  OperatorBase(std::string name, std::string summary);
  virtual ~OperatorBase();
  OperatorBase(const OperatorBase&) = delete;
  OperatorBase& operator=(const OperatorBase&) = delete;

  const std::string& name() const { return name_; }
  const std::string& summary() const { return summary_; }
  /// `reference` first, then by name.
  virtual std::vector<ImplementationSummary> implementations() const = 0;

 private:
  std::string name_;
  std::string summary_;
};

/// All operators, sorted by name.
std::vector<const OperatorBase*> operators();

/// Throws std::invalid_argument when `selection` names an operator or implementation that does not
/// exist, or an implementation that this machine cannot run.
void check_selection(const Selection& selection);

template <class Function>
struct Implementation {
  std::string name{};
  std::string summary{};  ///< one sentence
  Function* function = nullptr;
  Support (*supported)() = always_supported;
  bool tuned = false;  ///< follows a table of what was measured
};

template <class Function>
class Operator final : public OperatorBase {
 public:
  using OperatorBase::OperatorBase;

  /// Throws std::logic_error for a name that is taken.
  void add(Implementation<Function> implementation) {
    const std::string key = implementation.name;
    if (!implementations_.emplace(key, std::move(implementation)).second) {
      throw std::logic_error("implementation registered twice: " + name() + "=" + key);
    }
  }

  /// Throws std::invalid_argument when there is no such implementation, or it cannot run here.
  Function* get(const std::string& implementation) const {
    const auto found = implementations_.find(implementation);
    if (found == implementations_.end()) {
      std::string known;
      for (const auto& [key, value] : implementations_) known += (known.empty() ? "" : ", ") + key;
      throw std::invalid_argument("operator " + name() + " has no implementation '" +
                                  implementation + "'; known: " + known);
    }
    const Support support = found->second.supported();
    if (!support.ok) {
      throw std::invalid_argument(name() + "=" + implementation +
                                  " cannot run on this machine: " + support.reason);
    }
    return found->second.function;
  }

  /// The implementation that `selection` names for this operator; `reference` when it names none.
  Function* select(const Selection& selection) const {
    const auto chosen = selection.find(name());
    return get(chosen == selection.end() ? "reference" : chosen->second);
  }

  std::vector<ImplementationSummary> implementations() const override {
    std::vector<ImplementationSummary> summaries;
    for (const auto& [key, value] : implementations_) {
      const auto place = key == "reference" ? summaries.begin() : summaries.end();
      summaries.insert(place, {value.name, value.summary, value.supported(), value.tuned});
    }
    return summaries;
  }

 private:
  std::map<std::string, Implementation<Function>> implementations_;
};

/// The registration line.
template <class Function>
struct Register {
  Register(Operator<Function>& target, Implementation<Function> implementation) {
    target.add(std::move(implementation));
  }
};

}  // namespace harness::kernels
