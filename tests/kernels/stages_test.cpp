// Parts of kernels' work are measured by whoever asks for them, and by nobody else.
#include "kernels/runtime/stages.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <string>

using harness::kernels::MeasuredStages;
using harness::kernels::Stage;

TEST_CASE("stages are measured by the clock that was handed down, as long as it is", "[stages]") {
  double now = 10;
  int reads = 0;
  std::map<std::string, double> sums;
  { const Stage before("pack"); }
  {
    const MeasuredStages measured(
        {[&] {
           ++reads;
           return now;
         },
         [&](const char* name, double seconds) { sums[name] += seconds; }});
    {
      const Stage convolution("convolution");
      now += 2;
      const Stage pack("pack");
      now += 1;
    }
    { const Stage again("pack"); }
  }
  { const Stage after("pack"); }
  CHECK(reads == 6);
  CHECK(sums == std::map<std::string, double>{{"convolution", 3}, {"pack", 1}});
}
