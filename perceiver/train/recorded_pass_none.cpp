// A program without CUDA: nothing is recorded.
#include "perceiver/train/recorded_pass.h"

namespace perceiver {

class RecordedPass::Recordings {};

RecordedPass::RecordedPass(Pass pass) : pass_(std::move(pass)) {}
RecordedPass::~RecordedPass() = default;

RecordedPass::Result RecordedPass::operator()(const Example& batch) { return pass_(batch); }

}  // namespace perceiver
