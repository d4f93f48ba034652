#include "tests/support/altered_logs.hpp"

#include "tests/support/log_edits.hpp"
#include "tests/support/sample_training_log.hpp"

namespace harness {
namespace {

using namespace log_edits;  // NOLINT(google-build-using-namespace)

struct Case {
  const char* name;
  const char* rule;
  Edit edit;
};

std::vector<Case> presence_cases() {
  return {
      {"untouched", "", [](Events&) {}},
      {"no organisation", "organisation-once", without({"submission_org"})},
      {"organisation twice", "organisation-once", twice("submission_org")},
      {"two organisations", "organisation-once", again("submission_org", "another")},
      {"empty organisation", "organisation-named", value("submission_org", "")},
      {"no platform", "platform-once", without({"submission_platform"})},
      {"two platforms", "platform-once", again("submission_platform", "another")},
      {"empty platform", "platform-named", value("submission_platform", "")},
      {"no division", "division-once", without({"submission_division"})},
      {"two divisions", "division-once", again("submission_division", "open")},
      {"unknown division", "division-known", value("submission_division", "Closed")},
      {"no cache clear", "cache-cleared", without({"cache_clear"})},
      {"cache cleared twice", "", twice("cache_clear")},
      {"cache not cleared", "", value("cache_clear", false)},
      {"no training samples", "training-samples-once", without({"train_samples"})},
      {"training samples twice", "training-samples-once", twice("train_samples")},
      {"empty training samples", "training-samples-given", value("train_samples", "")},
      {"no evaluation samples", "evaluation-samples-once", without({"eval_samples"})},
      {"evaluation samples twice", "evaluation-samples-once", twice("eval_samples")},
      {"empty evaluation samples", "evaluation-samples-given", value("eval_samples", "")},
      {"no benchmark", "benchmark-once", without({"submission_benchmark"})},
      {"two benchmarks", "benchmark-once", again("submission_benchmark", "ssd")},
      {"old benchmark", "benchmark-known", value("submission_benchmark", "ssd")},
      {"numeric benchmark", "benchmark-known", value("submission_benchmark", 1)},
      {"unknown key", "", member("seed", "key", "surprise")},
      {"key that is no text", "", member("seed", "key", 5)},
      {"no value", "line-fields", without_member("seed", "value")},
      {"no metadata", "line-fields", without_member("seed", "metadata")},
      {"no key", "line-fields", without_member("seed", "key")},
      {"no time", "line-fields", without_member("seed", "time_ms")},
      {"no namespace", "", without_member("seed", "namespace")},
      {"time that is no number", "line-time", member("seed", "time_ms", "soon")},
      {"time null", "line-time", member("seed", "time_ms", nullptr)},
      {"time as text", "", member("seed", "time_ms", "1700000000123.5")},
      {"metadata null where none are asked for", "", member("seed", "metadata", nullptr)},
  };
}

std::vector<Case> order_cases() {
  return {
      {"no init start", "init-started", without({"init_start"})},
      {"init start again", "", twice("init_start")},
      {"init start after init stop", "init-start-order", copied_behind("init_start", "init_stop")},
      {"init start after run start", "init-start-order", copied_behind("init_start", "run_start")},
      {"no init stop", "init-stop-once", without({"init_stop"})},
      {"init stop twice", "init-stop-once", twice("init_stop")},
      {"init stop before start", "init-stop-after-start", moved_behind("init_start", "init_stop")},
      {"init stop after run start", "init-stop-order", moved_behind("init_stop", "run_start")},
      {"init of 29 min 59.999 s", "", initialising_for(1'799'999)},
      {"init of 30 minutes", "init-budget", initialising_for(1'800'000)},
      {"init stop before its start's time", "", initialising_for(-5)},
      {"init stop before the division", "init-budget",
       moved_behind("submission_division", "init_stop")},
      {"no run start", "run-start-once", without({"run_start"})},
      {"run start twice", "run-start-once", twice("run_start")},
      {"run start before init stop", "run-start-order", moved_behind("init_stop", "run_start")},
      {"no run stop", "run-stop-once", without({"run_stop"})},
      {"run stop twice", "run-stop-once", twice("run_stop")},
      {"run stop before run start", "run-stop-order", moved_behind("run_start", "run_stop")},
      {"no status", "run-stop-status", without_metadata("run_stop", "status")},
      {"status without metadata", "run-stop-status", member("run_stop", "metadata", nullptr)},
      {"aborted after the target", "",
       metadata("run_stop", [](Event& data) { data["status"] = "aborted"; })},
      {"no block or epoch started", "block-or-epoch-started",
       without({"block_start", "epoch_start"})},
      {"no block or epoch stopped", "block-or-epoch-stopped",
       without({"block_stop", "epoch_stop"})},
      {"no blocks", "", without({"block_start", "block_stop"})},
      {"no epochs", "", without({"epoch_start", "epoch_stop"})},
      {"block before run start", "block-start-order", moved_behind("run_start", "block_start")},
      {"no evaluation started", "evaluation-started", without({"eval_start", "block_start"})},
      {"no evaluation stopped", "evaluation-stopped", without({"eval_stop", "block_stop"})},
      {"evaluations not started but blocks", "", without({"eval_start"})},
  };
}

std::vector<Case> place_cases() {
  return {
      {"block of nothing", "block-start-count", without_metadata("block_start", "epoch_count")},
      {"block from nowhere", "block-start-first-epoch",
       without_metadata("block_start", "first_epoch_num")},
      {"block without epochs", "block-start-epochs",
       metadata("block_start", [](Event& data) { data["epoch_count"] = 0; })},
      {"block of so many epochs", "block-start-epochs",
       metadata("block_start", [](Event& data) { data["epoch_count"] = "1"; })},
      {"block of negative samples", "block-start-samples",
       metadata("block_start", [](Event& data) { data["samples_count"] = -1; })},
      {"block by samples", "",
       metadata("block_start",
                [](Event& data) {
                  data.erase("epoch_count");
                  data["samples_count"] = 0;
                })},
      {"block stops nowhere", "block-stop-place",
       without_metadata("block_stop", "first_epoch_num")},
      {"epoch without number", "epoch-start-place", without_metadata("epoch_start", "epoch_num")},
      {"epoch stops without number", "epoch-stop-place",
       without_metadata("epoch_stop", "epoch_num")},
      {"evaluation starts nowhere", "evaluation-start-place",
       without_metadata("eval_start", "epoch_num")},
      {"evaluation stops nowhere", "evaluation-stop-place",
       member("eval_stop", "metadata", Event::object())},
      {"no accuracy", "accuracy-logged", without({"eval_accuracy"})},
      {"accuracy of nowhere", "accuracy-place",
       member("eval_accuracy", "metadata", Event::object())},
      {"accuracy by samples only", "accuracy-epoch",
       without_metadata("eval_accuracy", "epoch_num")},
  };
}

std::vector<Case> closed_cases() {
  return {
      {"no accumulation", "accumulation-once", without({"gradient_accumulation_steps"})},
      {"accumulation twice", "accumulation-once", twice("gradient_accumulation_steps")},
      {"accumulation 0", "accumulation-positive", value("gradient_accumulation_steps", 0)},
      {"accumulation as text", "accumulation-positive", value("gradient_accumulation_steps", "1")},
      {"no batch size", "batch-size-once", without({"global_batch_size"})},
      {"batch size twice", "batch-size-once", twice("global_batch_size")},
      {"no optimiser", "optimiser-once", without({"opt_name"})},
      {"another optimiser", "optimiser-adam", value("opt_name", "sgd")},
      {"no learning rate", "learning-rate-once", without({"opt_base_learning_rate"})},
      {"negative learning rate", "learning-rate-range", value("opt_base_learning_rate", -1e-4)},
      {"learning rate as text", "learning-rate-range", value("opt_base_learning_rate", "1e-4")},
      {"learning rate null", "learning-rate-range", value("opt_base_learning_rate", nullptr)},
      {"no weight decay", "weight-decay-once", without({"opt_weight_decay"})},
      {"weight decay", "weight-decay-zero", value("opt_weight_decay", 0.01)},
      {"weight decay false", "", value("opt_weight_decay", false)},
      {"no warm-up epochs", "warm-up-epochs-once", without({"opt_learning_rate_warmup_epochs"})},
      {"negative warm-up", "warm-up-epochs-range", value("opt_learning_rate_warmup_epochs", -1)},
      {"no warm-up factor", "warm-up-factor-once", without({"opt_learning_rate_warmup_factor"})},
      {"negative warm-up factor", "warm-up-factor-range",
       value("opt_learning_rate_warmup_factor", -0.1)},
      {"target just missed", "target-reached", value("eval_accuracy", 0.3399)},
      {"target just met", "", value("eval_accuracy", 0.34)},
      {"impossible accuracy", "target-reached", value("eval_accuracy", 1.0)},
      {"accuracy as text", "target-reached", value("eval_accuracy", "0.36")},
      {"one accuracy as text", "target-reached", member("eval_accuracy", "value", "0.36")},
      {"one accuracy null", "target-reached", member("eval_accuracy", "value", nullptr)},
  };
}

std::vector<Case> open_cases() {
  return {
      {"open", "", [](Events&) {}},
      {"open below the target", "", value("eval_accuracy", 0.01)},
      {"open without optimiser", "",
       without({"opt_name", "gradient_accumulation_steps", "global_batch_size"})},
      {"open, init of 200 minutes", "", initialising_for(std::int64_t{200} * 60'000)},
      {"open, init of 240 minutes", "init-budget", initialising_for(std::int64_t{240} * 60'000)},
      {"open, impossible accuracy", "accuracy-possible", value("eval_accuracy", 1.5)},
      {"open, accuracy as text", "accuracy-possible", value("eval_accuracy", "0.36")},
      {"open, accuracy by samples only", "accuracy-epoch",
       without_metadata("eval_accuracy", "epoch_num")},
      {"open, unknown benchmark", "benchmark-known", value("submission_benchmark", "mini")},
      {"open, no benchmark nor organisation", "organisation-once",
       both(without({"submission_benchmark"}), without({"submission_org"}))},
  };
}

void add(std::vector<AlteredLog>& logs, const std::vector<Case>& cases, const Events& base) {
  for (const Case& item : cases) {
    Events events = base;
    item.edit(events);
    logs.push_back({item.name, item.rule, text_of(events)});
  }
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

std::vector<AlteredLog> altered_logs() {
  const Events closed = sample_training_log(closed_facts());
  TrainingLogFacts facts = closed_facts();
  facts.division = "open";
  const Events open = sample_training_log(facts);
  std::vector<AlteredLog> logs;
  for (const auto& cases : {presence_cases(), order_cases(), place_cases(), closed_cases()}) {
    add(logs, cases, closed);
  }
  add(logs, open_cases(), open);
  const std::string text = text_of(closed);
  logs.push_back({"other lines between", "", "start\n" + replaced(text, "\n", "\n\xff noise\n\n")});
  logs.push_back(
      {"text before the token", "", replaced(text, ":::MLLOG", "0: :::MLLOG x :::MLLOG")});
  logs.push_back({"lines of another system", "", replaced(text, "\n", "\r\n")});
  logs.push_back({"old line ends", "", replaced(text, "\n", "\r")});
  return logs;
}

std::vector<AlteredLog> stricter_judged_logs() {
  const Events closed = sample_training_log(closed_facts());
  std::vector<AlteredLog> logs;
  add(logs,
      {{"an epoch that is not evaluated", "evaluation-cadence", twice("epoch_stop")},
       {"an epoch behind the last evaluation", "evaluation-cadence",
        copied_behind("epoch_stop", "eval_stop")}},
      closed);
  return logs;
}

std::vector<AlteredLog> unreadable_logs() {
  using namespace std::string_literals;
  const std::string text = text_of(sample_training_log(closed_facts()));
  const std::string deep(2'000, '[');
  return {
      {"empty", "", ""},
      {"no log lines", "", "epoch 1\nepoch 2\n"},
      {"binary", "",
       "\x7f"
       "ELF\x02\x01\0\0\xff\xfe\n\0:::MLLOG"s},
      {"truncated in the last line", "", text.substr(0, text.size() - 20)},
      {"truncated in the first line", "", text.substr(0, 40)},
      {"token without event", "", text + ":::MLLOG \n"},
      {"event that is a list", "", text + ":::MLLOG [1]\n"},
      {"event that is a number", "", text + ":::MLLOG 5\n"},
      {"two events in a line", "", replaced(text, "\n:::MLLOG {", " {")},
      {"nested deep", "", text + ":::MLLOG " + deep + "\n"},
  };
}

std::vector<AlteredLog> strictly_read_logs() {
  const std::string text = text_of(sample_training_log(closed_facts()));
  return {
      {"not a number", "", replaced(text, "\"value\":7,", "\"value\":NaN,")},
      {"infinite", "", replaced(text, "\"value\":7,", "\"value\":-Infinity,")},
      {"a member twice", "", replaced(text, "\"value\":7,", "\"value\":7,\"value\":8,")},
      {"not UTF-8", "", replaced(text, "a machine", "a machine\xff")},
      {"integer that no double holds", "",
       replaced(text, "\"value\":7,", "\"value\":123456789012345678901234567890,")},
  };
}

}  // namespace harness
