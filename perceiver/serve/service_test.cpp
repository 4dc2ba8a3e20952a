// A server with the shipped models, asked over the loopback: its answers are the library's.
#include "perceiver/serve/service.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "perceiver/core/base64.h"
#include "perceiver/core/json_text.h"
#include "perceiver/http/raw_client_test.h"
#include "perceiver/media/image.h"
#include "perceiver/media/video.h"
#include "perceiver/serve/openapi.h"
#include "perceiver/tasks/attend.h"
#include "perceiver/tasks/classify.h"
#include "perceiver/tasks/json.h"
#include "perceiver/tasks/language/fill_texts.h"
#include "perceiver/tasks/optical_flow/files.h"
#include "perceiver/tasks/optical_flow/pixel_attention.h"
#include "perceiver/tasks/query.h"
#include "perceiver/zoo/find.h"
#include "perceiver/zoo/fingerprint.h"
#include "perceiver/zoo/reference_io.h"

namespace perceiver {
namespace {

using Json = nlohmann::ordered_json;

class Running {
 public:
  explicit Running(ServeOptions options) : service_(std::move(options)) {
    thread_ = std::thread([this] { service_.run(); });
  }
  ~Running() {
    service_.stop();
    thread_.join();
  }
  uint16_t port() const { return service_.port(); }
  bool is_ready() const {
    for (int i = 0; i < 1200 && get(port(), "/health").status == 503; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return get(port(), "/health").status == 200;
  }

 private:
  Service service_;
  std::thread thread_;
};

ServeOptions small_options(std::vector<std::string> models) {
  ServeOptions options{.models = std::move(models)};
  options.http.port = 0;
  options.engine.threads = 1;
  options.version = "1.2.3";
  return options;
}

Model shipped_model(const std::string& name) {
  Model model = load_model(find_model(name));
  model.fingerprint = fingerprint(model);
  model.task->model().eval();
  return model;
}

File sample(const std::string& name) {
  const std::filesystem::path path = shipped("samples") / name;
  return {path.filename(), read_file(path).bytes};
}

class ServiceTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    at::set_num_threads(1);
    running = new Running(small_options({}));
    ASSERT_TRUE(running->is_ready());
  }
  static void TearDownTestSuite() { delete running; }

  static RawAnswer post(const std::string& path, const std::string& body,
                        const std::string& headers = "") {
    return perceiver::ask(running->port(), post_text(path, "application/json", body, headers));
  }
  static RawAnswer of(const std::string& path) { return get(running->port(), path); }
  static Json json(const RawAnswer& answer) { return Json::parse(answer.body); }

