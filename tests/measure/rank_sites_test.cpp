// The parts of a meeting of ranks that need no process: who shares which CPUs, where ranks meet by
// what others say, and how both ends show that they know the key.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "harness/base/hash.hpp"
#include "harness/lockstep/protocol.hpp"
#include "harness/measure/ranks/handshake.hpp"
#include "harness/measure/ranks/sites.hpp"
#include "harness/measure/ranks/world_place.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;

namespace {

json site(const char* machine, const std::vector<int>& cpus, int cores, const char* model = "M") {
  return {{"machine", machine}, {"cpus", cpus}, {"cores", cores}, {"cpu_model", model}};
}

}  // namespace

TEST_CASE("ranks of one machine share its CPUs, others do not", "[ranks]") {
  const std::vector<json> said = {site("a", {0, 1, 2, 3}, 4), site("b", {0, 1}, 2, "other"),
                                  site("a", {0, 1, 2, 3}, 4), site("b", {0, 1}, 2, "other")};
  const std::vector<RankSite> sites = sites_of(said);
  REQUIRE(sites.size() == 4);
  CHECK(sites[0].node == 0);
  CHECK(sites[1].node == 1);
  CHECK(sites[2].node == 0);
  CHECK(sites[1].cpu_model == "other");
  CHECK(sites[2].ranks_here == 2);
  CHECK(sites[2].part == 1);
  CHECK(sites[2].parts == 2);
  CHECK(common_threads(said, sites) == 1);  // as many as the lesser machine has for each
  const std::vector<int> first = cpus_of(sites[0], {0, 1, 2, 3});
  const std::vector<int> second = cpus_of(sites[2], {0, 1, 2, 3});
  CHECK(first.size() == 2);
  CHECK(second.size() == 2);
  CHECK(first != second);
}

TEST_CASE("ranks that are bound to CPUs of their own keep them", "[ranks]") {
  const std::vector<json> said = {site("a", {0, 1}, 2), site("a", {2, 3}, 2)};
  const std::vector<RankSite> sites = sites_of(said);
  CHECK(sites[1].parts == 1);
  CHECK(sites[1].ranks_here == 2);  // of one machine's memory
  CHECK(common_threads(said, sites) == 2);
  CHECK(cpus_of(sites[1], {2, 3}) == std::vector<int>{2, 3});
}

TEST_CASE("the first host of a list as Slurm writes it", "[ranks]") {
  CHECK(first_host("node07") == "node07");
  CHECK(first_host("node07,node09") == "node07");
  CHECK(first_host("node[07-12,31]") == "node07");
  CHECK(first_host("node[007]") == "node007");
  CHECK(first_host("a-1,b[2-3]") == "a-1");
  CHECK(first_host("rack1-n[3,5],x") == "rack1-n3");
}

TEST_CASE("who shows the key does not tell it", "[ranks]") {
  const std::string proof = key_proof("key", "guest", "a", "b");
  CHECK(proof.size() == 64);
  CHECK(proof != key_proof("other", "guest", "a", "b"));
  CHECK(proof != key_proof("key", "host", "a", "b"));  // nobody can send it back
  CHECK(proof != key_proof("key", "guest", "c", "b"));
  CHECK(proof != key_proof("key", "guest", "a", "c"));
  // RFC 4231, case 2, of the same hash.
  CHECK(key_proof("Jefe", "what do ya want", "for", "nothing?") ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST_CASE("bytes of any kind travel as text", "[ranks]") {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  CHECK(bytes_of(hex_text(bytes)) == bytes);
  CHECK(bytes_of("").empty());
  for (const char* bad : {"0", "0g", "0G", "AB", "0 "})
    CHECK_THROWS_AS(bytes_of(bad), ProtocolError);
  for (const char* bad : {"", "x", "[]", "1", "{\"a\":1,\"a\":2}", "{}{}"})
    CHECK_THROWS_AS(message_of(bad), ProtocolError);
  CHECK(message_of("{\"a\":1}") == json{{"a", 1}});
}
