#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "perceiver/weights/safetensors.h"
#include "tests/program.h"

namespace perceiver {
namespace {

using Json = nlohmann::json;

constexpr const char* kGolden = "tests/golden/huggingface/text-classifier";

// The language model's config, made tiny.
std::string tiny_config() {
  return config("language_bytes_mini.toml") +
         " model.num_inputs=32 model.encoder.num_latents=8 "
         "model.encoder.self_attends_per_block=1 ";
}

// So small a model is slower on several threads.
std::string tiny() { return "--threads 1 " + tiny_config(); }

const std::string kTinySweep =
    " channels=16 num_heads=2 num_layers=1 num_inputs=32 num_latents=8 num_outputs=32 "
    "decode_slice=16 smallest=16 largest=32 ";

TEST(CliBench, TellsTimesMemoryAndWhatAProductReachesInTheSameRun) {
  const Result result = run("bench --json --repeat 4 --batch 2 " + tiny());
  ASSERT_EQ(result.code, 0) << result.err;
  const Json document = Json::parse(result.out);
  EXPECT_EQ(document["mode"], "forward");
  EXPECT_EQ(document["device"], "cpu");
  EXPECT_EQ(document["dtype"], "float32");
  EXPECT_EQ(document["threads"], 1);
  EXPECT_GT(document["product_tflops"], 0.0);
  ASSERT_EQ(document["results"].size(), 1);
  const Json& one = document["results"][0];
  EXPECT_EQ(one["batch"], 2);
  EXPECT_EQ(one["seconds"]["all"].size(), 4);
  EXPECT_LE(one["seconds"]["fastest"], one["seconds"]["lower_quartile"]);
  EXPECT_LE(one["seconds"]["lower_quartile"], one["seconds"]["median"]);
  EXPECT_LE(one["seconds"]["median"], one["seconds"]["upper_quartile"]);
  EXPECT_LE(one["seconds"]["upper_quartile"], one["seconds"]["slowest"]);
  const double median = one["seconds"]["median"];
  EXPECT_DOUBLE_EQ(one["examples_per_second"], 2.0 / median);
  EXPECT_DOUBLE_EQ(one["tflops"], one["flops"].get<double>() / median / 1e12);
  EXPECT_DOUBLE_EQ(one["product_share"],
                   one["tflops"].get<double>() / document["product_tflops"].get<double>());
  EXPECT_GT(one["peak_memory_bytes"], 1 << 20);
  EXPECT_NE(result.err.find(", attention: streamed\n"), std::string::npos) << result.err;
}

TEST(CliBench, FlopsAreThoseThatInspectTells) {
  const Json measured = Json::parse(run("bench --json --repeat 1 " + tiny()).out);
  const Json inspected = Json::parse(run("inspect --json " + tiny_config()).out);
  EXPECT_EQ(measured["results"][0]["flops"].get<double>(), inspected["flops"].get<double>());
  EXPECT_EQ(measured["results"][0]["parameters"], inspected["parameters"]);
}

TEST(CliBench, ATrainingStepIsMeasuredWithoutData) {
  const Result result = run("bench --json --train --repeat 2 --batch 2 " + tiny());
  ASSERT_EQ(result.code, 0) << result.err;
  const Json document = Json::parse(result.out);
  EXPECT_EQ(document["mode"], "train");
  EXPECT_EQ(document["results"][0]["seconds"]["all"].size(), 2);
}

TEST(CliBench, FramesInTilesAreCountedAsFrames) {
  const Result result =
      run("bench --json --threads 1 --repeat 1 flow-conv-small-tiled model.encoder.num_latents=8 "
          "model.encoder.self_attends_per_block=1 model.patch_channels=2 model.num_bands=2");
  ASSERT_EQ(result.code, 0) << result.err;
  const Json one = Json::parse(result.out)["results"][0];
  EXPECT_EQ(one["name"], "flow-conv-small-tiled");
  EXPECT_DOUBLE_EQ(one["frames_per_second"], 1.0 / one["seconds"]["median"].get<double>());
}

TEST(CliBench, TablesForPeopleAndForMachinesNameTheModel) {
  const Result people = run("bench -q --repeat 1 " + tiny());
  EXPECT_EQ(people.err, "");
  EXPECT_TRUE(people.out.starts_with("forward passes on cpu, float32, ")) << people.out;
  EXPECT_NE(people.out.find("peak memory\n"), std::string::npos) << people.out;
  const Result csv = run("bench --csv --repeat 1 " + tiny());
  EXPECT_TRUE(csv.out.starts_with("name,mode,device,dtype,threads,batch,passes,")) << csv.out;
  EXPECT_NE(csv.out.find("language_bytes_mini.toml,forward,cpu,float32,"), std::string::npos);
  const Json line = Json::parse(run("bench --jsonl --repeat 1 " + tiny()).out);
  EXPECT_EQ(line["mode"], "forward");
  EXPECT_EQ(line["seconds"]["all"].size(), 1);
}

TEST(CliBench, ListShowsEveryNameWithWhatItIs) {
  const Result result = run("bench --list");
  EXPECT_EQ(result.code, 0);
  EXPECT_TRUE(result.out.starts_with("  language               masked language, 2048 bytes\n"));
  for (const std::string name :
       {"flow ", "imagenet-fourier ", "imagenet-conv ", "flow-tiled ", "flow-conv-tiled ",
        "flow-conv-small-tiled ", "multimodal ", "audioset "}) {
    EXPECT_NE(result.out.find("\n  " + name), std::string::npos) << name;
  }
}

TEST(CliBench, TurnsAreTakenALineAtATimeAndOutputsAreTheReferences) {
  const std::string out = testing::TempDir() + "perceiver_bench_out.safetensors";
  const std::string io = std::string(kGolden) + "/io.safetensors";
  const Result result = run(
      "bench -q --threads 1 --lockstep -m " + std::string(kGolden) + " --io " + io + " -o " + out,
      "printf '\\n\\n' |");
  ASSERT_EQ(result.code, 0) << result.err;
  std::istringstream lines(result.out);
  std::string ready, first, second, last;
  std::getline(lines, ready), std::getline(lines, first), std::getline(lines, second);
  std::getline(lines, last);
  EXPECT_EQ(ready, "{\"ready\":true}");
  EXPECT_GT(Json::parse(second)["seconds"], 0.0);
  EXPECT_EQ(Json::parse(last)["results"][0]["seconds"]["all"].size(), 2);
  const auto expected = read_safetensors(io).tensors.at("output.logits");
  const auto got = read_safetensors(out).tensors.at("output.logits");
  EXPECT_TRUE(got.allclose(expected, 0.0, 1e-5));
  std::filesystem::remove(out);
}

TEST(CliBench, AnInterruptPrintsWhatWasMeasuredSoFar) {
  const std::string stem = testing::TempDir() + "perceiver_bench_" + std::to_string(getpid());
  const std::string out = stem + ".out", turns = stem + ".turns";
  // It is interrupted after the first pass, while it waits for the second to be asked for.
  const std::string script =
      "mkfifo " + turns + "; " + std::getenv("PERCEIVER_PROGRAM") + " bench -q --lockstep " +
      tiny() + " <" + turns + " >" + out + " 2>/dev/null & pid=$!; until [ -p " + turns +
      " ]; do sleep 0.05; done; exec 3>" + turns + "; echo >&3; until grep -q seconds " + out +
      "; do sleep 0.05; done; kill -TERM $pid; echo >&3; wait $pid";
  const int status = std::system(script.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 128 + 15);
  const std::string text = read_file(out).bytes;
  const size_t last = text.rfind('\n', text.size() - 2) + 1;
  EXPECT_GE(Json::parse(text.substr(last))["results"][0]["seconds"]["all"].size(), 1) << text;
  std::filesystem::remove(out);
  std::filesystem::remove(turns);
}

TEST(CliBench, ASweepWritesACurveAndAPicture) {
  const std::string stem = testing::TempDir() + "perceiver_sweep";
  for (const std::string axis : {"inputs", "outputs", "latents"}) {
    const Result result = run("bench -q --threads 1 --sweep " + axis + kTinySweep + "-o " + stem);
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_TRUE(result.out.ends_with(stem + ".csv\n" + stem + ".svg\n")) << result.out;
    const std::string csv = read_file(stem + ".csv").bytes;
    EXPECT_TRUE(csv.starts_with(axis + ",perceiver_io_seconds,")) << csv;
    EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 3) << csv;
    const std::string svg = read_file(stem + ".svg").bytes;
    EXPECT_TRUE(svg.starts_with("<svg xmlns=")) << svg;
    EXPECT_NE(svg.find("A forward pass as " + axis + " grow"), std::string::npos);
  }
  std::filesystem::remove(stem + ".csv");
  std::filesystem::remove(stem + ".svg");
}

TEST(CliBench, AnUnknownInstructionSetIsNamed) {
  const Result result = run("bench -q " + tiny(), "PERCEIVER_ISA=avx3");
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.err, "perceiver: PERCEIVER_ISA is avx3; expected any, avx2, avx512 or amx\n");
}

