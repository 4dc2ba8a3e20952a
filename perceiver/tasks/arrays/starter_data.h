// Generated examples of each kind, `train` and `held_out` apart.
#pragma once

#include "perceiver/core/rng.h"
#include "perceiver/weights/tensor_map.h"

namespace perceiver {

NamedTensors generated_points(int64_t examples, Rng& rng);
NamedTensors generated_field(int64_t examples, Rng& rng);
NamedTensors generated_sensors(int64_t examples, Rng& rng);
NamedTensors generated_events(int64_t examples, Rng& rng);
std::string generated_series(int64_t rows, Rng& rng);  // .csv
std::string generated_table(int64_t rows, Rng& rng);   // .csv

}  // namespace perceiver
