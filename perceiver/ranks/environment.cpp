#include "perceiver/ranks/environment.h"

#include <charconv>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "perceiver/core/error.h"
#include "perceiver/core/number.h"

namespace perceiver {
namespace {

class Reader {
 public:
  explicit Reader(const Variables& variables) : variables_(variables) {}

  bool has(const char* name) const { return variables_(name) != nullptr; }

  std::string text(const char* name, std::string otherwise = "") const {
    const char* value = variables_(name);
    return value != nullptr ? value : std::move(otherwise);
  }

  int64_t number(const char* name, int64_t low, int64_t high) const {
    const std::string value = text(name);
    const auto number = number_in<int64_t>(value);
    if (!number || *number < low || *number > high) {
      fail("environment: {} must be a whole number from {} to {}, got '{}'", name, low, high,
           value);
    }
    return *number;
  }

  int64_t number_or(const char* name, int64_t low, int64_t high, int64_t otherwise) const {
    return has(name) ? number(name, low, high) : otherwise;
  }

 private:
  const Variables& variables_;
};

constexpr int64_t kMostRanks = 1 << 20, kLastPort = 65535;

// The address of the store, where the variables of torchrun give it.
void read_address(const Reader& read, Place& place) {
  place.address = read.text("MASTER_ADDR", place.address);
  place.port = read.number_or("MASTER_PORT", 1, kLastPort, place.port);
}

void read_size(const Reader& read, Place& place, const char* rank, const char* size) {
  place.size = read.number(size, 1, kMostRanks);
  place.rank = read.number(rank, 0, place.size - 1);
}

void read_local(const Reader& read, Place& place, const char* rank, const char* size) {
  place.local_size = read.number_or(size, 1, place.size, place.size);
  place.local_rank = read.number_or(rank, 0, place.local_size - 1, place.rank % place.local_size);
}

Place of_torchrun(const Reader& read) {
  for (const auto& [set, other] : {std::pair("RANK", "WORLD_SIZE"), {"WORLD_SIZE", "RANK"}}) {
    if (read.has(set) && !read.has(other)) {
      fail("environment: {} is {} and {} is not set; expected both, as torchrun sets them, or none",
           set, read.text(set), other);
    }
  }
  Place place{.launcher = "torchrun"};
  read_size(read, place, "RANK", "WORLD_SIZE");
  for (const char* name : {"MASTER_ADDR", "MASTER_PORT"}) {
    if (place.size > 1 && !read.has(name)) {
      fail("environment: WORLD_SIZE is {} and {} is not set; expected where rank 0 is reached",
           place.size, name);
    }
  }
  read_local(read, place, "LOCAL_RANK", "LOCAL_WORLD_SIZE");
  read_address(read, place);
  place.hosts_store = !read.has("TORCHELASTIC_USE_AGENT_STORE") ||
                      read.text("TORCHELASTIC_USE_AGENT_STORE") == "False";
  place.attempt = read.text("TORCHELASTIC_RESTART_COUNT", "0");
  place.may_restart = read.text("TORCHELASTIC_MAX_RESTARTS", "0") != "0";
  if (read.has("PERCEIVER_LAUNCHED")) place.launcher = kOwnLauncher;
  return place;
}

// mpirun says nothing of an address: on one machine none is needed.
Place of_mpirun(const Reader& read, const char* rank, const char* size, const char* local_rank,
                const char* local_size) {
  Place place{.launcher = "mpirun"};
  read_size(read, place, rank, size);
  read_local(read, place, local_rank, local_size);
  if (place.local_size < place.size && !read.has("MASTER_ADDR")) {
    fail(
        "environment: mpirun has started {} ranks, {} of them on this machine, and MASTER_ADDR is "
        "not set; name the machine of rank 0, as with 'mpirun -x MASTER_ADDR=HOST …' (Open MPI) or "
        "'mpirun -genv MASTER_ADDR HOST …' (MPICH)",
        place.size, place.local_size);
  }
  read_address(read, place);
  return place;
}

// "4(x2),3": as many on this machine as the list says first, which is right where all have as many.
int64_t tasks_per_machine(const std::string& list, int64_t size) {
  int64_t tasks = 0;
  std::from_chars(list.data(), list.data() + list.size(), tasks);
  return tasks > 0 && tasks <= size ? tasks : size;
}

Place of_srun(const Reader& read) {
  Place place{.launcher = "srun"};
  read_size(read, place, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS");
  place.local_size = tasks_per_machine(read.text("SLURM_STEP_TASKS_PER_NODE"), place.size);
  place.local_rank = read.number_or("SLURM_LOCALID", 0, place.size - 1, 0);
  place.local_size = std::max(place.local_size, place.local_rank + 1);
  const std::string list = read.text("SLURM_STEP_NODELIST", read.text("SLURM_JOB_NODELIST"));
  if (!list.empty()) place.address = first_host(list);
  constexpr int64_t kFirstPort = 15000,
                    kPorts = 10000;  // another for each job, as Lightning has it
  place.port =
      kFirstPort + read.number_or("SLURM_JOB_ID", 0, INT64_MAX, place.port - kFirstPort) % kPorts;
  read_address(read, place);
  return place;
}

}  // namespace

std::string first_host(const std::string& list) {
  const size_t bracket = list.find('['), comma = list.find(',');
  if (bracket == list.npos || comma < bracket) return list.substr(0, comma);
  const size_t end = list.find_first_of(",-]", bracket);
  if (end == list.npos) fail("environment: a list of machines must have a ']', got '{}'", list);
  const size_t close = list.find(']', bracket);
  const std::string after =
      close == list.npos ? "" : list.substr(close + 1, list.find(',', close) - close - 1);
  return list.substr(0, bracket) + list.substr(bracket + 1, end - bracket - 1) + after;
}

std::optional<Place> place_in_environment(const Variables& variables) {
  const Reader read(variables);
  if (read.has("RANK") || read.has("WORLD_SIZE")) return of_torchrun(read);
  // A single one of these is a program that a job has started on its machine.
  const auto if_several = [](Place place) {
    return place.size > 1 ? std::optional(std::move(place)) : std::nullopt;
  };
  if (read.has("OMPI_COMM_WORLD_SIZE") && read.has("OMPI_COMM_WORLD_RANK")) {
    return if_several(of_mpirun(read, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                                "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"));
  }
  if (read.has("PMI_SIZE") && read.has("PMI_RANK") && read.has("MPI_LOCALRANKID")) {
    return if_several(
        of_mpirun(read, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"));
  }
  // Not SLURM_NTASKS, which a job's script has, too: that is no rank.
  if (read.has("SLURM_STEP_NUM_TASKS") && read.has("SLURM_PROCID")) {
    return if_several(of_srun(read));
  }
  return {};
}

std::optional<Place> place_in_environment() {
  return place_in_environment([](const char* name) { return std::getenv(name); });
}

}  // namespace perceiver
