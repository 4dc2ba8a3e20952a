#include "perceiver/http/multipart.h"

#include <gtest/gtest.h>

#include "perceiver/core/error_test.h"

namespace perceiver {
namespace {

constexpr const char* kType = "multipart/form-data; boundary=\"a b\"";

// As curl writes it.
const std::string kForm =
    "--a b\r\nContent-Disposition: form-data; name=\"top\"\r\n\r\n3\r\n"
    "--a b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x.png\"\r\n"
    "Content-Type: Image/PNG; q=1\r\n\r\nbytes\r\n--a\r\n\r\n--a b--\r\n";

TEST(Multipart, PartsAreTakenApart) {
  const std::vector<FormPart> parts = parse_multipart(kForm, kType);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].name, "top");
  EXPECT_EQ(parts[0].file_name, "");
  EXPECT_EQ(parts[0].bytes, "3");
  EXPECT_EQ(parts[1].file_name, "x.png");
  EXPECT_EQ(parts[1].content_type, "image/png");
  EXPECT_EQ(parts[1].bytes, "bytes\r\n--a\r\n");
}

TEST(Multipart, WhatStandsAroundThePartsIsNotRead) {
  EXPECT_EQ(parse_multipart("hello\r\n" + kForm + "bye", kType).size(), 2u);
  EXPECT_TRUE(parse_multipart("--a b--", kType).empty());
}

TEST(Multipart, EveryTruncationIsRefused) {
  const size_t whole = kForm.size() - 2;  // the line break after the end may be missing
  for (size_t size = 0; size < whole; ++size) {
    EXPECT_NE(error_of([&] { parse_multipart(kForm.substr(0, size), kType); }), "no error") << size;
  }
}

TEST(Multipart, WhatIsWrongIsSaid) {
  const auto complaint = [](const std::string& body, const char* type = kType) {
    return error_of([&] { parse_multipart(body, type); });
  };
  constexpr const char* kNoBoundary =
      "multipart form: its Content-Type names no boundary of 1 to 70 characters";
  EXPECT_EQ(complaint(kForm, "multipart/form-data"), kNoBoundary);
  EXPECT_EQ(complaint(kForm, "multipart/form-data; boundary="), kNoBoundary);
  EXPECT_EQ(complaint("abc"), "multipart form: the boundary is not in the body");
  EXPECT_EQ(complaint("--a bx"), "multipart form: a boundary is followed by other bytes");
  EXPECT_EQ(complaint("--a b\r\n\r\nx\r\n--a b--"), "multipart form: a part has no name");
  EXPECT_EQ(complaint("--a b\r\nx\r\n\r\nx\r\n--a b--"),
            "multipart form: a part has a header without a colon");
  EXPECT_EQ(complaint("--a b\r\nx: y"), "multipart form: cut short in a header");
  EXPECT_EQ(complaint("--a b\r\nx: " + std::string(9000, 'y') + "\r\n\r\n"),
            "multipart form: a part has headers of more than 8192 bytes");
  EXPECT_EQ(complaint(kForm.substr(0, 60)), "multipart form: cut short in the part 'top'");
  std::string many = "--a b";
  for (int i = 0; i < 65; ++i) {
    many += "\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\n\r\n--a b";
  }
  EXPECT_EQ(complaint(many + "--"), "multipart form: more than 64 parts");
}

}  // namespace
}  // namespace perceiver