  static inline Running* running = nullptr;
  static inline const std::string kFrames =
      R"({"sample": "flow-objects-frame1.png,flow-objects-frame2.png"})";
  const at::NoGradGuard no_gradients;
};

TEST_F(ServiceTest, FillsAsTheVerb) {
  const std::string text = "He told me that he [MASK] never been in London before.";
  const RawAnswer answer = post("/fill", json_text(Json{{"text", text}, {"top", 2}}));
  ASSERT_EQ(answer.status, 200) << answer.body;
  Model model = shipped_model("language-mini");
  EXPECT_EQ(answer.body,
            json_text(with_origin(filled_json(text, fill(model, text, {.top = 2})), model)) + "\n");
  EXPECT_NE(answer.head.find("Server-Timing: queue;dur="), std::string::npos);
}

TEST_F(ServiceTest, ClassifiesAsTheVerb) {
  const File frog = sample("pictures/frog.png");
  const RawAnswer answer = post("/classify", R"({"sample": "pictures-frog.png"})");
  ASSERT_EQ(answer.status, 200) << answer.body;
  Model model = shipped_model("image-mini");
  EXPECT_EQ(json(answer)["top"], to_json(classify(model, frog)));
  EXPECT_EQ(json(answer)["origin"], "shipped");
  const RawAnswer body = ask(running->port(), post_text("/classify", "image/png", frog.bytes));
  EXPECT_EQ(body.body, answer.body);
}

TEST_F(ServiceTest, FindsFlowAsTheVerb) {
  const RawAnswer answer = post("/flow", kFrames, "Accept: application/octet-stream\r\n");
  ASSERT_EQ(answer.status, 200) << answer.body;
  Model model = shipped_model("flow-mini");
  const Tensor first = decode_image(sample("flow/objects/frame1.png"));
  const FlowField flow =
      estimate_flow(model, first, decode_image(sample("flow/objects/frame2.png")));
  EXPECT_EQ(answer.body, encode_field(flow, FlowFormat::kFlo, first, {}));
  const RawAnswer picture = post("/flow", kFrames, "Accept: image/png\r\n");
  EXPECT_EQ(picture.body, encode_field(flow, FlowFormat::kColours, first, {}));
  EXPECT_EQ(json(post("/flow", kFrames))["width"], 384);
  EXPECT_EQ(post("/flow", kFrames, "Accept: video/mp4\r\n").status, 406);
}

TEST_F(ServiceTest, EncodesAndQueriesAsTheVerbs) {
  Model model = shipped_model("flow-mini");
  const std::vector<File> frames = {sample("flow/objects/frame1.png"),
                                    sample("flow/objects/frame2.png")};
  LatentsFile file = encode(model, frames);
  file.model = "flow-mini";
  file.input = "flow-objects-frame1.png, flow-objects-frame2.png";
  const RawAnswer encoded = post("/encode", kFrames, "Accept: application/octet-stream\r\n");
  ASSERT_EQ(encoded.status, 200) << encoded.body;
  EXPECT_EQ(encoded.body, encode_latents(file));

  const Query question{.pixels = {"110,76", "0,0"}};
  const Json wanted = with_origin(full_json(query(model, file, question)), model);
  const RawAnswer asked =
      post("/query",
           json_text(Json{{"file", base64_text(encoded.body)}, {"pixels", {{110, 76}, {0, 0}}}}));
  ASSERT_EQ(asked.status, 200) << asked.body;
  EXPECT_EQ(json(asked), wanted);

  const Json kept = json(post("/latents", kFrames));
  EXPECT_EQ(kept["frame_size"], Json({224, 384}));
  EXPECT_EQ(kept["questions"], Json({"pixels", "box"}));
  const std::string place = "/latents/" + kept["id"].get<std::string>();
  EXPECT_EQ(json(of(place))["bytes"], kept["bytes"]);
  Json once = json(post(place + "/query", R"({"pixels": [[110, 76], [0, 0]]})"));
  EXPECT_GT(once["seconds"], 0.0);
  once.erase("seconds");
  EXPECT_EQ(once, wanted);
  const RawAnswer all = post(place + "/query", "{}", "Accept: application/octet-stream\r\n");
  EXPECT_EQ(all.body, encode_flo(query(model, file, {}).flow));

  const Json look = json(post(place + "/query", R"({"pixels": [[110, 76]], "attention": true})"));
  const PixelAttention seen = attention_of_pixel(model, file, "110,76");
  EXPECT_EQ(look["attention"]["left"], seen.left);
  EXPECT_EQ(std::ssize(look["attention"]["rows"]), seen.weights.size(0));
  EXPECT_NEAR(look["attention"]["rows"][3][5], seen.weights[3][5].item<double>(), 1e-4);

  EXPECT_EQ(ask(running->port(), "DELETE " + place + " HTTP/1.1\r\nHost: x\r\n\r\n").status, 204);
  EXPECT_EQ(post(place + "/query", "{}").status, 404);
}

TEST_F(ServiceTest, ShowsWhatLatentsLookAtAsTheVerb) {
  Model model = shipped_model("image-mini");
  const std::vector<File> files = {sample("pictures/frog.png")};
  const AttendMaps maps = attend(model, files, {.query = true});
  const Json answer =
      json(post("/attend", R"({"sample": "pictures-frog.png", "query": true, "weights": true})"));
  EXPECT_EQ(answer["maps"][0]["half_on"], to_json(maps)[0]["half_on"]);
  EXPECT_EQ(answer["view"]["grid"], maps.shown().grid);
  EXPECT_EQ(std::ssize(answer["maps"][0]["weights"]), maps.shown().grid[0]);
  const RawAnswer html =
      post("/attend", R"({"text": "A word.", "clusters": 2})", "Accept: text/html\r\n");
  EXPECT_TRUE(html.body.starts_with("<!doctype html>")) << html.body;
  EXPECT_EQ(post("/attend", R"({"text": "A.", "clusters": 2, "query": true})").status, 400);
}

TEST_F(ServiceTest, EmbeddingsAreTheMeanOfTheLatents) {
  Model model = shipped_model("language-mini");
  const File text{"the text", "It rains."};
  Application& task = application_of(model);
  const Tensor mean = task.encode(task.read(std::span(&text, 1))).mean(at::IntArrayRef{0, 1});
  const Json answer = json(post("/v1/embeddings", R"({"input": ["It rains.", "It rains."]})"));
  ASSERT_EQ(answer["data"].size(), 2u) << answer;
  const auto values = answer["data"][1]["embedding"].get<std::vector<float>>();
  EXPECT_TRUE(at::allclose(at::tensor(values), mean, 1e-5, 1e-6));
  EXPECT_EQ(answer["usage"]["prompt_tokens"], 18);
  const Json packed =
      json(post("/v1/embeddings", R"({"input": "It rains.", "encoding_format": "base64"})"));
  EXPECT_EQ(base64_bytes(packed["data"][0]["embedding"].get<std::string>())->size(),
            4 * values.size());
}

TEST_F(ServiceTest, TheOpenInferenceProtocolRunsTheReference) {
  Model model = shipped_model("language-mini");
  const Tensor ids = at::randint(6, 200, {1, 32}, at::kLong);
  const Tensor logits = run_reference(model, {{"ids", ids}}).at("logits");
  Json input = {{"name", "ids"}, {"datatype", "INT64"}, {"shape", {1, 32}}};
  input["data"] =
      std::vector<int64_t>(ids.data_ptr<int64_t>(), ids.data_ptr<int64_t>() + ids.numel());
  const RawAnswer answer =
      post("/v2/models/language-mini/infer", json_text(Json{{"id", "7"}, {"inputs", {input}}}));
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Json output = json(answer)["outputs"][0];
  EXPECT_EQ(output["shape"], logits.sizes().vec());
  const auto values = output["data"].get<std::vector<float>>();
  EXPECT_TRUE(at::tensor(values).equal(logits.flatten()));

  const Json about = json(of("/v2/models/language-mini"));
  EXPECT_EQ(about["inputs"][0]["name"], "ids");
  input["shape"] = {1, 1, 32};
  EXPECT_EQ(
      json(post("/v2/models/language-mini/infer", json_text(Json{{"inputs", {input}}})))["error"],
      "input 'ids' has the shape [1, 1, 32], expected [*, *]");
  EXPECT_EQ(of("/v2/models/nope").status, 404);
}

TEST_F(ServiceTest, MistakesGetTheirCodes) {
  EXPECT_EQ(post("/fill", R"({"text": "no mask"})").status, 422);
  EXPECT_EQ(post("/fill", R"({"text": "a [MASK]", "model": "nope"})").status, 404);
  EXPECT_EQ(post("/fill", R"({"text": "a [MASK]", "model": "flow-mini"})").status, 422);
  EXPECT_EQ(post("/fill", "{").status, 400);
  EXPECT_EQ(post("/fill", "{}", "Content-Encoding: gzip\r\n").status, 415);
  EXPECT_EQ(of("/fill").status, 405);
  EXPECT_EQ(of("/jobs/1").status, 404);
  EXPECT_EQ(of("/samples/..%2FREADME.md").status, 404);
  const Json broken = json(ask(running->port(), post_text("/classify", "image/png", "no picture")));
  EXPECT_NE(broken["error"].get<std::string>().find("body.png"), std::string::npos) << broken;
}

TEST_F(ServiceTest, SaysWhatItIs) {
  const Json info = json(of("/info"));
  EXPECT_EQ(info["version"], "1.2.3");
  EXPECT_EQ(info["models"].size(), json(of("/v1/models"))["data"].size());
  EXPECT_EQ(info.dump().find(shipped("models").string()), std::string::npos) << "no path of here";
  EXPECT_TRUE(of("/").body.starts_with("<!doctype html>"));
  std::set<std::string> kinds;
  for (const Json& one : json(of("/samples"))) {
    kinds.insert(one["kind"]);
    const RawAnswer file = of("/samples/" + one["name"].get<std::string>());
    EXPECT_EQ(file.status, 200) << one;
    EXPECT_NE(file.head.find("Content-Type: " + one["type"].get<std::string>()), std::string::npos);
  }
  EXPECT_EQ(kinds, (std::set<std::string>{"clip", "frame", "picture", "sentences", "sound"}));
  post("/fill", R"({"text": "a [MASK] b"})");
  EXPECT_NE(of("/metrics").body.find("perceiver_requests_total{route=\"/fill\",code=\"200\"}"),
            std::string::npos);
}

TEST_F(ServiceTest, EveryRouteIsDescribed) {
  const Json document = json(of("/docs/openapi.json"));
  const Json table = Json::parse(routes_json());
  for (const auto& [route, about] : table["routes"].items()) {
    const size_t space = route.find(' ');
    EXPECT_TRUE(
        document["paths"].contains(route.substr(space + 1)) &&
        document["paths"][route.substr(space + 1)].contains(lower_case(route.substr(0, space))))
        << route;
  }
}

TEST(Service, BeyondTheQueueIsTooMuchAndNothingIsLost) {
  ServeOptions options = small_options({"language-mini"});
  options.queue = 2;
  const Running running(std::move(options));
  ASSERT_TRUE(running.is_ready());
  std::atomic<int> answered = 0, refused = 0, other = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 3; ++j) {
        const RawAnswer answer = ask(
            running.port(), post_text("/fill", "application/json", R"({"text": "He [MASK] it."})"));
        ++(answer.status == 200 ? answered : answer.status == 429 ? refused : other);
        if (answer.status == 429 && answer.head.find("Retry-After: ") == std::string::npos) ++other;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(answered + refused, 24);
  EXPECT_GT(answered, 0);
  EXPECT_GT(refused, 0);
  EXPECT_EQ(other, 0);
}

TEST(Service, FailsWithTheReasonAModelCannotBeLoaded) {
  const std::string folder = testing::TempDir() + "perceiver_unloadable";
  std::filesystem::create_directories(folder);
  write_file(folder + "/config.json", "{}");
  Service service(small_options({folder}));
  EXPECT_THROW(service.run(), Error);
  std::filesystem::remove_all(folder);
}

constexpr const char* kClipModel = R"(
task = "multimodal"
[model]
num_frames = 4
image_size = 8
samples_per_frame = 320
samples_per_patch = 32
num_image_bands = 3
num_audio_bands = 5
num_classes = 11
label_query_channels = 20
output_channels = 12
train_queries = { audio = 4, image = 7 }
encoder = { num_latents = 6, latent_channels = 16, self_attends_per_block = 1 }
)";

