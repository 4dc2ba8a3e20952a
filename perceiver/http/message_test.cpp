#include "perceiver/http/message.h"

#include <gtest/gtest.h>

namespace perceiver {
namespace {

TEST(HttpMessage, ATargetIsTakenApart) {
  const auto target = parse_target("/latents/a%20b/query?top=3&model=my+model&empty&x=%2B#there");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->path, "/latents/a b/query");
  EXPECT_EQ(target->query, (std::map<std::string, std::string>{
                               {"top", "3"}, {"model", "my model"}, {"empty", ""}, {"x", "+"}}));
}

TEST(HttpMessage, BrokenTargetsAreNone) {
  for (const char* text : {"", "x", "http://a/b", "/%", "/%2", "/%zz", "/a%00b", "/a?b=%q1", "*"}) {
    EXPECT_FALSE(parse_target(text)) << text;
  }
}

TEST(HttpMessage, ParametersOfAHeaderAreFound) {
  constexpr const char* kHeader =
      "form-data; Name=\"file\"; filename=\"a \\\"b\\\"; c.png\"; x=1 ;y";
  EXPECT_EQ(header_parameter(kHeader, "name"), "file");
  EXPECT_EQ(header_parameter(kHeader, "filename"), "a \"b\"; c.png");
  EXPECT_EQ(header_parameter(kHeader, "x"), "1");
  EXPECT_EQ(header_parameter(kHeader, "y"), "");
  EXPECT_EQ(header_parameter(kHeader, "z"), std::nullopt);
  EXPECT_EQ(header_parameter("a; b=\"open", "b"), std::nullopt);
}

TEST(HttpMessage, AnErrorIsJsonWhateverItQuotes) {
  const HttpResponse response = error_response(404, "no \"\xff\" here");
  EXPECT_EQ(response.status, 404);
  EXPECT_EQ(response.body, "{\"error\":\"no \\\"\xEF\xBF\xBD\\\" here\"}\n");
}

TEST(HttpMessage, HeadersAreFoundByTheirNames) {
  const HttpRequest request{.headers = {{"content-type", "Image/PNG; x=y"}}};
  EXPECT_EQ(request.content_type(), "image/png");
  EXPECT_EQ(request.header("accept"), "");
}

}  // namespace
}  // namespace perceiver