TEST(CliBench, MistakesAreOneLine) {
  expect_complaint("bench langage", "unknown model 'langage'; did you mean 'language'?");
  expect_complaint("bench xyzzy",
                   "unknown model 'xyzzy'; 'perceiver bench --list' shows those with a name");
  expect_complaint("bench nowhere.toml",
                   "nowhere.toml: no such file, and no shipped config of that name");
  expect_complaint("bench -m ./nowhere", "./nowhere: no such file or folder");
  expect_complaint("bench language model.num_inputs=0",
                   "command line: 'model.num_inputs' must be at least 1, got 0");
  expect_complaint("bench flow-tiled --train",
                   "flow-tiled: frames in tiles have no training step; take flow");
  expect_complaint("bench flow-tiled --batch 2",
                   "flow-tiled: takes frames one at a time, not --batch");
  expect_complaint("bench language --train --dtype float16",
                   "--train: nothing is trained in float16; take bfloat16 or float32");
  expect_complaint("bench language -o out", "-o is for --sweep and for --io");
  const Result kernel = run("bench language --attention warp");
  EXPECT_EQ(kernel.code, 1);
  EXPECT_TRUE(kernel.err.starts_with("perceiver: unknown attention kernel 'warp'; known: "));
  expect_complaint("bench language flow --lockstep", "--lockstep measures one model, got 2");
}

