// Models of arrays of one's own through a shell: asked, looked into, and trained on more data than
// memory holds.
#include <ATen/ATen.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "perceiver/weights/arrays.h"
#include "perceiver/weights/npy.h"
#include "tests/child.h"
#include "tests/program.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class CliOwnData : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder); }
  void TearDown() override { fs::remove_all(folder); }

  std::string path(const std::string& name) const { return (folder / name).string(); }
  Result here(const std::string& arguments) const {
    return run(arguments, "cd " + folder.string() + " &&");
  }

  const fs::path folder = fs::path(testing::TempDir()) / ("own_data_" + std::to_string(getpid()));
};

constexpr const char* kSmallModel =
    "\n[model.encoder]\nnum_latents = 4\nlatent_channels = 16\nself_attends_per_block = 1\n"
    "self_attend = {num_heads = 2}\n[train]\nsteps = 3\nbatch = 4\n[eval]\nexamples = 8\n";

TEST_F(CliOwnData, ATrainedModelIsEncodedAskedAnywhereAndLookedInto) {
  at::manual_seed(0);
  write_arrays(path("data.npz"), {{"seen", at::rand({20, 6, 3})},
                                  {"places", at::rand({20, 5, 2})},
                                  {"height", at::rand({20, 5}) * 100}});
  write_file(folder / "c.toml", std::string("task = 'arrays'\n[inputs.seen]\n[queries.height]\n"
                                            "at = 'places'\n") +
                                    kSmallModel);
  ASSERT_EQ(here("train c.toml -q --threads 1 --data data.npz -o run").code, 0);
  const Result encoded = here("encode -q data.npz -m run -o z.safetensors");
  ASSERT_EQ(encoded.code, 0) << encoded.err;
  EXPECT_EQ(encoded.out, "latents 20 x 4 x 16\nz.safetensors\n");
  ASSERT_EQ(here("run run data.npz -o ran.npz").code, 0);
  ASSERT_EQ(here("query -q z.safetensors -o asked.npz").code, 0);
  const Tensor ran = read_arrays(folder / "ran.npz").at("height");
  EXPECT_GT(ran.mean().item<float>(), 10.0f) << "in the user's units";
  EXPECT_TRUE(read_arrays(folder / "asked.npz").at("height").allclose(ran, 1e-3, 1e-3));

  write_arrays(path("grid.safetensors"), {{"places", at::rand({1, 8, 9, 2})}});
  const Result grid = here("query -q z.safetensors --at grid.safetensors");
  EXPECT_EQ(grid.code, 0) << grid.err;
  EXPECT_NE(grid.out.find("height  [20, 8, 9, 1]"), std::string::npos) << grid.out;
  const Result json = here("query -q z.safetensors --at grid.safetensors --json");
  EXPECT_EQ(Json::parse(json.out)["height"]["values"][19][7][8].size(), 1u);

  const Result looked = here("attend -q data.npz -m run --clusters 2 -o maps.npz");
  ASSERT_EQ(looked.code, 0) << looked.err;
  EXPECT_NE(looked.out.find("% of the input"), std::string::npos) << looked.out;
  EXPECT_EQ(read_arrays(folder / "maps.npz").at("seen").sizes().vec(),
            (std::vector<int64_t>{2, 6}));
  EXPECT_EQ(here("attend -q data.npz -m run --json").code, 0);
  expect_complaint("classify -q " + path("data.npz") + " -m " + path("run"),
                   path("run") +
                       "/best/model.safetensors: models of the task arrays answer by "
                       "'perceiver run'");
}

TEST_F(CliOwnData, AForecastNeedsNoMoreThanThePast) {
  std::string past = "load\n", all = "load\n";
  for (int i = 0; i < 40; ++i) all += std::to_string(i % 7) + "\n";
  for (int i = 0; i < 6; ++i) past += std::to_string(i % 7) + "\n";
  write_file(folder / "all.csv", all);
  write_file(folder / "past.csv", past);
  write_file(folder / "c.toml",
             std::string("task = 'arrays'\n[data.window]\nrows = 8\n[inputs.load]\n"
                         "has_channels = false\nrows = [0, 6]\n[queries.next]\ntarget = 'load'\n"
                         "learned = 2\nrows = [6, 8]\n") +
                 kSmallModel);
  ASSERT_EQ(here("train c.toml -q --threads 1 --data all.csv -o run").code, 0);
  EXPECT_EQ(here("run run past.csv").out, "next [1, 2, 1]\n");
}

// As numpy.save() would write zeros, but as a hole: it takes no room on the disk.
void write_zeros(const fs::path& path, const std::string& shape, uintmax_t values) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.resize(117, ' ');
  write_file(path, std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + "\n");
  fs::resize_file(path, 128 + values * sizeof(float));
}

// KiB that a process holds for itself: not the pages of mapped files, which the kernel takes back
// whenever it likes.
int64_t own_memory(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string word; status >> word;) {
    int64_t kib = 0;
    if (word == "RssAnon:" && status >> kib) return kib;
  }
  return 0;
}

TEST_F(CliOwnData, TenTimesTheMemoryThatIsTakenTrains) {
  const int64_t examples = 10240, gib = 1 << 20;
  fs::create_directories(folder / "data");
  write_zeros(folder / "data/x.npy", "10240, 512, 512", examples * 512 * 512);
  ASSERT_EQ(fs::file_size(folder / "data/x.npy") / 1024, 10 * gib);
  write_file(folder / "data/y.npy", encode_npy(at::rand({examples})));
  write_file(folder / "c.toml",
             std::string("task = 'arrays'\n[inputs.x]\nhas_channels = false\npatch = [32, 32]\n"
                         "[queries.y]\n") +
                 kSmallModel);
  Child train(
      "train -q --threads 1 " + path("c.toml") + " --data " + path("data") + " -o " + path("run"),
      path("err"));
  int64_t most = 0;
  while (train.running()) {
    most = std::max(most, own_memory(train.pid()));
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_EQ(train.wait(), 0) << read_file(folder / "err").bytes;
  EXPECT_TRUE(fs::exists(folder / "run/best"));
  EXPECT_GT(most, gib / 100) << "was it seen at all?";
  EXPECT_LT(most, gib);
  RecordProperty("most_kib", static_cast<int>(most));
}

}  // namespace
}  // namespace perceiver