TEST(Service, AClipComesBackAsAJob) {
  if (!video_is_built_in()) GTEST_SKIP() << "this build has no video";
  const std::string path = testing::TempDir() + "perceiver_serve_clips.toml";
  write_file(path, kClipModel);
  const Running running(small_options({path}));
  ASSERT_TRUE(running.is_ready());
  std::filesystem::remove(path);
  const RawAnswer begun = ask(running.port(), post_text("/autoencode", "application/json",
                                                        R"({"sample": "clip.avi", "frames": 8})"));
  ASSERT_EQ(begun.status, 202) << begun.body;
  const std::string place = "/jobs/" + Json::parse(begun.body)["id"].get<std::string>();
  EXPECT_NE(begun.head.find("Location: " + place), std::string::npos);
  const std::string events = get(running.port(), place + "/events").body;
  EXPECT_NE(events.find("event: done\n"), std::string::npos) << events;
  const Json status = Json::parse(get(running.port(), place).body);
  EXPECT_EQ(status["result"]["frames"], 8) << status;
  EXPECT_FALSE(status["result"].contains("output"));
  const RawAnswer film = get(running.port(), place + "/result");
  EXPECT_EQ(film.status, 200);
  EXPECT_EQ(film.body.substr(4, 4), "ftyp");
  EXPECT_EQ(ask(running.port(), "DELETE " + place + " HTTP/1.1\r\nHost: x\r\n\r\n").status, 204);
  EXPECT_EQ(get(running.port(), place).status, 404);
}

}  // namespace
}  // namespace perceiver
