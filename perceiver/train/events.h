// Event files, as TensorBoard reads them: records of TensorFlow's with scalars in them.
#pragma once

#include <cstdio>
#include <filesystem>
#include <map>
#include <string>

namespace perceiver {

// One record: its length, a checksum of that, the bytes, a checksum of them.
std::string event_record(const std::string& bytes);

// An Event of scalars, and the one that every file begins with.
std::string scalars_event(double unix_seconds, int64_t step,
                          const std::map<std::string, double>& scalars);
std::string first_event(double unix_seconds);

}  // namespace perceiver