TEST(CliBench, MistakesOfInputsAreOneLine) {
  const std::string io = " --io " + std::string(kGolden) + "/io.safetensors";
  expect_complaint("bench" + io, "--io belongs to one model, got 0");
  const std::string weights = std::string(kGolden) + "/model.safetensors";
  expect_complaint("bench -m " + std::string(kGolden) + " --io " + weights,
                   weights +
                       ": tensor 'perceiver.decoder.decoder.decoding_cross_attention.attention."
                       "output.dense.bias' must be named 'input.…' or 'output.…'");
  const std::string outputs = testing::TempDir() + "cli_bench_outputs.safetensors";
  write_safetensors(outputs, {{"output.logits", at::zeros({1, 3})}});
  expect_complaint("bench -m " + std::string(kGolden) + " --io " + outputs,
                   outputs + ": has no tensor named 'input.…'");
  std::filesystem::remove(outputs);
  expect_complaint("bench language --train" + io,
                   "--io holds inputs of a forward pass; leave out --train");
  expect_complaint("bench language --batch 2" + io,
                   "--io has a batch of its own; leave out --batch");
}

TEST(CliBench, MistakesOfASweepAreOneLine) {
  expect_complaint("bench --sweep inputs --train",
                   "--sweep measures forward passes; leave out --train");
  expect_complaint("bench --sweep inputs --batch 2",
                   "--sweep measures one example at a time; leave out --batch");
  expect_complaint("bench --sweep inputs language",
                   "--sweep measures models of its own, got 'language'; key=value pairs set their "
                   "sizes");
  expect_complaint("bench --sweep words",
                   "--sweep: unknown size 'words', expected inputs, outputs or latents");
  expect_complaint("bench --sweep inputs num_head=2",
                   "command line: unknown key 'num_head'; did you mean 'num_heads'?");
  expect_complaint("bench --sweep inputs smallest=64 largest=32",
                   "smallest (64) is more than largest (32)");
  expect_complaint("bench --sweep inputs channels=10",
                   "channels (10) must be a multiple of num_heads (8)");
}

}  // namespace
}  // namespace perceiver
