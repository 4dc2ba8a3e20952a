// A client that says what it is told to, byte by byte: for tests of servers.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

namespace perceiver {

struct RawAnswer {
  int status = 0;  // 0: none came
  std::string head, body;
};

class RawClient {
 public:
  explicit RawClient(uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }
  ~RawClient() { ::close(socket_); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool connected() const { return connected_; }

  // False where the other side has closed.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  void end_sending() { ::shutdown(socket_, SHUT_WR); }

  // The next answer, by its Content-Length, or to the end of the connection.
  RawAnswer receive(int timeout_ms = 20000) {
    RawAnswer answer;
    while (got_.find("\r\n\r\n") == got_.npos) {
      if (!more(timeout_ms)) return answer;
    }
    answer.head = got_.substr(0, got_.find("\r\n\r\n") + 2);
    got_.erase(0, answer.head.size() + 2);
    answer.status = std::atoi(answer.head.c_str() + answer.head.find(' '));
    if (answer.status == 100) return answer;
    const size_t length = answer.head.find("Content-Length: ");
    if (length == answer.head.npos) {
      while (answer.status != 204 && more(timeout_ms)) {
      }
      answer.body = std::exchange(got_, "");
      return answer;
    }
    const size_t size = std::strtoul(answer.head.c_str() + length + 16, nullptr, 10);
    while (got_.size() < size && more(timeout_ms)) {
    }
    answer.body = got_.substr(0, size);
    got_.erase(0, size);
    return answer;
  }

  // Whether the other side closes, in so much time.
  bool closes(int timeout_ms) {
    while (more(timeout_ms)) {
    }
    return ended_;
  }

 private:
  bool more(int timeout_ms) {
    pollfd ready = {socket_, POLLIN, 0};
    if (::poll(&ready, 1, timeout_ms) <= 0) return false;
    std::string part(65536, '\0');
    const ssize_t size = ::recv(socket_, part.data(), part.size(), 0);
    if (size <= 0) ended_ = true;
    if (size > 0) got_.append(part, 0, static_cast<size_t>(size));
    return size > 0;
  }

  int socket_;
  bool connected_ = false, ended_ = false;
  std::string got_;
};

inline RawAnswer ask(uint16_t port, std::string_view request) {
  RawClient client(port);
  client.send(request);
  return client.receive();
}

inline RawAnswer get(uint16_t port, const std::string& path) {
  return ask(port, "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n");
}

inline std::string post_text(const std::string& path, const std::string& type,
                             const std::string& body, const std::string& headers = "") {
  return "POST " + path + " HTTP/1.1\r\nHost: x\r\nContent-Type: " + type + "\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace perceiver
