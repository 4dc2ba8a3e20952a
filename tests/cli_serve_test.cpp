// `perceiver serve` as people start and end it. Its answers: perceiver/serve/service_test.cpp.
#include <nlohmann/json.hpp>

#include "perceiver/core/lines.h"
#include "perceiver/http/raw_client_test.h"
#include "tests/child.h"
#include "tests/program.h"

namespace perceiver {
namespace {

using namespace std::chrono_literals;

bool has_server() {
  static const bool has = run("serve -h").code == 0;
  return has;
}

// A server on a port of its own, which it says on stderr.
class CliServe : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_server()) GTEST_SKIP() << "this build has no server";
  }
  void TearDown() override { std::filesystem::remove(err); }

  void start(const std::string& options) {
    child.emplace("serve --port 0 --threads 1 " + options, err);
    for (int i = 0; i < 1200 && port == 0 && child->running(); ++i) {
      std::this_thread::sleep_for(50ms);
      const std::string said = std::filesystem::exists(err) ? read_file(err).bytes : "";
      const std::string before = "the routes at http://127.0.0.1:";
      const size_t at = said.find(before);
      if (at != said.npos) port = std::atoi(said.c_str() + at + before.size());
    }
    for (int i = 0; i < 1200 && get(port, "/health").status == 503; ++i) {
      std::this_thread::sleep_for(50ms);
    }
  }

  const std::string err = testing::TempDir() + "perceiver_serve_" + std::to_string(getpid());
  std::optional<Child> child;
  int port = 0;
};

TEST_F(CliServe, AnswersUntilItIsAskedToEnd) {
  start("-m language-mini");
  const std::string body = R"({"text": "He told me that he [MASK] never been there."})";
  const RawAnswer answer = ask(port, post_text("/fill", "application/json", body));
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_NE(answer.body.find("\"masks\""), std::string::npos);
  child->send(SIGTERM);
  const int status = child->wait();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  const std::string said = read_file(err).bytes;
  EXPECT_NE(said.find("stopping: what was accepted is answered first"), std::string::npos) << said;
  bool logged = false;
  for (const std::string& line : lines_of(said)) {
    if (!line.starts_with("{")) continue;
    const auto json = nlohmann::json::parse(line);
    logged |= json["path"] == "/fill" && json["status"] == 200;
  }
  EXPECT_TRUE(logged) << said;
}

TEST_F(CliServe, KeysAreOfAFileAndOptionsMayStandInTheEnvironment) {
  const std::string keys = testing::TempDir() + "perceiver_serve_keys";
  write_file(keys, "open-sesame\n");
  setenv("PERCEIVER_MODEL", "image-mini", 1);
  setenv("PERCEIVER_API_KEY_FILE", keys.c_str(), 1);
  start("");
  unsetenv("PERCEIVER_MODEL");
  unsetenv("PERCEIVER_API_KEY_FILE");
  EXPECT_EQ(get(port, "/info").status, 401);
  EXPECT_EQ(get(port, "/health").status, 200) << "needs no key";
  const RawAnswer info =
      ask(port, "GET /info HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer open-sesame\r\n\r\n");
  ASSERT_EQ(info.status, 200);
  const auto models = nlohmann::json::parse(info.body)["models"];
  ASSERT_EQ(models.size(), 1u);
  EXPECT_EQ(models[0]["id"], "image-mini");
  child->send(SIGINT);
  EXPECT_EQ(child->wait(), 0);
  std::filesystem::remove(keys);
}

TEST_F(CliServe, WhatIsWrongIsSaidBeforeItListens) {
  expect_complaint("serve --tls-cert x.pem", "--tls-cert and --tls-key: give both, or neither");
  expect_complaint("serve --api-key-file /no/such/file",
                   "/no/such/file: cannot open: No such file or directory");
  expect_complaint("serve -m image-mini -m image-mini",
                   "-m image-mini: a model of the name image-mini is served already; give each a "
                   "name of its own");
  EXPECT_EQ(run("serve --host no.such.host.invalid --port 0 -m image-mini").code, 1);
  start("-m image-mini");
  const Result taken = run("serve -q -m image-mini --port " + std::to_string(port));
  EXPECT_EQ(taken.code, 1);
  EXPECT_NE(taken.err.find("ddress already in use"), std::string::npos) << taken.err;
  child->send(SIGTERM);
  EXPECT_EQ(child->wait(), 0);
}

}  // namespace
}  // namespace perceiver
