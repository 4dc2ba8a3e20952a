#include "perceiver/serve/asked.h"

#include <gtest/gtest.h>

#include "perceiver/serve/refused.h"

namespace perceiver {
namespace {

const Samples& samples() {
  static const Samples all;
  return all;
}

Asked asked(const std::string& route, const std::string& type, const std::string& body,
            std::map<std::string, std::string> query = {}) {
  return Asked({.query = std::move(query), .headers = {{"content-type", type}}, .body = body},
               route, samples());
}

Asked json(const std::string& route, const std::string& body) {
  return asked(route, "application/json", body);
}

// "400 why"
template <typename Function>
std::string refusal(const Function& function) {
  try {
    function();
  } catch (const Refused& refused) {
    return fmt::format("{} {}", refused.status(), refused.what());
  }
  return "none";
}

const std::string kForm =
    "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"../a/cat.png\"\r\n\r\nPNG\r\n"
    "--x\r\nContent-Disposition: form-data; name=\"top\"\r\n\r\n3\r\n--x--\r\n";

TEST(Asked, TheSameStandsInAFormInJsonAndInTheQuery) {
  const Asked form = asked("POST /classify", "multipart/form-data; boundary=x", kForm);
  const Asked object = json("POST /classify", R"({"file": "UE5H", "top": 3})");
  const Asked body = asked("POST /classify", "image/png", "PNG", {{"top", "3"}});
  for (const Asked* one : {&form, &object, &body}) {
    ASSERT_EQ(one->files().size(), 1u);
    EXPECT_EQ(one->files()[0].bytes, "PNG");
    EXPECT_EQ(one->number("top", 5), 3);
  }
  EXPECT_EQ(form.files()[0].name, "cat.png") << "and no folders";
}

TEST(Asked, WhatTheBodySaysCountsBeforeTheQuery) {
  EXPECT_EQ(asked("POST /fill", "application/json", R"({"text": "a", "top": 2})", {{"top", "9"}})
                .number("top", 5),
            2);
}

TEST(Asked, ListsHaveCommasOrBrackets) {
  const std::string route = "POST /latents/{id}/query";
  const std::vector<std::string> two = {"10,20", "30,40"};
  EXPECT_EQ(asked(route, "", "", {{"pixels", "10,20;30,40"}}).list("pixels"), two);
  EXPECT_EQ(json(route, R"({"pixels": [[10, 20], [30, 40]]})").list("pixels"), two);
  EXPECT_EQ(json(route, R"({"pixels": ["10,20", "30,40"]})").list("pixels"), two);
  EXPECT_EQ(json(route, R"({"tasks": ["cola", "sst2"]})").list("tasks"),
            asked(route, "", "", {{"tasks", "cola,sst2"}}).list("tasks"));
}

TEST(Asked, ATextIsAFileAndItsPairTheSecond) {
  const Asked one = json("POST /classify", R"({"text": "It rains.", "pair": "It is wet."})");
  EXPECT_TRUE(one.has_text());
  ASSERT_EQ(one.files().size(), 2u);
  EXPECT_EQ(one.files()[0].bytes, "It rains.");
  EXPECT_EQ(one.files()[1].bytes, "It is wet.");
}

TEST(Asked, SamplesAreKnownByNamesAlone) {
  const Asked one =
      json("POST /flow", R"({"sample": "flow-objects-frame1.png,flow-objects-frame2.png"})");
  ASSERT_EQ(one.files().size(), 2u);
  EXPECT_TRUE(one.files()[0].bytes.starts_with("\x89PNG"));
  EXPECT_EQ(refusal([] { json("POST /flow", R"({"sample": "../CMakeLists.txt"})"); }),
            "400 sample: there is no '../CMakeLists.txt'; see GET /samples");
}

TEST(Asked, MistakesAreNamed) {
  const std::string fill = "POST /fill";
  const auto of = [&](const std::string& body) { return refusal([&] { json(fill, body); }); };
  EXPECT_EQ(of("{"), "400 the body is no JSON: byte 2 is not what is expected there");
  EXPECT_EQ(of("[]"), "400 the body: expected an object, got array");
  EXPECT_EQ(of(R"({"text": "a", "tpo": 3})"),
            "400 unknown option 'tpo'; did you mean 'top'?; POST /fill takes text, sample, top, "
            "bytes, model");
  EXPECT_EQ(of(R"({"text": "a", "top": "3"})"), "400 top: expected integer, got string");
  EXPECT_EQ(of(R"({"text": "a", "top": 0})"), "400 top: expected 1 to 1000, got 0");
  EXPECT_EQ(of(R"({"text": ""})"), "400 text: is empty");
  EXPECT_EQ(of(R"({"top": 3})"), "400 POST /fill needs something to read; see /docs");
  EXPECT_EQ(of(R"({"text": "a", "sample": "sentences.txt"})"),
            "400 give files, a sample or a text, one of them alone");
  EXPECT_EQ(refusal([] { json("POST /classify", R"({"file": "?"})"); }), "400 file: is no base64");
  EXPECT_EQ(refusal([] {
              asked("POST /classify", "image/png", "x", {{"top", "many"}});
            }),
            "400 top: expected a whole number, got 'many'");
  EXPECT_EQ(refusal([] { asked("POST /flow", "application/x-www-form-urlencoded", "a=b"); }),
            "415 the body is of type 'application/x-www-form-urlencoded', POST /flow takes "
            "application/json, multipart/form-data, video/mp4");
  EXPECT_EQ(
      refusal([] { asked("POST /flow", "multipart/form-data; boundary=x", "--y"); }).substr(0, 4),
      "400 ");
}

TEST(Asked, JsonThatIsMeantToTakeMemoryIsRefused) {
  const auto of = [](const std::string& body) {
    return refusal([&] { json("POST /fill", body); });
  };
  EXPECT_EQ(of(std::string(100'000, '[')), "400 the body: JSON that is nested deeper than 16");
  std::string many = "[0";
  for (int i = 0; i < 100'000; ++i) many += ",0";
  EXPECT_EQ(of(many + "]"), "400 the body: JSON of more than 100000 values");
  EXPECT_EQ(of(R"({"top": 1e999})"), "400 the body has a number that cannot be read");
}

}  // namespace
}  // namespace perceiver
