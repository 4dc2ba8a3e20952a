#include "perceiver/data/text_stream.h"

#include <algorithm>
#include <cmath>
#include <deque>

#include "perceiver/core/error.h"
#include "perceiver/data/permutation.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

// What the streams of random numbers are for.
constexpr uint64_t kParts = 11, kRound = 12;

// A plain file can be begun anywhere, so that a large one is read in many lanes.
constexpr int64_t kPlainPart = 64 << 20;
// Deflate blocks have some tens of KiB; segments of a .gz have several.
constexpr int64_t kSmallestGzipSegment = 256 << 10;

constexpr int64_t kMostHeldOut = 4 << 20;

// By how much documents may be denser elsewhere than in the beginning of the first file of a kind,
// and by how much the last line of a segment is longer than it.
constexpr double kDenser = 1.05, kLonger = 1.01;

}  // namespace

struct TextStream::Lane {
  struct Held {
    int64_t epoch, round;
    std::shared_ptr<const TextSegment> segment;
  };

  std::shared_ptr<const TextSegment> find(int64_t epoch, int64_t round) const {
    for (const Held& h : held) {
      if (h.epoch == epoch && h.round == round) return h.segment;
    }
    return {};
  }

  std::mutex mutex;
  int64_t epoch = -1, next = 0;  // round to read
  int64_t part = -1, next_segment = 0;
  std::unique_ptr<LineReader> reader;
  std::deque<Held> held;
  // Threads are near each other, but not in the same round.
  size_t room = 2;
};

TextStream::TextStream(std::vector<fs::path> files, const TextStreamOptions& options)
    : options_(options) {
  for (fs::path& file : files) {
    sizes_.push_back(static_cast<int64_t>(fs::file_size(file)));
    if (sizes_.back() == 0 && is_gzip(file)) {
      fail("{}: has no bytes, expected gzip; copy it again", file.string());
    }
    files_.push_back(std::move(file));
  }
  const std::vector<double> densities = measure();
  std::vector<ShardPart> parts;
  double text = 0.0, text_of_first = 0.0;
  for (size_t i = 0; i < files_.size(); ++i) {
    const int64_t length = is_gzip(files_[i]) ? sizes_[i] : kPlainPart;
    for (int64_t begin = 0; begin < sizes_[i]; begin += length) {
      parts.push_back(
          {static_cast<int32_t>(i), begin, std::min(begin + length, sizes_[i]), densities[i], 1});
    }
    text += static_cast<double>(sizes_[i]) * densities[i];
    if (text_of_first == 0.0) text_of_first = text, held_out_file_ = static_cast<int32_t>(i);
  }
  if (text == 0.0) return;
  const int64_t lanes = std::min(options.lanes, std::ssize(parts));
  for (ShardPart& part : parts) {
    const auto bytes = static_cast<double>(part.end - part.begin);
    double segments = bytes * part.text / static_cast<double>(options.round_bytes / lanes);
    if (is_gzip(files_[part.file])) segments = std::min(segments, bytes / kSmallestGzipSegment);
    part.segments = std::max<int64_t>(1, std::llround(segments));
  }
  held_out_bytes_ = std::llround(std::ceil(
      std::min({options.held_out_share * text, text_of_first / 2, double{kMostHeldOut}})));
  plan_ = std::make_unique<ShardPlan>(std::move(parts), lanes, options.stride);
  for (int64_t i = 0; i < lanes; ++i) lanes_.push_back(std::make_unique<Lane>());
}

TextStream::~TextStream() = default;

// Of each file: bytes of documents for one of its own, as in the first file of its kind that has
// any.
std::vector<double> TextStream::measure() const {
  std::map<std::pair<bool, bool>, double> of_kind;
  std::string error;
  std::vector<double> densities;
  for (size_t i = 0; i < files_.size(); ++i) {
    const bool zipped = is_gzip(files_[i]);
    double& density = of_kind[{zipped, is_json_lines(files_[i])}];
    if (density == 0.0 && sizes_[i] > 0) {
      ++opened_;
      try {
        density = kDenser * text_of_byte(files_[i], sizes_[i], options_.unit);
        if (!zipped) density = std::min(kLonger, density);
      } catch (const Error& e) {  // another file may do; who asks for this one is told
        if (error.empty()) error = e.what();
      }
    }
    densities.push_back(density);
  }
  if (!error.empty() && std::ranges::count(densities, 0.0) == std::ssize(densities)) {
    fail("{}", error);
  }
  return densities;
}

