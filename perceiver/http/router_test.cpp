#include "perceiver/http/router.h"

#include <gtest/gtest.h>

namespace perceiver {
namespace {

Router small_router() {
  Router router;
  router.add({.method = "GET", .pattern = "/"});
  router.add({.method = "POST", .pattern = "/latents"});
  router.add({.method = "GET", .pattern = "/latents/{id}"});
  router.add({.method = "DELETE", .pattern = "/latents/{id}"});
  router.add({.method = "POST", .pattern = "/latents/{id}/query"});
  return router;
}

std::string found(const std::string& method, const std::string& path) {
  HttpRequest request{.method = method, .path = path};
  std::string allowed;
  const Router router = small_router();
  const Route* route = router.find(request, allowed);
  if (route == nullptr) return "none, " + allowed;
  return route->method + " " + route->pattern +
         (request.parts.count("id") ? " " + request.parts["id"] : "");
}

TEST(Router, PathsAreMatchedPartByPart) {
  EXPECT_EQ(found("GET", "/"), "GET /");
  EXPECT_EQ(found("HEAD", "/"), "GET /");
  EXPECT_EQ(found("POST", "/latents"), "POST /latents");
  EXPECT_EQ(found("GET", "/latents/7"), "GET /latents/{id} 7");
  EXPECT_EQ(found("POST", "/latents/a b/query"), "POST /latents/{id}/query a b");
  EXPECT_EQ(found("GET", "/latents/owner%2Fname"), "GET /latents/{id} owner/name");
}

TEST(Router, OtherPathsHaveNoRoute) {
  for (const char* path : {"", "/latent", "/latents/", "/latents//query", "/latents/7/query/",
                           "/latents/7/8/query", "//"}) {
    EXPECT_EQ(found("GET", path), "none, ") << path;
  }
}

TEST(Router, OtherMethodsAreNamed) {
  EXPECT_EQ(found("POST", "/latents/7"), "none, GET, DELETE");
  EXPECT_EQ(found("GET", "/latents"), "none, POST");
}

TEST(Router, ARequestIsAnsweredOnceAndAlways) {
  std::vector<int> statuses;
  const auto send = [&](const HttpResponse& response) { statuses.push_back(response.status); };
  {
    const Reply reply(send);
    reply({.status = 200});
    reply({.status = 201});
  }
  { const Reply dropped(send); }
  EXPECT_EQ(statuses, (std::vector<int>{200, 500}));
}

}  // namespace
}  // namespace perceiver
