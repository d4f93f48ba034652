// What ranks say to each other, and how their gradients become one. Each rank is a thread here.
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <exception>
#include <functional>
#include <limits>
#include <thread>

#include "harness/workload/ranks.hpp"
#include "tests/support/meeting_point.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/distributed/gradient_sum.hpp"
#include "workloads/distributed/torch_ranks.hpp"
#include "workloads/retinanet/golden.hpp"

using namespace harness;             // NOLINT(google-build-using-namespace)
using namespace harness::workloads;  // NOLINT(google-build-using-namespace)

namespace {

/// `work` on each rank of a world; the first exception that it throws comes out.
void on_all(int world, const std::function<void(TorchRanks&)>& work, double timeout = 60) {
  MeetingPoint meeting;
  std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(world));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < world; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        const auto ranks = rank_engine("gloo").connect(meeting.place(rank, world, timeout));
        work(*torch_ranks(ranks.get()));
      } catch (...) {
        thrown[static_cast<std::size_t>(rank)] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& one : thrown) {
    if (one) std::rethrow_exception(one);
  }
}

/// Catch's own checks are for one thread.
void must(bool holds) {
  if (!holds) throw std::logic_error("what a rank was to see did not hold");
}

at::Tensor parameter(const at::Tensor& values) {
  at::Tensor tensor = values.clone();
  tensor.requires_grad_(true);
  return tensor;
}

}  // namespace

