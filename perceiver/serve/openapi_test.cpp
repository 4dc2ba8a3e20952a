#include "perceiver/serve/openapi.h"

#include <gtest/gtest.h>

#include <set>

namespace perceiver {
namespace {

using Json = nlohmann::ordered_json;

Router some_routes() {
  Router router;
  router.add({.method = "GET", .pattern = "/health", .open = true});
  router.add({.method = "POST", .pattern = "/classify", .works = true});
  router.add({.method = "DELETE", .pattern = "/latents/{id}"});
  router.add({.method = "POST", .pattern = "/v2/models/{model}/infer", .works = true});
  return router;
}

const Json& document() {
  static const Json made = openapi_document(some_routes(), "1.2.3");
  return made;
}

std::set<std::string> codes(const std::string& path, const std::string& method) {
  std::set<std::string> found;
  for (const auto& [code, answer] : document()["paths"][path][method]["responses"].items()) {
    found.insert(code);
  }
  return found;
}

TEST(OpenApi, HasTheRoutersRoutesAlone) {
  std::vector<std::string> paths;
  for (const auto& [path, methods] : document().at("paths").items()) paths.push_back(path);
  EXPECT_EQ(paths, (std::vector<std::string>{"/health", "/classify", "/latents/{id}",
                                             "/v2/models/{model}/infer"}));
  EXPECT_EQ(document()["info"]["version"], "1.2.3");
}

TEST(OpenApi, ErrorsAreThoseThatTheRouteCanGive) {
  EXPECT_EQ(codes("/health", "get"),
            (std::set<std::string>{"200", "400", "403", "404", "405", "408", "431", "503"}));
  EXPECT_EQ(codes("/latents/{id}", "delete"),
            (std::set<std::string>{"204", "400", "401", "403", "404", "405", "408", "422", "431",
                                   "503"}));
  EXPECT_EQ(codes("/v2/models/{model}/infer", "post"),
            (std::set<std::string>{"200", "400", "401", "403", "404", "405", "406", "408", "413",
                                   "415", "422", "429", "431", "503"}));
}

TEST(OpenApi, AnOptionMayStandInJsonInAFormAndInTheQuery) {
  const Json& operation = document()["paths"]["/classify"]["post"];
  const Json& content = operation["requestBody"]["content"];
  EXPECT_EQ(content["application/json"]["schema"]["properties"]["top"]["type"], "integer");
  EXPECT_EQ(content["application/json"]["schema"]["properties"]["task"]["type"], "array");
  EXPECT_EQ(content["multipart/form-data"]["schema"]["properties"]["task"]["type"], "string");
  EXPECT_TRUE(content["multipart/form-data"]["schema"]["properties"].contains("file"));
  EXPECT_TRUE(content.contains("image/png"));
  std::set<std::string> names;
  for (const Json& parameter : operation["parameters"]) names.insert(parameter["name"]);
  EXPECT_EQ(names, (std::set<std::string>{"sample", "text", "pair", "model", "top", "task"}));
}

TEST(OpenApi, EveryReferenceIsThere) {
  const Json all = document().flatten();
  int64_t references = 0;
  for (const auto& [place, value] : all.items()) {
    if (!place.ends_with("/$ref")) continue;
    ++references;
    const auto target = value.get<std::string>().substr(1);
    EXPECT_TRUE(document().contains(Json::json_pointer(target))) << target;
  }
  EXPECT_GT(references, 30);
}

TEST(OpenApi, ThePageForPeopleNamesEveryRoute) {
  const HttpResponse page = docs_page(document());
  EXPECT_EQ(page.content_type, "text/html; charset=utf-8");
  const Router router = some_routes();
  for (const Route& route : router.routes()) {
    EXPECT_NE(page.body.find("<code>" + route.method + " " + route.pattern + "</code>"),
              std::string::npos);
  }
  EXPECT_EQ(page.body.find("<script"), std::string::npos);
}

}  // namespace
}  // namespace perceiver
