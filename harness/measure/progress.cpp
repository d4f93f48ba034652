#include "harness/measure/progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "harness/base/print.hpp"
#include "harness/base/text.hpp"

namespace harness {

int terminal_columns(std::FILE* out) {
  const int fd = ::fileno(out);
  if (::isatty(fd) == 0) return 0;
  struct winsize size {};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

Progress::Progress(std::FILE* out, int columns, Clock clock, double interval)
    : out_(out), columns_(columns), clock_(std::move(clock)), interval_(interval) {}

Progress::~Progress() { clear(); }

void Progress::clear() {
  if (!line_open_) return;
  write_text(out_, fmt::format("\r{:{}}\r", "", columns_ - 1));
  std::fflush(out_);
  line_open_ = false;
}

void Progress::show(const std::string& line, bool important) {
  const double now = clock_();
  // A terminal is redrawn at most ten times a second; a log gets a line now and then.
  if (!important && now - last_shown_ < (columns_ > 0 ? 0.1 : interval_)) return;
  last_shown_ = now;
  if (columns_ > 0) {
    const auto width = static_cast<std::size_t>(columns_ - 1);
    write_text(out_, fmt::format("\r{:<{}}", line.substr(0, width), width));
    line_open_ = true;
  } else {
    write_text(out_, line + "\n");
  }
  std::fflush(out_);
}

void Progress::stage(const std::string& name) { show("[" + name + "]", true); }

void Progress::progress(const std::string& what, std::int64_t done, std::int64_t total) {
  if (done == 0 && total == 0) return show(what, true);
  show(total > 0 ? fmt::format("{}: {} of {} ({} %)", what, done, total, 100 * done / total)
                 : fmt::format("{}: {}", what, done),
       done == total);
}

void Progress::note(const std::string& line) {
  clear();
  write_text(out_, line + "\n");
  std::fflush(out_);
}

void Progress::training_step(const StepRecord& record) {
  epoch_seconds_ += record.seconds;
  const std::int64_t done = record.step - steps_before_;
  const double step_seconds = epoch_seconds_ / static_cast<double>(done - resumed_at_);
  const auto epochs_left = static_cast<double>(length_.max_epochs - record.epoch);
  const double steps_left = static_cast<double>(length_.min_steps - done) +
                            epochs_left * static_cast<double>(length_.min_steps);
  const double left = steps_left * step_seconds + (epochs_left + 1) * evaluation_seconds_;
  const auto total = record.losses.find("total");
  show(fmt::format("epoch {}/{} step {}/{}  {}at most {} left{}", record.epoch, length_.max_epochs,
                   done, length_.min_steps, last_quality_, format_time_left(left),
                   total == record.losses.end() ? "" : fmt::format("  loss {:.4g}", total->second)),
       record.seconds > 5);
}

void Progress::epoch_end(std::int64_t /*epoch*/) {
  steps_before_ += length_.min_steps;
  epoch_seconds_ = 0;
  resumed_at_ = 0;
}

void Progress::evaluation_begin(std::int64_t /*epoch*/) { evaluation_begin_ = clock_(); }

void Progress::evaluated(const Quality& quality, const EvaluationPoint& at) {
  if (at.epoch == 0) return;
  evaluation_seconds_ = clock_() - evaluation_begin_;
  last_quality_ = fmt::format("{} {}, ", quality.metric,
                              quality.value ? fmt::format("{:.3f}", *quality.value) : "unknown");
  note(fmt::format("epoch {}/{}: {} {}", at.epoch, length_.max_epochs, quality.metric,
                   quality.value ? fmt::format("{:.4f}", *quality.value)
                                 : "unknown: " + printable(quality.reason)));
}

void Progress::resumed(const Resumption& where) {
  steps_before_ = (where.epoch - 1) * length_.min_steps;
  resumed_at_ = where.steps - steps_before_;
  show(fmt::format("[going on in epoch {} after {}]", where.epoch,
                   format_count(where.steps, "step")),
       true);
}

void Progress::query(const StepRecord& record) {
  const std::int64_t units = length_.in_samples ? record.samples : 1;
  double left = 0;
  std::string done;
  if (record.warmup) {
    done = fmt::format("{} {}/{} (warm-up)", length_.unit, record.step, length_.warmup_steps);
    left = length_.min_seconds;
  } else {
    if (timed_ == 0) timed_from_ = std::max(last_at_, record.elapsed - record.seconds);
    timed_ += units;
    const double passed = record.elapsed - timed_from_;
    const auto more = static_cast<double>(length_.min_steps - timed_);
    left =
        std::max({length_.min_seconds - passed, more * passed / static_cast<double>(timed_), 0.0});
    done = length_.in_samples ? format_count(timed_, "sample")
                              : fmt::format("{} {}", length_.unit, timed_);
  }
  last_at_ = record.elapsed;
  show(fmt::format("{}  {}  {} left", done, format_quantity(record.seconds, "s"),
                   format_time_left(left)),
       false);
}

void Progress::dropped(std::int64_t /*first*/, const std::string& /*why*/) { timed_ = 0; }

void Progress::step(const StepRecord& record) {
  if (!length_.unit.empty()) return query(record);
  if (length_.max_epochs > 0) {
    training_step(record);
    return;
  }
  // Warm-up steps are slower, so the estimate leans on the latest steps.
  latest_ = latest_ == 0 ? record.seconds : 0.5 * (latest_ + record.seconds);
  if (!record.warmup) timed_seconds_ += record.seconds;
  const std::int64_t total = length_.warmup_steps + length_.min_steps;
  const double by_steps = static_cast<double>(std::max<std::int64_t>(0, total - record.step));
  const double by_seconds =
      latest_ > 0 ? std::ceil((length_.min_seconds - timed_seconds_) / latest_) : 0;
  const double left = std::max({by_steps, by_seconds, 0.0}) * latest_;
  std::string losses;
  for (const auto& [name, loss] : record.losses) losses += fmt::format("  {} {:.4g}", name, loss);
  show(fmt::format("step {}/{}{} {}  {} left{}", record.step,
                   std::max<std::int64_t>(total, record.step), record.warmup ? " (warm-up)" : "",
                   format_quantity(record.seconds, "s"), format_time_left(left), losses),
       record.seconds > 0.5);
}

}  // namespace harness
