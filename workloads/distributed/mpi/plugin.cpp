// The plug-in for MPI: a library of its own, loaded for `--engine mpi` alone, so that the program
// runs where there is no MPI. It knows nothing of tensors.
#include "workloads/distributed/mpi/plugin.hpp"

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <string>
#include <thread>

namespace {

std::atomic<bool> hung_up{false};

const char* told(const std::string& words) {
  thread_local std::string text;
  text = words;
  return text.c_str();
}

const char* error_text(int code) {
  if (code == MPI_SUCCESS) return nullptr;
  char words[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, words, &length);
  return told(std::string("MPI: ") + std::string(words, static_cast<std::size_t>(length)));
}

void leave_world() {
  // It waits for the others, some of which may be gone.
  if (!hung_up) MPI_Finalize();
}

const char* open_world() {
  // Only one thread at a time speaks, but not always the same one.
  int provided = MPI_THREAD_SINGLE;
  const int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
  if (code != MPI_SUCCESS) return error_text(code);
  std::atexit(leave_world);
  if (provided < MPI_THREAD_SERIALIZED) return told("MPI: it can only be used from one thread");
  return error_text(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
}

int rank_of_world() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int size_of_world() {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

const char* version() {
  char words[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(words, &length);
  // The first line, or what stands before the first comma, is its name and number.
  std::string text(words, static_cast<std::size_t>(length));
  return told(text.substr(0, text.find_first_of(",\n")));
}

/// MPI counts with int: more bytes than that go as larger pieces.
class Piece {
 public:
  explicit Piece(std::int64_t bytes) : count_(static_cast<int>(bytes)) {
    if (bytes <= INT_MAX) return;
    constexpr std::int64_t kWord = sizeof(std::uint16_t);
    MPI_Type_contiguous(static_cast<int>(bytes / kWord), MPI_UINT16_T, &type_);
    MPI_Type_commit(&type_);
    count_ = 1;
  }
  ~Piece() {
    if (type_ != MPI_BYTE) MPI_Type_free(&type_);
  }
  Piece(const Piece&) = delete;
  Piece& operator=(const Piece&) = delete;
  int count() const { return count_; }
  MPI_Datatype type() const { return type_; }

 private:
  int count_;
  MPI_Datatype type_ = MPI_BYTE;
};

/// MPI does its work only while it is asked, and another thread may need the CPU: asked often at
/// first, then now and then.
const char* wait_for(MPI_Request& request, double timeout_seconds) {
  using Clock = std::chrono::steady_clock;
  const auto began = Clock::now();
  constexpr auto kEager = std::chrono::microseconds(500);
  constexpr auto kPause = std::chrono::microseconds(20);
  while (true) {
    int done = 0;
    const int code = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    // Behind an error MPI may still hold the memory: nothing may call it from then on.
    if (code != MPI_SUCCESS) {
      hung_up = true;
      return error_text(code);
    }
    if (done != 0) return nullptr;
    if (hung_up) return told("MPI: another rank is gone");
    const auto waited = Clock::now() - began;
    if (waited > std::chrono::duration<double>(timeout_seconds)) {
      hung_up = true;
      return told("MPI: another rank does not answer");
    }
    if (waited < kEager) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kPause);
    }
  }
}

const char* exchange(const void* mine, void* all, std::int64_t bytes, double timeout_seconds) {
  if (hung_up) return told("MPI: another rank is gone");
  if (bytes > INT_MAX && (bytes % 2 != 0 || bytes / 2 > INT_MAX)) {
    return told("MPI: too much at a time");
  }
  const Piece piece(bytes);
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = MPI_Ialltoall(mine, piece.count(), piece.type(), all, piece.count(),
                                 piece.type(), MPI_COMM_WORLD, &request);
  if (code != MPI_SUCCESS) {
    hung_up = true;
    return error_text(code);
  }
  return wait_for(request, timeout_seconds);
}

void hang_up() { hung_up = true; }

const HarnessMpi functions = {open_world, rank_of_world, size_of_world, version, exchange, hang_up};

}  // namespace

extern "C" const HarnessMpi* harness_mpi() { return &functions; }
