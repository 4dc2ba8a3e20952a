// Gzip files, deflate block by deflate block (RFC 1951, 1952), forward only.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

struct z_stream_s;  // zlib's

namespace perceiver {

class GzipReader {
 public:
  explicit GzipReader(const std::filesystem::path& path);
  ~GzipReader();
  GzipReader(const GzipReader&) = delete;

  // Appends some text, all of one block; false: there is no more. A file may have several members.
  bool read(std::string& text);

  // Where in the file the block begins that the text just read is of. It is the file's own,
  // whatever library inflates it.
  int64_t block() const { return block_; }

 private:
  bool refill();  // false: the file has ended
  bool begin_member();
  int64_t position() const;  // in the file

  std::string name_;
  std::ifstream file_;
  std::string input_;
  std::unique_ptr<z_stream_s> stream_;
  int64_t read_ = 0;                // bytes of the file
  int64_t block_ = 0, coming_ = 0;  // where this block began, and where the next one does
  bool inside_ = false;             // a member
};

// All of it; fails where it is more than `most` bytes.
std::string read_gzip(const std::filesystem::path& path, int64_t most);

}  // namespace perceiver
