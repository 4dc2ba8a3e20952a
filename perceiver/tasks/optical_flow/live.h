// Flow of a camera or a stream, pair after pair as they come.
#pragma once

#include <functional>

#include "perceiver/tasks/optical_flow/files.h"

namespace perceiver {

struct LiveCallbacks {
  std::function<void(const PairReport& report)> ready = {};  // after each pair
  std::function<bool()> stop = {};  // asked after each pair, and while the next is waited for
};

// Of frames that came one after the other, the newest two each time. The job's output is written
// where it has a path; the rest of it but `placement` is not for streams. Ends with the stream, or
// when it is to stop; -> where the flow went, or "".
std::string flow_of_stream(Model& model, FrameSource& source, const FlowJob& job,
                           const LiveCallbacks& callbacks);

// Fails where the job asks for what only files can give.
void check_live_job(const FlowJob& job);

// "frames 12 and 13: mean 1.42, longest 7.80 pixels, 0.81 s"
std::string live_line(const PairReport& report);

}  // namespace perceiver
