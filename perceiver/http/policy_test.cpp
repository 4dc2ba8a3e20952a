#include "perceiver/http/policy.h"

#include <gtest/gtest.h>

#include "perceiver/core/error_test.h"

namespace perceiver {
namespace {

const Route kWork = {.method = "POST", .pattern = "/fill"};
const Route kOpen = {.method = "GET", .pattern = "/health", .open = true};

std::string refusal(const HttpPolicy& policy, const Headers& headers, const Route* route = &kWork,
                    const std::string& allowed = "", const std::string& method = "POST") {
  const HttpRequest request{.method = method, .path = "/fill", .headers = headers};
  const auto response = answer_to_head(policy, request, route, allowed);
  return response ? std::to_string(response->status) + " " + response->body : "";
}

TEST(HttpPolicy, PathsAndMethodsThatThereAreNotAreNamed) {
  EXPECT_EQ(refusal({}, {}, nullptr), "404 {\"error\":\"no such path: /fill; see /docs\"}\n");
  EXPECT_EQ(refusal({}, {}, nullptr, "GET, DELETE"),
            "405 {\"error\":\"/fill is not for POST, which takes GET, DELETE\"}\n");
  EXPECT_EQ(refusal({}, {}, nullptr, "POST", "OPTIONS"), "204 ");
}

TEST(HttpPolicy, AKeyOpens) {
  const HttpPolicy policy{.keys = ApiKeys({"keys", "first\n\n second \n"})};
  constexpr const char* kRefused =
      "401 {\"error\":\"a key is missing or wrong; send it as Authorization: Bearer KEY or "
      "X-Api-Key: KEY\"}\n";
  EXPECT_EQ(refusal(policy, {}), kRefused);
  EXPECT_EQ(refusal(policy, {{"x-api-key", "third"}}), kRefused);
  EXPECT_EQ(refusal(policy, {{"x-api-key", ""}}), kRefused);
  EXPECT_EQ(refusal(policy, {{"authorization", "Basic first"}}), kRefused);
  EXPECT_EQ(refusal(policy, {{"x-api-key", "first"}}), "");
  EXPECT_EQ(refusal(policy, {{"authorization", "bearer  second"}}), "");
  EXPECT_EQ(refusal(policy, {}, &kOpen), "");
  EXPECT_EQ(error_of([] { ApiKeys({"keys", "\n \n"}); }), "keys: no key in it; write one a line");
}

TEST(HttpPolicy, PagesOfOthersMayNotAsk) {
  const Headers own = {{"host", "localhost:8080"}, {"origin", "http://localhost:8080"}};
  const Headers foreign = {{"host", "localhost:8080"}, {"origin", "https://a.example"}};
  EXPECT_EQ(refusal({}, own), "");
  EXPECT_EQ(refusal({}, foreign),
            "403 {\"error\":\"pages of https://a.example may not ask this server; start it with "
            "--cors to let them\"}\n");
  EXPECT_NE(refusal({}, {{"host", "x"}, {"origin", "null"}}), "");
  EXPECT_EQ(refusal({.cors = "*"}, foreign), "");
  EXPECT_EQ(refusal({.cors = "https://a.example"}, foreign), "");
  EXPECT_NE(refusal({.cors = "https://b.example"}, foreign), "");
}

TEST(HttpPolicy, AnOriginThatMayAskMayReadTheAnswer) {
  const HttpRequest request{.headers = {{"origin", "https://a.example"}}};
  HttpResponse open, closed;
  add_cors({.cors = "https://a.example"}, request, open);
  add_cors({}, request, closed);
  ASSERT_FALSE(open.headers.empty());
  EXPECT_EQ(open.headers[0].second, "https://a.example");
  EXPECT_TRUE(closed.headers.empty());
}

TEST(HttpPolicy, PackedBodiesAreRefused) {
  EXPECT_EQ(refusal({}, {{"content-encoding", "gzip"}}),
            "415 {\"error\":\"the body is packed (gzip); send it as it is\"}\n");
  EXPECT_EQ(refusal({}, {{"content-encoding", "identity"}}), "");
}

}  // namespace
}  // namespace perceiver
