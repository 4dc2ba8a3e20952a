// Clips that are cut short, damaged, or cannot be written.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/media/drawn_clip_test.h"
#include "perceiver/media/video.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

TEST_F(Video, OtherFilesAreNoVideos) {
  EXPECT_EQ(error_of([] {
              VideoReader({"x.mp4", "hello there"});
            }),
            "x.mp4: not a video or sound: invalid data found when processing input");
  EXPECT_EQ(error_of([] { VideoReader({"x.mp4", ""}); }), "x.mp4: is empty, expected a video");
}

TEST_F(Video, NeverOpensAnotherFile) {
  const fs::path folder = empty_folder("playlist");
  write_clip(folder / "clip.ts", 48, 64, false);
  const std::string clip = (folder / "clip.ts").string();
  for (const std::string& list :
       {"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n" + clip + "\n#EXT-X-ENDLIST\n",
        "ffconcat version 1.0\nfile '" + clip + "'\n"}) {
    EXPECT_NE(error_of([&] { VideoReader({"list", list}); }), "no error") << list;
  }
}

TEST_F(Video, ThatIsCutShortIsAnErrorOrItsFirstFrames) {
  const fs::path folder = empty_folder("truncated");
  for (const std::string ending : {".mp4", ".mkv", ".avi"}) {
    const std::string bytes = read_file(write_clip(folder / ("clip" + ending))).bytes;
    const auto read = [](const std::string& bytes) {
      VideoReader reader({"x", bytes});
      return all_frames(reader);
    };
    const std::vector<Tensor> whole = read(bytes);
    // All lengths would take minutes; in the last part are the tables of contents.
    const size_t last_part = bytes.size() - std::min<size_t>(bytes.size(), 2000);
    for (size_t length = 0; length < bytes.size(); length += length < last_part ? 997 : 53) {
      std::vector<Tensor> frames;
      const std::string error = error_of([&] { frames = read(bytes.substr(0, length)); });
      if (error != "no error") continue;
      // The pictures of an MP4 are found through its end, so they are all there or none.
      if (ending == ".mp4") {
        EXPECT_EQ(frames.size(), kFrames) << length;
      }
      ASSERT_LE(frames.size(), kFrames) << ending << " " << length;
      for (size_t i = 0; i < frames.size(); ++i) {
        EXPECT_TRUE(frames[i].equal(whole[i])) << ending << " " << length << " frame " << i;
      }
    }
  }
}

TEST_F(Video, ThatIsCutShortSaysSo) {
  const fs::path folder = empty_folder("cut");
  const auto error_in = [](const std::string& bytes) {
    return error_of([&] {
      VideoReader reader({"x", bytes});
      all_frames(reader);
    });
  };
  const std::string flv = read_file(write_clip(folder / "clip.flv", 48, 64, false)).bytes;
  // In the last frame, before 20 bytes that end the stream.
  EXPECT_EQ(error_in(flv.substr(0, flv.size() - 30)), "x: broken; cut short?");

  // As in an MP4 that begins with its table: a place in it lies beyond the end.
  std::string mp4 = read_file(write_clip(folder / "clip.mp4")).bytes;
  mp4[mp4.find("stco") + 12] = 1;
  const std::string error = error_in(mp4);
  EXPECT_TRUE(error.starts_with(
      fmt::format("x: {} bytes, its table of contents goes on to 167", mp4.size())))
      << error;
  EXPECT_TRUE(error.ends_with("; cut short?")) << error;
}

TEST_F(Video, WithAFlippedBitIsAnErrorOrAnAnswer) {
  const fs::path folder = empty_folder("flipped");
  for (const std::string ending : {".mp4", ".mkv", ".avi"}) {
    const std::string bytes = read_file(write_clip(folder / ("clip" + ending))).bytes;
    for (size_t i = 0; i < bytes.size(); i += 1 + bytes.size() / 100) {
      std::string flipped = bytes;
      flipped[i] = static_cast<char>(flipped[i] ^ (1 << i % 8));
      error_of([&] {
        VideoReader reader({"x", flipped});
        all_frames(reader);
      });
    }
  }
}

TEST_F(Video, ThatCannotBeWrittenIsNamedAndLeavesNothing) {
  EXPECT_EQ(error_of([] { write_clip("/nope/clip.mp4"); }),
            "/nope/clip.mp4: cannot write: No such file or directory");
  const fs::path folder = empty_folder("full");
  for (const char* ending : {".mp4", ".mkv"}) {
    const fs::path full = folder / (std::string("full") + ending);
    fs::create_symlink("/dev/full", full);
    EXPECT_EQ(error_of([&] { write_clip(full); }),
              full.string() + ": cannot write: No space left on device");
  }
  { VideoWriter unfinished(folder / "half.mp4", {48, 64, 25}); }
  EXPECT_EQ(error_of([&] {
              VideoWriter(folder / "a.mp4", {48, 64, 25}).finish();
            }),
            (folder / "a.mp4").string() + ": a video without frames");
  EXPECT_EQ(sorted_entries(folder).size(), 2);  // the links
}

}  // namespace
}  // namespace perceiver
