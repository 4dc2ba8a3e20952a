// The built program, driven through a shell as a user would: for the tests of the verbs.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "perceiver/core/file.h"

namespace perceiver {

struct Result {
  int code;
  std::string out, err;
};

// What the program does with these arguments; a pipe or a redirection may follow them, and what
// stands in `before` comes before the program: a variable, or the left side of a pipe.
inline Result run(const std::string& arguments, const std::string& before = "") {
  const std::string stem = testing::TempDir() + "cli_" + std::to_string(getpid());
  const std::string command = before + " " + std::getenv("PERCEIVER_PROGRAM") + " " + arguments +
                              " >" + stem + ".out 2>" + stem + ".err";
  const int status = std::system(command.c_str());
  const Result result{WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(stem + ".out").bytes,
                      read_file(stem + ".err").bytes};
  std::filesystem::remove(stem + ".out");
  std::filesystem::remove(stem + ".err");
  return result;
}

inline std::string config(const std::string& name) { return (shipped("configs") / name).string(); }

inline void expect_complaint(const std::string& arguments, const std::string& message) {
  const Result result = run(arguments);
  EXPECT_EQ(result.code, 1) << arguments;
  EXPECT_EQ(result.err, "perceiver: " + message + "\n");
  EXPECT_EQ(result.out, "");
}

}  // namespace perceiver
