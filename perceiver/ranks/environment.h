// Which of how many processes this one is, as whoever started them has written it into the
// environment: perceiver itself or torchrun (RANK, WORLD_SIZE, …), mpirun of Open MPI or MPICH,
// srun.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace perceiver {

struct Place {
  int64_t rank = 0, size = 1;
  int64_t local_rank = 0, local_size = 1;  // among those of this machine
  std::string address = "127.0.0.1";       // where the store of all is
  int64_t port = 29500;
  bool hosts_store = true;    // rank 0 does; else whoever started the ranks
  std::string attempt = "0";  // torchrun starts all of them anew when one fails
  std::string launcher = "";  // for messages: "torchrun", "mpirun", "srun", kOwnLauncher
  bool may_restart = false;   // with another attempt
};

constexpr const char* kOwnLauncher = "--ranks";  // of perceiver (launch.h)

// The value of a variable; null: it is not set.
using Variables = std::function<const char*(const char* name)>;

// Nothing where the program was started alone. Fails where variables contradict each other or one
// is missing.
std::optional<Place> place_in_environment(const Variables& variables);
std::optional<Place> place_in_environment();  // of this process

// Slurm's list of machines, such as "gpu[07-09,12],login" -> "gpu07"
std::string first_host(const std::string& list);

}  // namespace perceiver
