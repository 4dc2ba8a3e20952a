// A server of one file over HTTP on this machine, for the tests of streams: a few bytes at a time,
// as a camera would send them.
#pragma once

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

namespace perceiver {

class StreamServer {
 public:
  // Everybody who asks gets the bytes, in as many pieces, with a pause after each.
  StreamServer(std::string bytes, int64_t pieces, std::chrono::milliseconds pause)
      : bytes_(std::move(bytes)),
        pieces_(pieces),
        pause_(pause),
        socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in place = {};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(place);
    EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&place), size), 0);
    EXPECT_EQ(listen(socket_, 4), 0);
    EXPECT_EQ(getsockname(socket_, reinterpret_cast<sockaddr*>(&place), &size), 0);
    port_ = ntohs(place.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~StreamServer() {
    stopped_ = true;
    shutdown(socket_, SHUT_RDWR);
    thread_.join();
    close(socket_);
  }
  StreamServer(const StreamServer&) = delete;

  std::string address() const { return "http://127.0.0.1:" + std::to_string(port_) + "/stream"; }

 private:
  void serve() {
    for (int client = 0; (client = accept(socket_, nullptr, nullptr)) >= 0;) {
      answer(client);
      close(client);
    }
  }

  void answer(int client) const {
    std::string request(4096, '\0');
    if (recv(client, request.data(), request.size(), 0) <= 0) return;
    bool open = give(client, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    const size_t size = bytes_.size() / pieces_ + 1;
    for (size_t at = 0; open && !stopped_ && at < bytes_.size(); at += size) {
      const std::string piece = bytes_.substr(at, size);
      open = give(client, fmt::format("{:x}\r\n{}\r\n", piece.size(), piece));
      std::this_thread::sleep_for(pause_);
    }
    if (open) give(client, "0\r\n\r\n");
  }

  static bool give(int client, const std::string& bytes) {
    for (size_t at = 0; at < bytes.size();) {
      const ssize_t sent = send(client, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
      if (sent <= 0) return false;
      at += static_cast<size_t>(sent);
    }
    return true;
  }

  const std::string bytes_;
  const int64_t pieces_;
  const std::chrono::milliseconds pause_;
  int socket_, port_ = 0;
  std::atomic<bool> stopped_ = false;
  std::thread thread_;
};

}  // namespace perceiver
