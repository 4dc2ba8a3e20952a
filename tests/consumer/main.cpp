// What the README shows: models of the installed library on words, pictures, frames, a clip, and
// latents. The first argument is the installed share folder.
#include <perceiver/perceiver.h>

#include <iostream>

using namespace perceiver;
namespace fs = std::filesystem;

namespace {

void expect(bool holds, const char* what) {
  if (!holds) fail("expected that {}", what);
}

void fill_a_word(const fs::path& share) {
  Model model = load_model(share / "models/language-mini");
  const FilledText filled = fill(model, "He told me that he [MASK] never been in London before.");
  std::cout << filled.text << "\n";
  expect(filled.text.find("[MASK]") == std::string::npos, "the word is filled in");
}

void classify_a_picture(const fs::path& share) {
  Model model = load_model(share / "models/image-mini");
  const File picture = read_file(share / "samples/pictures/ship.png");
  const std::vector<RankedClass> top = classify(model, picture, 3);
  for (const RankedClass& one : top) std::cout << one.name << " " << one.probability << "\n";
  expect(top.size() == 3, "three classes are named");
  const AttendMaps maps = attend(model, std::span(&picture, 1), {.query = true});
  draw_maps(maps.shown(), maps.drawn(), "attention.png");
  expect(fs::exists("attention.png"), "the attention is drawn");
}

void estimate_motion(const fs::path& share) {
  Model model = load_model(share / "models/flow-mini");
  const fs::path frames = share / "samples/flow/camera";
  const Tensor first = decode_image(read_file(frames / "frame1.png"));
  const Tensor second = decode_image(read_file(frames / "frame2.png"));
  const FlowField field = estimate_flow(model, first, second);
  write_file("flow.flo", encode_flo(field.flow));
  std::cout << "flow " << to_string(field.flow.sizes()) << "\n";
  expect(field.flow.size(1) == first.size(1), "there is a vector for each pixel");
}

void autoencode_a_clip(const fs::path& share) {
  if (!video_is_built_in()) return;
  Model model = load_model(share / "configs/multimodal_mini.toml");  // random weights
  const File clip = read_file(share / "samples/clip.avi");
  const Autoencoded done = autoencode(model, clip, "clip", {.num_frames = 8});
  std::cout << done.num_frames << " frames, " << *done.video_psnr << " dB\n";
  expect(done.num_frames == 8, "eight frames come back");
}

void ask_latents(const fs::path& share) {
  Model model = load_model(share / "models/language-mini");
  const File text{"the text", "Paris is the capital of France."};
  const LatentsFile latents = encode(model, std::span(&text, 1));
  write_latents("paris.safetensors", latents);  // keep them, ask them again
  const Answer answer = query(model, latents, {.words = "4"});
  std::cout << answer.text;
  expect(answer.json["words"][0]["word"] == "capital", "the fourth word answers");
}

}  // namespace

int main(int, char** argv) {
  try {
    for (const auto& part :
         {fill_a_word, classify_a_picture, estimate_motion, autoencode_a_clip, ask_latents}) {
      part(argv[1]);
    }
  } catch (const Error& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
  return 0;
}
