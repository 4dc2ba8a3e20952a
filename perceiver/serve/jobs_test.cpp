#include "perceiver/serve/jobs.h"

#include <gtest/gtest.h>

#include <latch>

#include "perceiver/core/error.h"
#include "perceiver/core/file.h"

namespace perceiver {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::ordered_json;

std::string status_of(Jobs& jobs, const std::string& id) {
  const auto status = jobs.status(id);
  return status ? status->at("status").get<std::string>() : "gone";
}

std::string end_of(Jobs& jobs, const std::string& id) {
  for (int i = 0; i < 2000; ++i) {
    const std::string status = status_of(jobs, id);
    if (status != "waiting" && status != "running") return status;
    std::this_thread::sleep_for(5ms);
  }
  return "never";
}

JobTask quick() {
  return {.kind = "quick", .run = [](const std::filesystem::path& folder, const auto& go_on) {
            write_file(folder / "result.mp4", "film");
            go_on(0.5);
            return std::optional<Json>(Json{{"frames", 3}});
          }};
}

// Works until it is cancelled.
JobTask endless(std::latch& begun) {
  return {.kind = "endless", .run = [&begun](const auto&, const auto& go_on) {
            begun.count_down();
            while (go_on(0.25)) std::this_thread::sleep_for(1ms);
            return std::optional<Json>();
          }};
}

TEST(Jobs, GiveTheirResultUntilTheyAreForgotten) {
  Jobs jobs;
  const std::string id = *jobs.begin(quick());
  EXPECT_EQ(end_of(jobs, id), "done");
  EXPECT_EQ(jobs.status(id)->dump(), R"({"id":")" + id + R"(","kind":"quick","status":"done",)" +
                                         R"("progress":1.0,"result":{"frames":3}})");
  const std::filesystem::path result = jobs.result(id);
  EXPECT_EQ(read_file(result).bytes, "film");
  EXPECT_TRUE(jobs.forget(id));
  EXPECT_FALSE(std::filesystem::exists(result));
  EXPECT_EQ(jobs.status(id), std::nullopt);
}

TEST(Jobs, FailuresDoNotSayWhereFilesLie) {
  Jobs jobs;
  const std::string id = *jobs.begin(
      {.kind = "bad",
       .run = [](const std::filesystem::path& folder, const auto&) -> std::optional<Json> {
         fail("{}: is no clip", (folder / "clip.mp4").string());
       }});
  EXPECT_EQ(end_of(jobs, id), "failed");
  EXPECT_EQ(jobs.status(id)->at("error"), "clip.mp4: is no clip");
  EXPECT_EQ(jobs.result(id), "");
}

TEST(Jobs, AreCancelledWhileTheyWorkAndWhileTheyWait) {
  Jobs jobs;
  std::latch begun(1);
  const std::string first = *jobs.begin(endless(begun)), second = *jobs.begin(quick());
  begun.wait();
  EXPECT_EQ(status_of(jobs, first), "running");
  auto events = *jobs.events(first);
  EXPECT_TRUE(events().event.starts_with("event: progress\n"));
  EXPECT_EQ(events().event, "") << "nothing is new";
  EXPECT_TRUE(jobs.forget(second));
  EXPECT_EQ(status_of(jobs, second), "gone");
  EXPECT_EQ(jobs.unfinished(), 1);
  EXPECT_TRUE(jobs.forget(first));
  EventPoll last;
  for (int i = 0; i < 2000 && !last.ended; ++i) {
    last = events();
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_TRUE(last.event.starts_with("event: cancelled\n")) << last.event;
}

TEST(Jobs, NoMoreWaitThanMay) {
  Jobs jobs({.most_waiting = 1, .most_kept = 1});
  std::latch begun(1);
  const std::string running = *jobs.begin(endless(begun));
  begun.wait();
  const std::string waiting = *jobs.begin(quick());
  EXPECT_EQ(jobs.begin(quick()), std::nullopt);
  jobs.forget(running);
  EXPECT_EQ(end_of(jobs, waiting), "done");
  const std::string next = *jobs.begin(quick());
  EXPECT_EQ(end_of(jobs, next), "done");
  *jobs.begin(quick());
  EXPECT_EQ(status_of(jobs, waiting), "gone") << "of those that have ended, one is kept";
}

TEST(Jobs, EndWithTheirServer) {
  std::latch begun(1);
  Jobs jobs;
  jobs.begin(endless(begun));
  begun.wait();
}

}  // namespace
}  // namespace perceiver
