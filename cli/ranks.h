// A verb that several processes do together: those that --ranks starts, or a launcher has started
// (torchrun, mpirun, srun).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "perceiver/core/error.h"
#include "perceiver/ranks/ranks.h"

namespace CLI {
class App;
}

namespace perceiver {

struct RankArgs {
  int64_t ranks = 0, timeout = 600;  // seconds
};

// --ranks and --rank-timeout
void add_rank_options(CLI::App& command, RankArgs& args);

// Where this process is one of several, which. Fails where --ranks says something else.
std::optional<Place> own_place(const RankArgs& args);

// Whether a process that start_ranks() waits in has started this one.
bool is_launched_here();

// Where --ranks asks for processes that are not there yet: starts them, with this one's arguments,
// waits until they are done and says so; ends the program where a signal has ended them.
bool start_ranks(const RankArgs& args);

// Which GPU, or the CPU: on a machine with several ranks each has its own GPU as far as there are
// so many, unless --device names one.
struct RankDevice {
  at::Device device;
  bool own = false;  // no other rank uses it
};
RankDevice device_of_rank(const std::string& argument, const std::optional<Place>& place);

// --threads; without, the cores shared out. 0: as many as there are.
int64_t threads_of_rank(int64_t threads, const std::optional<Place>& place);

// What is wrong with the work of all ranks, whichever has found it: it is said without a name.
struct ErrorOfAll : Error {
  using Error::Error;
};

// Does `work` as this rank; null: alone. All must have the same to say in `same`. An error of any
// rank ends the program on all, with a line that names it.
void as_rank(const RankArgs& args, const std::optional<Place>& place, const RankDevice& device,
             const std::string& same, const std::function<void(Ranks* ranks)>& work);

// What of a verb's options is not the same on all ranks.
struct RankOptions {
  std::string& device;
  int64_t& threads;
  bool& quiet;
};

// A whole verb that splits its inputs: starts the ranks that --ranks asks for, or does `work` as
// one of them, with options of its own, or alone (null). Fails where the inputs cannot be shared.
void share_verb(const RankArgs& args, const std::vector<std::string>& inputs, RankOptions options,
                const std::function<void(Ranks* ranks)>& work);

}  // namespace perceiver
