#include "perceiver/media/live_video.h"

#include "perceiver/media/drawn_clip_test.h"
#include "perceiver/media/stream_server_test.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr int64_t kPictures = 75;  // three seconds of them

class Live : public Video {
 protected:
  std::string stream() const {
    const fs::path path = empty_folder("live") / "clip.ts";
    VideoWriter writer(path, {.height = 48, .width = 64, .frames_per_second = 25});
    for (int64_t i = 0; i < kPictures; ++i) writer.write(drawn(i % kFrames));
    writer.finish();
    return read_file(path).bytes;
  }
};

TEST_F(Live, PicturesComeInTheirOrderAndTheLastIsNotLost) {
  const StreamServer server(stream(), 75, milliseconds(10));
  LiveVideo live(server.address());
  EXPECT_EQ(live.height(), 48);
  EXPECT_EQ(live.width(), 64);
  EXPECT_NEAR(live.frames_per_second(), 25, 0.1);
  int64_t last = 0;
  while (const auto picture = live.next()) {
    EXPECT_GT(picture->number, last);
    last = picture->number;
    EXPECT_EQ(picture->pixels.sizes(), at::IntArrayRef({3, 48, 64}));
    const Tensor error =
        (picture->pixels.to(at::kFloat) - drawn((last - 1) % kFrames).to(at::kFloat)).abs();
    EXPECT_LT(error.mean().item<double>(), 8) << last;  // the disc is where it was at that time
  }
  EXPECT_EQ(last, kPictures);
}

TEST_F(Live, PairsAreOfNeighboursHoweverLongOneTakes) {
  const StreamServer server(stream(), 75, milliseconds(10));
  LiveVideo live(server.address());
  int64_t pairs = 0, last = 0;
  while (const auto pair = live.next_pair()) {
    EXPECT_EQ(pair->second.number, pair->first.number + 1);
    EXPECT_GT(pair->second.number, last);
    last = pair->second.number;
    ++pairs;
    std::this_thread::sleep_for(milliseconds(50));  // several pictures come meanwhile
  }
  EXPECT_GE(pairs, 2);
  EXPECT_LT(pairs, kPictures / 2);
  EXPECT_EQ(last, kPictures);
}

TEST_F(Live, StopsWhenAsked) {
  const StreamServer server(stream(), 4, milliseconds(400));
  LiveVideo live(server.address());
  ASSERT_TRUE(live.next());
  live.stop_when([] { return true; });
  const auto begin = std::chrono::steady_clock::now();
  while (live.next()) {
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(1500));
}

TEST_F(Live, WhatCannotBeOpenedIsSaidInOneLine) {
  int port = 0;
  {
    const StreamServer gone("", 1, milliseconds(0));
    port = std::stoi(gone.address().substr(gone.address().rfind(':') + 1));
  }
  const std::string address = "http://127.0.0.1:" + std::to_string(port) + "/none";
  EXPECT_EQ(error_of([&] { LiveVideo live(address); }),
            address + ": cannot open: connection refused");
  const StreamServer text("No pictures here.", 1, milliseconds(0));
  EXPECT_EQ(error_of([&] { LiveVideo live(text.address()); }),
            text.address() + ": cannot open: invalid data found when processing input");
  EXPECT_EQ(error_of([&] { LiveVideo live("nothing://x"); }),
            "nothing://x: cannot open: protocol not found");
}

TEST(LiveAddress, IsNoFile) {
  for (const char* live : {"rtsp://cam/1", "http://a/b.mp4", "udp://127.0.0.1:9", "/dev/video0"}) {
    EXPECT_TRUE(is_live_address(live)) << live;
  }
  for (const char* file : {"clip.mp4", "a/b", "-", "://", "a b://c", "/dev/null", ""}) {
    EXPECT_FALSE(is_live_address(file)) << file;
  }
}

}  // namespace
}  // namespace perceiver