std::shared_ptr<const EpochPlan> TextStream::epoch_plan(int64_t epoch) const {
  constexpr size_t kPlans = 3;
  const std::lock_guard lock(plans_mutex_);
  std::shared_ptr<const EpochPlan>& plan = plans_[epoch];
  if (!plan) {
    plan = std::make_shared<EpochPlan>(*plan_, Rng(options_.seed, epoch, 0, kParts));
    if (plans_.size() > kPlans) {
      plans_.erase(plans_.begin()->first == epoch ? std::prev(plans_.end()) : plans_.begin());
    }
  }
  return plans_.at(epoch);
}

std::string TextStream::window(int64_t number, int64_t bytes, Rng& rng, WindowEdge edge) const {
  const int64_t epoch = number / size();
  const std::shared_ptr<const EpochPlan> plan = epoch_plan(epoch);
  const auto [round, place, examples] = plan->find(number % size());
  int64_t index = permuted(place, examples, Rng(options_.seed, epoch, round, kRound).bits()),
          lane = 0;
  EpochPlan::Segment where = plan->segment(lane, round);
  while (index >= where.examples) {
    index -= where.examples;
    where = plan->segment(++lane, round);
  }
  // Where a segment has no documents, text of the next lane is read once more.
  for (int64_t i = 0; i < plan_->num_lanes(); ++i) {
    const int64_t other = (lane + i) % plan_->num_lanes();
    if (plan->segment(other, round).part < 0) continue;
    const auto text = segment(*plan, epoch, other, round);
    if (text->is_empty()) continue;
    return text->example({index, where.examples, options_.stride, bytes}, rng, edge);
  }
  const ShardPart& part = plan_->part(where.part);
  fail("{}: there is no text in bytes {} to {}", files_[part.file].string(),
       segment_begin(part, where.index), segment_begin(part, where.index + 1));
}

std::shared_ptr<const TextSegment> TextStream::segment(const EpochPlan& plan, int64_t epoch,
                                                       int64_t lane_index, int64_t round) const {
  constexpr size_t kMostRoom = 8;
  Lane& lane = *lanes_[lane_index];
  const std::lock_guard lock(lane.mutex);
  if (auto found = lane.find(epoch, round)) return found;
  // What was let go is asked for again: the threads are further apart than was thought.
  const bool behind = lane.epoch == epoch && round < lane.next;
  if (behind && lane.next - round <= static_cast<int64_t>(kMostRoom)) {
    lane.room = std::min(lane.room + 1, kMostRoom);
  }
  // Who is ahead reads for those behind: a .gz goes forward only.
  const bool near = lane.epoch == epoch && lane.next <= round &&
                    round - lane.next < static_cast<int64_t>(lane.room);
  for (int64_t r = near ? lane.next : round; r <= round; ++r) {
    if (plan.segment(lane_index, r).part < 0 || lane.find(epoch, r)) continue;
    if (lane.held.size() >= lane.room) lane.held.pop_front();
    lane.held.push_back({epoch, r, read(plan.segment(lane_index, r), epoch, lane)});
  }
  lane.epoch = epoch;
  lane.next = round + 1;
  return lane.find(epoch, round);
}

std::shared_ptr<const TextSegment> TextStream::read(const EpochPlan::Segment& where, int64_t epoch,
                                                    Lane& lane) const {
  const ShardPart& part = plan_->part(where.part);
  const fs::path& file = files_[part.file];
  const SegmentRange range = {segment_begin(part, where.index),
                              segment_begin(part, where.index + 1),
                              part.file == held_out_file_ ? held_out_bytes_ : 0};
  const int64_t ahead = where.index - lane.next_segment;
  const bool goes_on = lane.reader && lane.epoch == epoch && lane.part == where.part &&
                       (is_gzip(file) ? ahead >= 0 : ahead == 0);
  try {
    if (!goes_on) {
      lane.reader.reset();
      ++opened_;
      lane.reader = std::make_unique<LineReader>(file, is_gzip(file) ? 0 : range.begin);
    }
    lane.part = where.part;
    lane.next_segment = where.index + 1;
    return std::make_shared<TextSegment>(*lane.reader, range, options_.unit, is_json_lines(file));
  } catch (const Error& e) {
    return std::make_shared<TextSegment>(e.what());
  }
}

File TextStream::held_out() const {
  if (held_out_bytes_ == 0) return {};
  const fs::path& file = files_[held_out_file_];
  File lines{file.string(), ""};
  LineReader reader(file);
  for (; const TextLine* line = reader.line(); reader.advance()) {
    if (line->offset >= held_out_bytes_) break;
    (lines.bytes += line->text) += '\n';
  }
  return lines;
}

}  // namespace perceiver
