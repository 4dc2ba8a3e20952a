// A server of small handlers, asked by clients that do not behave.
#include "perceiver/http/server.h"

#include <chrono>
#include <thread>

#include "perceiver/http/raw_client_test.h"
#include "perceiver/http/running_server_test.h"

namespace perceiver {
namespace {

constexpr int64_t kMost = 100000;

Router small_router() {
  Router router;
  router.add({.method = "GET",
              .pattern = "/health",
              .handle = [](HttpRequest, const Reply& reply) { reply({.body = "{}"}); },
              .open = true});
  router.add(
      {.method = "POST",
       .pattern = "/size/{name}",
       .handle =
           [](const HttpRequest& request, const Reply& reply) {
             reply({.content_type = "text/plain",
                    .body = request.parts.at("name") + " " + std::to_string(request.body.size())});
           },
       .most_bytes = kMost});
  router.add({.method = "GET", .pattern = "/slow", .handle = [](HttpRequest, Reply reply) {
                std::thread([reply] {
                  std::this_thread::sleep_for(std::chrono::milliseconds(300));
                  reply({.body = "slow"});
                }).detach();
              }});
  router.add({.method = "GET", .pattern = "/events", .handle = [](HttpRequest, const Reply& reply) {
                HttpResponse response{.content_type = "text/event-stream"};
                response.events = [n = 0]() mutable {
                  ++n;
                  return EventPoll{event_text("count", std::to_string(n)), n == 3};
                };
                reply(std::move(response));
              }});
  router.add({.method = "GET", .pattern = "/dropped", .handle = [](HttpRequest, const Reply&) {}});
  return router;
}

HttpOptions quick_options() {
  HttpOptions options{.port = 0};
  options.limits.head_seconds = 0.3;
  options.limits.body_seconds = 0.3;
  options.limits.idle_seconds = 5.0;
  return options;
}

class HttpServerTest : public testing::Test {
 protected:
  RunningServer server{quick_options(), small_router()};
  const uint16_t port = server.port();
};

TEST_F(HttpServerTest, RequestsOfOneConnectionAreAnsweredInTurn) {
  RawClient client(port);
  client.send("GET /health HTTP/1.1\r\nHost: x\r\n\r\n" +
              post_text("/size/a%2Fb", "text/plain", "xyz"));
  EXPECT_EQ(client.receive().body, "{}");
  const RawAnswer size = client.receive();
  EXPECT_EQ(size.body, "a/b 3");
  EXPECT_NE(size.head.find("Content-Type: text/plain\r\n"), std::string::npos);
}

TEST_F(HttpServerTest, AHeadHasNoBody) {
  RawClient client(port);
  client.send("HEAD /health HTTP/1.1\r\nHost: x\r\n\r\n");
  client.end_sending();
  EXPECT_TRUE(client.closes(5000));
  EXPECT_EQ(get(port, "/health").status, 200);
}

TEST_F(HttpServerTest, LargeBodiesAreRefusedBeforeTheyAreRead) {
  RawClient client(port);
  client.send("POST /size/x HTTP/1.1\r\nHost: x\r\nContent-Length: 100001\r\n\r\n");
  const RawAnswer refused = client.receive();
  EXPECT_EQ(refused.status, 413);
  EXPECT_EQ(refused.body,
            "{\"error\":\"the body has 100001 bytes, /size/{name} takes 100000 at most\"}\n");
  EXPECT_EQ(ask(port, post_text("/size/x", "a", std::string(kMost, 'x'))).body, "x 100000");
}

TEST_F(HttpServerTest, LargeBodiesInPiecesAreRefusedToo) {
  RawClient client(port);
  client.send("POST /size/x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
  const std::string piece = "4000\r\n" + std::string(0x4000, 'x') + "\r\n";
  for (int i = 0; i < 20 && client.send(piece); ++i) {
  }
  const RawAnswer refused = client.receive();
  EXPECT_EQ(refused.status, 413);
  EXPECT_EQ(refused.body,
            "{\"error\":\"the body is too large, /size/{name} takes 100000 bytes at most\"}\n");
}

TEST_F(HttpServerTest, ABodyInPiecesIsPutTogether) {
  EXPECT_EQ(ask(port,
                "POST /size/x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                "3\r\nabc\r\n2;a=b\r\nde\r\n0\r\n\r\n")
                .body,
            "x 5");
}

TEST_F(HttpServerTest, ManyHeadersAreRefused) {
  std::string request = "GET /health HTTP/1.1\r\n";
  for (int i = 0; i < 2000; ++i) request += "X-Header-" + std::to_string(i) + ": y\r\n";
  const RawAnswer refused = ask(port, request + "\r\n");
  EXPECT_EQ(refused.status, 431);
  EXPECT_EQ(refused.body, "{\"error\":\"the headers are longer than 16384 bytes\"}\n");
}

TEST_F(HttpServerTest, WhatIsNoHttpIsRefused) {
  EXPECT_EQ(ask(port, "\x16\x03\x01\x02 nonsense\r\n\r\n").status, 400);
  EXPECT_EQ(ask(port, "GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n").body,
            "{\"error\":\"the request's target is broken\"}\n");
  EXPECT_EQ(ask(port,
                "POST /size/x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                "-2\r\nabc")
                .status,
            400);
  EXPECT_EQ(ask(port, "POST /size/x HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd")
                .status,
            400);
  EXPECT_EQ(ask(port,
                "POST /size/x HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: "
                "chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
                .status,
            400);
  EXPECT_EQ(get(port, "/health").status, 200);
}

TEST_F(HttpServerTest, WhoSendsTooSlowlyIsTold) {
  RawClient head(port), body(port);
  head.send("GET /hea");
  body.send("POST /size/x HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_EQ(head.receive().body, "{\"error\":\"the headers did not come in time\"}\n");
  const RawAnswer late = body.receive();
  EXPECT_EQ(late.status, 408);
  EXPECT_EQ(late.body, "{\"error\":\"the body did not come in time\"}\n");
}

TEST_F(HttpServerTest, StalledClientsHinderNobody) {
  std::vector<std::unique_ptr<RawClient>> stalled;
  for (int i = 0; i < 50; ++i) {
    stalled.push_back(std::make_unique<RawClient>(port));
    stalled.back()->send("POST /size/x HTTP/1.1\r\nContent-Length: 1000\r\n\r\n");
  }
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(get(port, "/health").status, 200);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

TEST_F(HttpServerTest, AHalfClosedConnectionIsAnswered) {
  RawClient client(port);
  client.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
  client.end_sending();
  EXPECT_EQ(client.receive().body, "slow");
}

TEST_F(HttpServerTest, WhoAsksFirstIsToldToGoOn) {
  RawClient client(port);
  client.send(
      "POST /size/x HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.receive().status, 100);
  client.send("abc");
  EXPECT_EQ(client.receive().body, "x 3");
}

TEST_F(HttpServerTest, EventsComeOneByOne) {
  const RawAnswer events = get(port, "/events");
  EXPECT_NE(events.head.find("Content-Type: text/event-stream\r\n"), std::string::npos);
  EXPECT_EQ(events.body,
            "event: count\ndata: 1\n\nevent: count\ndata: 2\n\nevent: count\ndata: 3\n\n");
}

TEST_F(HttpServerTest, AHandlerThatForgetsIsReported) {
  EXPECT_EQ(get(port, "/dropped").status, 500);
}

TEST_F(HttpServerTest, StoppingAnswersWhatWasAccepted) {
  RawClient idle(port), waiting(port);
  waiting.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  server.stop();
  const RawAnswer answer = waiting.receive();
  EXPECT_EQ(answer.body, "slow");
  EXPECT_NE(answer.head.find("Connection: close\r\n"), std::string::npos);
  EXPECT_TRUE(idle.closes(2000));
  EXPECT_FALSE(RawClient(port).connected());
}

TEST(HttpServer, ConnectionsBeyondTheLimitTakeThePlaceOfThoseThatWait) {
  HttpOptions options = quick_options();
  options.limits.connections = 10;
  RunningServer server(options, small_router());
  std::vector<std::unique_ptr<RawClient>> idle;
  for (int i = 0; i < 200; ++i) idle.push_back(std::make_unique<RawClient>(server.port()));
  EXPECT_EQ(get(server.port(), "/health").status, 200);
  EXPECT_TRUE(idle.front()->closes(2000));
  EXPECT_LE(server.connections(), 11);
}

TEST(HttpServer, BodiesOfAllRequestsHaveALimitTogether) {
  HttpOptions options = quick_options();
  options.limits.body_memory = 150000;
  RunningServer server(options, small_router());
  RawClient first(server.port());
  first.send("POST /size/x HTTP/1.1\r\nHost: x\r\nContent-Length: 90001\r\n\r\n" +
             std::string(90000, 'x'));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const RawAnswer full = ask(server.port(), post_text("/size/x", "a", std::string(80000, 'x')));
  EXPECT_EQ(full.status, 503);
  EXPECT_EQ(full.body, "{\"error\":\"the bodies of all requests fill the memory for them\"}\n");
  EXPECT_NE(full.head.find("Retry-After: 1\r\n"), std::string::npos);
  EXPECT_TRUE(first.send("x"));
  EXPECT_EQ(first.receive().body, "x 90001");
}

TEST(HttpServer, WhatWasAnsweredIsTold) {
  std::vector<Exchange> exchanges;
  {
    RunningServer server(quick_options(), small_router(),
                         {.done = [&](const Exchange& done) { exchanges.push_back(done); }});
    ask(server.port(), post_text("/size/x", "a", "abc"));
    get(server.port(), "/nothing");
  }
  ASSERT_EQ(exchanges.size(), 2u);
  EXPECT_EQ(exchanges[0].route, "/size/{name}");
  EXPECT_EQ(exchanges[0].bytes_in, 3);
  EXPECT_EQ(exchanges[0].client, "127.0.0.1");
  EXPECT_EQ(exchanges[1].status, 404);
  EXPECT_EQ(exchanges[1].route, "");
}

TEST(HttpServer, APlaceThatCannotBeHadIsNamed) {
  RunningServer server(quick_options(), small_router());
  const auto router = std::make_shared<Router>();
  const uint16_t port = server.port();
  EXPECT_EQ(error_of([&] { HttpServer({.port = port}, router); }),
            "cannot listen on 127.0.0.1:" + std::to_string(port) + ": Address already in use");
  EXPECT_EQ(error_of([&] { HttpServer({.host = "no such host"}, router); }),
            "--host no such host: Host not found (authoritative)");
}

}  // namespace
}  // namespace perceiver
