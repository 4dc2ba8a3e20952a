#include "perceiver/weights/zip.h"

#include <gtest/gtest.h>

#include <cstring>

#include "perceiver/weights/weights_test.h"

namespace perceiver {
namespace {

using namespace std::string_literals;

template <typename T>
std::string number(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

struct Written {
  std::string name = "a", data = "hello", local_name = name;
  uint16_t method = 0, flags = 0;
  uint32_t size = static_cast<uint32_t>(data.size());
  int64_t offset = -1;  // of the local header; -1: where it is
};

std::string zip_of(const std::vector<Written>& entries, const std::string& comment = "") {
  std::string bytes, directory;
  for (const Written& e : entries) {
    const auto at = static_cast<uint32_t>(e.offset < 0 ? bytes.size() : e.offset);
    const auto data_size = static_cast<uint32_t>(e.data.size());
    const auto packed = e.method == 0 ? e.size : data_size;
    bytes += "PK\3\4"s + std::string(22, '\0') +
             number(static_cast<uint16_t>(e.local_name.size())) + number(uint16_t{0}) +
             e.local_name + e.data;
    directory += "PK\1\2"s + std::string(4, '\0') + number(e.flags) + number(e.method) +
                 std::string(8, '\0') + number(packed) + number(e.size) +
                 number(static_cast<uint16_t>(e.name.size())) + std::string(12, '\0') + number(at) +
                 e.name;
  }
  const auto count = static_cast<uint16_t>(entries.size());
  return bytes + directory + "PK\5\6\0\0\0\0"s + number(count) + number(count) +
         number(static_cast<uint32_t>(directory.size())) +
         number(static_cast<uint32_t>(bytes.size())) +
         number(static_cast<uint16_t>(comment.size())) + comment;
}

std::string error_in(const std::string& bytes) {
  return error_of([&] {
    const Zip zip(own_bytes({"x", bytes}));
    for (const auto& [name, entry] : zip.entries()) zip.read(name);
  });
}

TEST(Zip, StoredEntriesAreViewsOfTheFile) {
  const Bytes file = own_bytes({"x", zip_of({{}, {.name = "b/c", .data = "there"}}, "comment")});
  const Zip zip(file);
  EXPECT_EQ(zip.entries().size(), 2);
  const Bytes a = zip.read("a");
  EXPECT_EQ(a.data, "hello");
  EXPECT_EQ(a.owner, file.owner);
  EXPECT_EQ(zip.read("b/c").data, "there");
  EXPECT_EQ(error_of([&] { zip.read("d"); }), "x: zip has no 'd'");
}

TEST(Zip, DirectoryMustLieWhereItSays) {
  EXPECT_EQ(error_in("PK"), "x: zip without its end; cut short?");
  std::string bytes = zip_of({{}});
  EXPECT_EQ(error_in("junk" + bytes),
            "x: zip directory of 47 bytes at byte 36, expected to end at byte 87");
  EXPECT_EQ(error_in(bytes + "junk"), "x: zip without its end; cut short?");
  bytes[bytes.size() - 12] = 9;  // the number of entries
  EXPECT_EQ(error_in(bytes), "x: zip directory of 47 bytes, too few for 9 entries");
  bytes[bytes.size() - 12] = 0;
  EXPECT_EQ(error_in(bytes), "x: zip directory has 47 bytes too many");
  bytes[bytes.size() - 12] = bytes[bytes.size() - 11] = '\xff';
  EXPECT_EQ(error_in(bytes), "x: zip without the zip64 record that its end asks for");
  bytes[bytes.size() - 18] = 1;
  EXPECT_EQ(error_in(bytes), "x: zip over several disks");
}

TEST(Zip, EntriesMustBeWhereTheDirectorySays) {
  EXPECT_EQ(error_in(zip_of({{.offset = 1}})),
            "x: zip entry 'a' is not at byte 1, where the directory says");
  EXPECT_EQ(error_in(zip_of({{.offset = 4'000'000'000}})),
            "x: zip entry 'a' is not at byte 4000000000, where the directory says");
  EXPECT_EQ(error_in(zip_of({{.local_name = "b"}})),
            "x: zip entry 'a' has another name in its own header");
  EXPECT_EQ(error_in(zip_of({{.size = 4'000'000'000}})),
            "x: zip entry 'a' has 4000000000 bytes from byte 31, the next begins at 36");
}

TEST(Zip, OverlapsAndDuplicatesAreErrors) {
  EXPECT_EQ(error_in(zip_of({{.size = 6}, {.name = "b"}})),
            "x: zip entry 'a' has 6 bytes from byte 31, the next begins at 36");
  EXPECT_EQ(error_in(zip_of({{}, {.local_name = "b", .offset = 0}})),
            "x: zip entry 'a' is not at byte 0, where the directory says");
  EXPECT_EQ(error_in(zip_of({{}, {}})), "x: zip has 'a' twice");
}

TEST(Zip, BombsEncryptionAndOtherMethodsAreErrors) {
  EXPECT_EQ(error_in(zip_of({{.method = 8, .size = 4'000'000'000}})),
            "x: zip entry 'a' expands from 5 bytes to 4000000000, more than 100 times");
  EXPECT_EQ(error_in(zip_of({{.method = 8, .size = 100}})),
            "x: zip entry 'a' does not inflate to its 100 bytes");
  EXPECT_EQ(error_in(zip_of({{.flags = 1}})), "x: zip entry 'a' is encrypted");
  EXPECT_EQ(error_in(zip_of({{.method = 12}})),
            "x: zip entry 'a' is packed with method 12, expected stored (0) or deflated (8)");
}

TEST(Zip, EveryTruncationIsAnErrorAndEveryFlippedBitAnErrorOrAnAnswer) {
  const std::string bytes = zip_of({{}, {.name = "b/c", .data = "there"}});
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_NE(error_in(bytes.substr(0, length)), "no error") << length;
  }
  flip_every_bit(bytes, 0, bytes.size(), [](const std::string& flipped) { error_in(flipped); });
}

}  // namespace
}  // namespace perceiver
