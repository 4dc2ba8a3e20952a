#include "perceiver/train/events.h"

#include <bit>
#include <cstdint>

#include "perceiver/core/crc32c.h"

namespace perceiver {
namespace {

// The wire format of protocol buffers: a key (field number and wire type), then the value.
enum WireType { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

template <typename Unsigned>
std::string little_endian(Unsigned value) {
  std::string bytes;
  for (size_t i = 0; i < sizeof(value); ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

std::string key(int field, WireType type) { return varint(field << 3 | type); }

std::string bytes_field(int field, const std::string& bytes) {
  return key(field, kBytes) + varint(bytes.size()) + bytes;
}

std::string double_field(int field, double value) {
  return key(field, kFixed64) + little_endian(std::bit_cast<uint64_t>(value));
}

std::string float_field(int field, float value) {
  return key(field, kFixed32) + little_endian(std::bit_cast<uint32_t>(value));
}

// Event: 1 wall_time, 2 step, 3 file_version, 5 summary. Summary: 1 value, each with 1 tag and
// 2 simple_value.
constexpr int kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5;
constexpr int kValue = 1, kTag = 1, kSimpleValue = 2;

// A CRC of bytes that hold a CRC is weak; so it is turned and shifted.
uint32_t masked_crc(const std::string& bytes) {
  const uint32_t crc = crc32c(bytes);
  return std::rotr(crc, 15) + 0xA282EAD8;
}

}  // namespace

std::string event_record(const std::string& bytes) {
  const std::string length = little_endian<uint64_t>(bytes.size());
  return length + little_endian(masked_crc(length)) + bytes + little_endian(masked_crc(bytes));
}

std::string first_event(double unix_seconds) {
  return double_field(kWallTime, unix_seconds) + bytes_field(kFileVersion, "brain.Event:2");
}

std::string scalars_event(double unix_seconds, int64_t step,
                          const std::map<std::string, double>& scalars) {
  std::string summary;
  for (const auto& [tag, value] : scalars) {
    summary += bytes_field(
        kValue, bytes_field(kTag, tag) + float_field(kSimpleValue, static_cast<float>(value)));
  }
  return double_field(kWallTime, unix_seconds) + key(kStep, kVarint) +
         varint(static_cast<uint64_t>(step)) + bytes_field(kSummary, summary);
}

}  // namespace perceiver
