#include "perceiver/media/flow.h"

#include <ATen/ATen.h>

#include <cstring>

#include "perceiver/core/error.h"
#include "perceiver/media/picture_size.h"
#include "perceiver/media/png.h"

namespace perceiver {
namespace {

constexpr std::string_view kFloMagic = "PIEH";  // 202021.25 as a float, the least byte first
constexpr size_t kFloHeader = 12;
constexpr float kFloUnknown = 1e9f;
// KITTI's integers: u = (r - 2^15) / 64.
constexpr double kKittiSteps = 64.0, kKittiZero = 32768.0;

FlowField decode_flo(const File& file) {
  if (file.bytes.size() < kFloHeader) fail("{}: broken .flo: cut short", file.name);
  int32_t sizes[2];  // width, height
  std::memcpy(sizes, file.bytes.data() + kFloMagic.size(), sizeof(sizes));
  const int64_t width = sizes[0], height = sizes[1];
  check_picture_size(file.name, height, width);
  const auto expected = static_cast<int64_t>(kFloHeader) + height * width * 8;
  if (static_cast<int64_t>(file.bytes.size()) != expected) {
    fail("{}: broken .flo: {} bytes, expected {} for {} x {} pixels", file.name, file.bytes.size(),
         expected, width, height);
  }
  Tensor flow = at::empty({height, width, 2}, at::kFloat);
  std::memcpy(flow.data_ptr(), file.bytes.data() + kFloHeader, flow.nbytes());
  flow = flow.permute({2, 0, 1}).contiguous();
  const Tensor valid = flow.abs().lt(kFloUnknown).all(0);  // NaN is not
  return {flow.masked_fill(valid.logical_not(), 0.0), valid};
}

FlowField decode_kitti(const File& file) {
  const Tensor pixels = decode_png(file);
  if (pixels.scalar_type() != at::kInt || pixels.size(0) != 3) {
    fail("{}: not a flow: PNG of {} channels of {} bits, expected KITTI's 3 of 16", file.name,
         pixels.size(0), pixels.scalar_type() == at::kInt ? 16 : 8);
  }
  const Tensor valid = pixels[2].ne(0);
  const Tensor flow = (pixels.narrow(0, 0, 2).to(at::kFloat) - kKittiZero) / kKittiSteps;
  return {flow.masked_fill(valid.logical_not(), 0.0), valid};
}

}  // namespace

FlowField decode_flow(const File& file) {
  if (file.bytes.empty()) fail("{}: is empty, expected a flow", file.name);
  if (file.bytes.starts_with(kFloMagic)) return decode_flo(file);
  if (is_png(file.bytes)) return decode_kitti(file);
  fail("{}: not a flow: expected .flo or KITTI's PNG of 16 bits", file.name);
}

std::string encode_flo(const Tensor& flow) {
  check_shape(flow, {2, kAny, kAny}, "flow");
  const int32_t sizes[2] = {static_cast<int32_t>(flow.size(2)), static_cast<int32_t>(flow.size(1))};
  const Tensor pixels = flow.to(at::kCPU, at::kFloat).permute({1, 2, 0}).contiguous();
  std::string bytes(kFloMagic);
  bytes.append(reinterpret_cast<const char*>(sizes), sizeof(sizes));
  bytes.append(static_cast<const char*>(pixels.data_ptr()), pixels.nbytes());
  return bytes;
}

std::string encode_kitti_flow(const FlowField& field) {
  check_shape(field.flow, {2, kAny, kAny}, "flow");
  check_shape(field.valid, {field.flow.size(1), field.flow.size(2)}, "valid");
  const Tensor valid = field.valid.to(at::kCPU, at::kBool);
  const Tensor flow = field.flow.to(at::kCPU, at::kDouble)
                          .masked_fill(valid.logical_not(), -kKittiZero / kKittiSteps);
  const Tensor steps = (flow * kKittiSteps + kKittiZero).round();
  if (!steps.ge(0.0).logical_and(steps.le(65535.0)).all().item<bool>()) {
    fail("flow of {} pixels, expected less than 512 in size for KITTI's PNG; write a .flo",
         flow.abs().max().item<double>());
  }
  return encode_png_of_16_bits(at::cat({steps.to(at::kInt), valid.to(at::kInt).unsqueeze(0)}));
}

}  // namespace perceiver
