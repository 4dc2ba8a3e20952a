// Times of something that is done again and again, and what they come to.
#pragma once

#include <c10/core/Device.h>

#include <functional>
#include <vector>

namespace perceiver {

// Half of the times lie between the quartiles. Medians and quartiles bear with the moments in which
// the machine was busy with something else; means do not.
struct Spread {
  double median = 0.0, lower_quartile = 0.0, upper_quartile = 0.0, fastest = 0.0, slowest = 0.0;
};
Spread spread_of(std::vector<double> values);  // of one value at least

enum class Passes {
  kOneByOne,  // the device has nothing left to do when a pass begins and when it ends
  kInARow,    // the next is asked for before one has ended, as in training: the device has no pause
};

// Seconds of each pass, by the clock of the host. `go_on` is asked before each and sees the seconds
// of those so far. Passes before the first do not count: they let caches fill, memory be taken, and
// kernels be chosen.
using GoOn = std::function<bool(const std::vector<double>& so_far)>;
std::vector<double> measure(const std::function<void()>& pass, at::Device device, const GoOn& go_on,
                            Passes passes = Passes::kOneByOne);

// So many passes; 0: as many as fit into so many seconds, three at least and a thousand at most.
GoOn enough(int64_t passes, double seconds);

}  // namespace perceiver
