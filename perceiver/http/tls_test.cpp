#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <filesystem>

#include "perceiver/http/raw_client_test.h"
#include "perceiver/http/running_server_test.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

class HttpTls : public testing::Test {
 protected:
  HttpTls() {
    fs::create_directories(folder);
    const std::string command =
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "
        "/CN=localhost -keyout " +
        key + " -out " + certificate + " 2>/dev/null";
    made = std::system(command.c_str()) == 0;
  }
  ~HttpTls() override { fs::remove_all(folder); }

  const fs::path folder = fs::path(testing::TempDir()) / ("tls_" + std::to_string(getpid()));
  const std::string key = (folder / "key.pem").string();
  const std::string certificate = (folder / "cert.pem").string();
  bool made = false;
};

Router small_router() {
  Router router;
  router.add({.method = "GET", .pattern = "/", .handle = [](HttpRequest, const Reply& reply) {
                reply({.body = "hello"});
              }});
  return router;
}

int connected_socket(uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  return socket;
}

TEST_F(HttpTls, RequestsAreAnsweredBehindACertificate) {
  if (!made) GTEST_SKIP() << "no program 'openssl' to make a certificate with";
  RunningServer server({.port = 0, .certificate = certificate, .private_key = key}, small_router());
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  SSL* tls = SSL_new(context);
  const int socket = connected_socket(server.port());
  SSL_set_fd(tls, socket);
  ASSERT_EQ(SSL_connect(tls), 1);
  const std::string request = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  SSL_write(tls, request.data(), static_cast<int>(request.size()));
  std::string answer, part(4096, '\0');
  for (int size = 0; (size = SSL_read(tls, part.data(), 4096)) > 0;) answer.append(part, 0, size);
  EXPECT_TRUE(answer.ends_with("\r\n\r\nhello")) << answer;
  SSL_shutdown(tls);
  ::close(socket);
  SSL_free(tls);
  SSL_CTX_free(context);
  RawClient plain(server.port());
  plain.send("GET / HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(plain.closes(5000));
}

TEST_F(HttpTls, FilesThatAreNoneAreNamed) {
  const auto complaint = [](const fs::path& certificate, const fs::path& key) {
    return error_of([&] {
      HttpServer({.port = 0, .certificate = certificate, .private_key = key},
                 std::make_shared<Router>());
    });
  };
  EXPECT_EQ(complaint("cert.pem", ""), "--tls-cert and --tls-key: give both, or neither");
  EXPECT_TRUE(complaint("/none/cert.pem", "key.pem").starts_with("--tls-cert /none/cert.pem: "));
}

}  // namespace
}  // namespace perceiver
