// How many processors this process may use: fewer than the machine has where it shares them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace perceiver {

// The limit of the process's control groups (versions 1 and 2, as containers and schedulers set
// it), rounded up to whole processors; none where there is no limit. `root` has proc/ and sys/.
std::optional<int64_t> processor_quota(const std::filesystem::path& root = "/");

// Those the process may run on, within the limit of its control groups: at least 1.
int64_t available_processors();

// For all that LibTorch computes. 0: as many as OMP_NUM_THREADS or MKL_NUM_THREADS say, else as
// there are processors.
void use_threads(int64_t num_threads);

}  // namespace perceiver
