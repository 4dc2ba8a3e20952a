// How ranks find one another: a store that all reach, and a greeting there.
#pragma once

#include <chrono>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "perceiver/ranks/ranks.h"

namespace perceiver {

// The store at the place's address, which rank 0 opens unless its launcher has. Fails where the
// port is taken, or nobody answers.
c10::intrusive_ptr<c10d::Store> open_store(const Place& place, std::chrono::milliseconds patience);

// Returns when all ranks are here and have the same to say. Fails where one does not come, comes
// with something else, or says why it ends.
void meet(c10d::Store& store, const Place& place, const RanksOptions& options);

}  // namespace perceiver
