// An implementation that is fast and wrong, for kernel_bench to find out.
#include "kernels/matcher/matcher.hpp"

namespace harness::kernels {
namespace {

at::Tensor match_nothing(const MatcherArguments& arguments) {
  return at::full({arguments.anchors.size(0)}, kBackground, at::kLong);
}

}  // namespace

const Register<MatcherFn> registered_matcher_wrong{
    matcher_operator(), {"wrong", "Calls everything background.", match_nothing}};

}  // namespace harness::kernels