TEST_CASE("ranks hear what each of them says, whatever its length", "[ranks]") {
  on_all(3, [](Ranks& ranks) {
    must(ranks.engine().find("gloo") == 0);
    for (const std::size_t length : {0, 1, 247, 248, 249, 255, 256, 257, 100'000}) {
      // Lengths differ, and one byte of each is a zero.
      const auto words = [&](int rank) {
        std::string text(length + static_cast<std::size_t>(rank), static_cast<char>('a' + rank));
        if (!text.empty()) text[text.size() / 2] = '\0';
        return text;
      };
      const std::vector<std::string> all = ranks.gather(words(ranks.rank()));
      must(all.size() == 3);
      for (int rank = 0; rank < 3; ++rank) must(all[static_cast<std::size_t>(rank)] == words(rank));
    }
  });
}

TEST_CASE("ranks decide together", "[ranks]") {
  on_all(3, [](Ranks& ranks) {
    must(!any_of(ranks, false));
    must(any_of(ranks, ranks.rank() == 2));
    const std::vector<double> mean = mean_over(ranks, {1.0 * ranks.rank(), 0.1, 1e300});
    must(mean == std::vector<double>{1, (0.1 + 0.1 + 0.1) / 3, (1e300 + 1e300 + 1e300) / 3});
    const double nan = std::numeric_limits<double>::quiet_NaN();
    must(std::isnan(mean_over(ranks, {ranks.rank() == 1 ? nan : 0})[0]));
    must(mean_over(ranks, {}).empty());
    expect_same(ranks, "a name", "this", "");
  });
  const ErrorParts refusal = refusal_of([] {
    on_all(3, [](Ranks& ranks) {
      expect_same(ranks, "weights", ranks.rank() == 2 ? "these" : "those", "give each the same");
    });
  });
  CHECK(refusal.about == "rank 2");
  CHECK(refusal.names("weights"));
}

TEST_CASE("when gradients are there is told of each bucket", "[ranks]") {
  // Three parameters of 8 MB and more, so each has a bucket; the one in between gets no gradient.
  std::vector<at::Tensor> parameters;
  for (const double mean : {1.0, 2.0, 3.0}) {
    parameters.push_back(at::full({3 << 20}, mean).requires_grad_(true));
  }
  double time = 0;
  GradientTimes times(parameters, [&] { return time += 1; });
  CHECK(times.buckets().empty());
  for (int pass = 0; pass < 3; ++pass) {
    times.begin();                   // 1
    parameters[2].sum().backward();  // 2
    parameters[0].sum().backward();  // 3
    times.end();                     // 4
  }
  const std::vector<GradientBucket> buckets = times.buckets();
  REQUIRE(buckets.size() == 3);
  CHECK(buckets[0].bytes == 12 << 20);
  CHECK(buckets[0].ready == Approx(1.0 / 3));  // the last parameter is first
  CHECK(buckets[1].ready == Approx(1));
  CHECK(buckets[2].ready == Approx(2.0 / 3));
}

TEST_CASE("a rank that is gone, or never comes, is noticed", "[ranks]") {
  CHECK_THROWS_AS(on_all(2,
                         [](Ranks& ranks) {
                           ranks.gather("both are here");
                           if (ranks.rank() == 0) ranks.gather("and now one");
                         }),
                  LostRank);
  MeetingPoint alone;
  CHECK_THROWS_AS(rank_engine("gloo").connect(alone.place(0, 2, 0.5)), LostRank);
}

TEST_CASE("ranks that share a golden case come to its numbers", "[ranks][golden][long]") {
  const auto [file, world] = GENERATE(table<std::string, int>(
      {{"retinanet_a.json", 2}, {"retinanet_b.json", 3}, {"retinanet_b.json", 2}}));
  const std::string path = HARNESS_SOURCE_DIR "/tests/golden/" + file;
  const KernelSet ours = {
      {"conv-block", "custom"}, {"focal-loss", "custom"}, {"optimizer", "custom"}};
  const KernelSet kernels = GENERATE_COPY(KernelSet{}, ours);
  std::vector<std::vector<Check>> checks(static_cast<std::size_t>(world));
  on_all(world, [&, &golden = path](TorchRanks& ranks) {
    checks[static_cast<std::size_t>(ranks.rank())] = verify_golden(golden, kernels, "fp32", &ranks);
  });
  for (const std::vector<Check>& theirs : checks) {
    CHECK(theirs.size() > 200);
    for (const Check& check : theirs) {
      INFO(check.name << ": " << check.expected << ", not " << check.actual);
      CHECK(check.passed);
    }
  }
}

TEST_CASE("sums over ranks are added up in their order, whatever their length", "[ranks]") {
  const int world = GENERATE(2, 3, 5);
  const SumPrecision precision = GENERATE(SumPrecision::kFloat, SumPrecision::kBf16);
  const auto travels = [&](const at::Tensor& values) {
    return precision == SumPrecision::kBf16 ? values.to(at::kBFloat16).to(at::kFloat) : values;
  };
  const auto values_of = [](int rank, std::int64_t length) {
    at::Generator generator = at::detail::createCPUGenerator(100 + static_cast<unsigned>(rank));
    // Of sizes so different that the order of adding up shows.
    at::Tensor values = at::randn({length}, generator) * std::pow(1000.0, rank % 3);
    if (length > 6) values[rank] = 1e38F * static_cast<float>(rank + 1);
    return values;
  };
  on_all(world, [&](TorchRanks& ranks) {
    for (const std::int64_t length : {0, 1, 4, 6, 7, 1000, 65'536, 3'000'001}) {
      at::Tensor sum = values_of(ranks.rank(), length);
      ranks.start_sum(sum, precision, nullptr)->wait();
      at::Tensor expected = travels(values_of(0, length));
      for (int rank = 1; rank < world; ++rank) {
        expected = expected + travels(values_of(rank, length));
      }
      must(at::equal(sum, travels(expected)));
    }
    // What is no number stays none, and does not spread to its neighbours.
    at::Tensor odd = at::ones({9}) * (1.0 + ranks.rank());
    if (ranks.rank() == 1) {
      odd[3] = std::numeric_limits<double>::quiet_NaN();
      odd[5] = std::numeric_limits<double>::infinity();
    }
    ranks.start_sum(odd, precision, nullptr)->wait();
    must(at::isnan(odd).sum().item<int>() == 1 && std::isnan(odd[3].item<float>()));
    must(at::isinf(odd).sum().item<int>() == 1 && std::isinf(odd[5].item<float>()));
  });
}

TEST_CASE("gradients of several ranks become their mean, of the same bits on all", "[ranks]") {
  const int world = GENERATE(2, 3);
  const std::int64_t bucket = GENERATE(1, 4000, 1 << 20);
  at::manual_seed(7);
  const at::Tensor matrix = at::randn({17, 5});
  const at::Tensor filters = at::randn({6, 4, 3, 3}).contiguous(at::MemoryFormat::ChannelsLast);
  const at::Tensor vector = at::randn({1031});
  const at::Tensor unused = at::randn({3});
  const at::Tensor partly = at::randn({8});
  const auto factor = [](int rank) { return 0.3 + 0.7 * rank; };
  std::vector<std::vector<at::Tensor>> gradients(static_cast<std::size_t>(world));
  on_all(world, [&](TorchRanks& ranks) {
    std::vector<at::Tensor> mine;
    for (const at::Tensor& values : {matrix, filters, vector, unused, partly}) {
      mine.push_back(parameter(values));
    }
    GradientSum sum(ranks, mine, SumPrecision::kFloat, nullptr, bucket);
    must(sum.buckets() == (bucket == 1 ? 5U : bucket == 4000 ? 2U : 1U));
    // Twice, since a second step finds what the first one left.
    for (int step = 0; step < 2; ++step) {
      for (at::Tensor& one : mine) one.mutable_grad() = at::Tensor();
      at::Tensor loss = (mine[0] * mine[0]).sum() * factor(ranks.rank()) +
                        (mine[1].pow(3)).sum() / factor(ranks.rank()) + mine[2].sum();
      if (ranks.rank() == 1) loss = loss + (mine[4] * 3).sum();
      loss.backward();
      sum.finish();
    }
    must(!mine[3].grad().defined());
    for (const std::size_t i : {0, 1, 2, 4}) {
      must(mine[i].grad().strides() == mine[i].strides());
      gradients[static_cast<std::size_t>(ranks.rank())].push_back(mine[i].grad().clone());
    }
  });
  double first = 0;
  double second = 0;
  for (int rank = 0; rank < world; ++rank) {
    first += factor(rank) / world;
    second += 1 / factor(rank) / world;
  }
  const at::Tensor expected[] = {2 * first * matrix, 3 * second * filters * filters,
                                 at::ones({1031}), at::full({8}, 3.0 / world)};
  for (std::size_t i = 0; i < 4; ++i) {
    INFO("gradient " << i << ", world " << world << ", bucket " << bucket);
    CHECK(at::allclose(gradients[0][i], expected[i], 1e-5, 1e-6));
    for (const auto& theirs : gradients) CHECK(at::equal(theirs[i], gradients[0][i]));
  }
}
