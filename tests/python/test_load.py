"""Every method of a loaded model, with numpy and with torch."""

import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy
import pytest
import torch

import perceiver

TEXT = "He told me that he [MASK] never been in London before."


@pytest.fixture(scope="module")
def language():
    return perceiver.load("language-mini")


@pytest.fixture(scope="module")
def pictures():
    return perceiver.load("image-mini")


@pytest.fixture(scope="module")
def motion():
    return perceiver.load("flow-mini")


SMALL_CLIPS = """
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
"""


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    config = tmp_path_factory.mktemp("clips") / "clips.toml"
    config.write_text(SMALL_CLIPS)
    with pytest.warns(UserWarning, match="the weights are random, so the answers mean nothing"):
        return perceiver.load(config)


SMALL_TASKS = """
task = "glue"
[model]
tasks = ["cola", "mrpc", "stsb"]
num_inputs = 32
input_channels = 16
query_channels = 16
[model.encoder]
num_latents = 8
latent_channels = 16
self_attends_per_block = 2
cross_attend = { num_heads = 2, qk_channels = 8, v_channels = 16 }
self_attend = { num_heads = 2, qk_channels = 8, v_channels = 16 }
[model.decoder]
cross_attend = { num_heads = 2, qk_channels = 8, v_channels = 16 }
"""


@pytest.mark.filterwarnings("ignore:.*random")
def test_tasks_of_a_text(tmp_path):
    (tmp_path / "tasks.toml").write_text(SMALL_TASKS)
    model = perceiver.load(tmp_path / "tasks.toml")
    answers = model.classify("It rains.", pair="It is wet.", tasks="all")
    assert sorted(answers) == ["cola", "mrpc", "stsb"]
    assert 0 <= answers["stsb"]["value"] <= 5
    assert list(model.classify("It rains.", tasks=["cola"])) == ["cola"]
    assert sentence(model.classify, "It rains.", tasks="colb").startswith(
        "--task: the model has no task 'colb'; did you mean 'cola'?")


SMALL_SOUNDS = """
task = "audioset"
[model]
video = false
num_frames = 5
num_samples = 1600
samples_per_patch = 16
num_audio_bands = 4
num_classes = 3
query_channels = 16
encoder = { num_latents = 6, latent_channels = 16, num_blocks = 1, self_attends_per_block = 1 }
"""


@pytest.mark.filterwarnings("ignore:.*random")
def test_classes_of_a_sound(tmp_path, samples, kind):
    (tmp_path / "sounds.toml").write_text(SMALL_SOUNDS)
    model = perceiver.load(tmp_path / "sounds.toml")
    array, _ = kind
    sound = numpy.sin(numpy.arange(8000, dtype=numpy.float32) / 10)
    assert len(model.classify(array(sound))) == 3
    assert len(model.classify(samples / "sound.wav", top=2)) == 2


def sentence(call, *arguments, **keywords):
    with pytest.raises(perceiver.Error) as raised:
        call(*arguments, **keywords)
    return str(raised.value)


def test_facts(language, pictures):
    assert language.task == "language" and language.origin.startswith("shipped")
    assert pictures.labels[6] == "frog" and pictures.parameters > 1e6
    assert "model.encoder.num_latents = 64" in pictures.settings
    assert "imagenet" in repr(pictures)


def test_fill(language):
    filled = language.fill(TEXT, top=2)
    assert filled.text == TEXT.replace("[MASK]", "had")
    assert [word.text for word in filled.masks[0].words] == ["had", "have"]
    assert 0.3 < filled.masks[0].words[0].probability < 0.7


def test_classify_files(pictures, samples):
    frog = samples / "pictures" / "frog.png"
    best = pictures.classify(frog, top=1)
    assert [one.name for one in best] == ["frog"]
    assert pictures.classify([str(frog), frog], top=1) == [best, best]


def test_classify_arrays(pictures, picture, kind):
    array, _ = kind
    rows_first = pictures.classify(array(picture))
    assert len(rows_first) == 5
    assert pictures.classify(array(picture.transpose(2, 0, 1).copy())) == rows_first
    batch = pictures.classify(array(numpy.stack([picture, picture])))
    for one in batch:
        assert [c.index for c in one] == [c.index for c in rows_first]


def test_flow(motion, samples, picture, kind):
    array, made = kind
    other = numpy.roll(picture, 2, axis=1)
    flow = motion.flow(array(picture), array(other))
    assert isinstance(flow, made) and tuple(flow.shape) == (2, 40, 56)
    assert str(flow.dtype).endswith("float32")
    both = motion.flow(array(numpy.stack([picture, other])), array(numpy.stack([other, picture])))
    assert isinstance(both, made) and tuple(both.shape) == (2, 2, 40, 56)
    assert abs(both[0] - flow).max() <= 1e-4
    frames = samples / "flow" / "objects"
    assert motion.flow(frames / "frame1.png", frames / "frame2.png").shape[0] == 2


def test_encode_and_query_flow(motion, picture, kind, tmp_path):
    array, made = kind
    latents = motion.encode(array(picture), array(picture))
    assert isinstance(latents.array, made) and tuple(latents.array.shape[1:]) == (512, 256)
    answer = motion.query(latents, pixels=[(3, 4), (5, 6)])
    assert isinstance(answer.arrays["flow"], made) and tuple(answer.arrays["flow"].shape) == (2, 2)
    assert [row["x"] for row in answer.values["pixels"]] == [3, 5]
    latents.save(tmp_path / "z.safetensors")
    again = perceiver.Latents(tmp_path / "z.safetensors")
    assert again.facts == latents.facts and again.facts["geometry"]["frame_size"] == [40, 56]
    assert motion.query(again, box=(0, 0, 10, 5)).arrays["picture"].shape == (3, 5, 10)


def test_encode_and_query_text(language):
    latents = language.encode(TEXT)
    words = language.query(latents, words=6, top=1).values["words"]
    assert words[0]["candidates"][0]["word"] == "had"


def test_attend(pictures, language, picture, kind):
    array, made = kind
    maps = pictures.attend(array(picture), clusters=3)
    assert isinstance(maps.weights, made) and len(maps.names) == 3
    over = maps.over("image")
    assert isinstance(over, made) and tuple(over.shape) == (3, *maps.views[0].grid)
    assert isinstance(maps.views[0].pictures, made)
    assert abs(float(maps.weights.sum()) - 3) < 1e-3
    assert pictures.attend(array(picture), query=True).names == ["class query"]
    assert language.attend("a dark night", latents=[0, 3]).names == ["latent 0", "latent 3"]


def test_run(pictures, language, kind):
    array, made = kind
    pixels = numpy.random.default_rng(1).standard_normal((2, 32, 32, 3), numpy.float32)
    logits = pictures.run({"pixels": array(pixels)})["logits"]
    assert isinstance(logits, made) and tuple(logits.shape) == (2, 10)
    ids = array(numpy.full((1, 20), 70))
    found = language.run({"ids": ids}, outputs=["latents"])
    assert list(found) == ["latents"] and isinstance(found["latents"], made)


def clip(array):
    values = numpy.random.default_rng(2)
    return {"video": array(values.integers(0, 256, (6, 20, 24, 3), numpy.uint8)),
            "audio": array(values.random(6 * 320, numpy.float32) - 0.5)}


def test_autoencode(clips, kind):
    array, made = kind
    done = clips.autoencode(**clip(array), top=3)
    assert isinstance(done.video, made) and tuple(done.video.shape) == (6, 3, 8, 8)
    assert isinstance(done.audio, made) and tuple(done.audio.shape) == (6 * 320,)
    assert done.psnr["video"] > 0 and len(done.top) == 3
    silent = clips.autoencode(video=clip(array)["video"], masked="audio")
    assert silent.psnr["audio"] is None


def test_autoencode_a_file(clips, samples):
    done = clips.autoencode(samples / "sound.wav", masked=["video"])
    assert done.audio.shape[0] == done.video.shape[0] * 320


def test_encode_a_clip(clips, kind):
    array, made = kind
    latents = clips.encode(**clip(array))
    assert isinstance(latents.array, made) and tuple(latents.array.shape) == (2, 6, 16)
    colours = clips.query(latents, frames=[1, 6], pixels=[(1, 2)]).arrays["colours"]
    assert isinstance(colours, made) and tuple(colours.shape) == (2, 1, 3)
    assert len(clips.query(latents, label=True, top=4).values["top"]) == 4
    sound = clips.query(clips.encode(clip(array)["audio"]), seconds=(0, 0.1)).arrays["sound"]
    assert tuple(sound.shape)[-1] == 800


def test_own_arrays(tmp_path, kind):
    array, made = kind
    subprocess.run([sys.executable, "-m", "perceiver", "new", "points", tmp_path / "my"],
                   check=True)
    config = next((tmp_path / "my").glob("*.toml"))
    run = tmp_path / "run"
    subprocess.run([sys.executable, "-m", "perceiver", "train", config, "-o", run, "-q",
                    "train.steps=2", "train.batch=4"], check=True, cwd=tmp_path / "my")
    model = perceiver.load(run)
    assert model.task == "arrays"
    data = next((tmp_path / "my").rglob("*.npz"))
    with numpy.load(data) as file:
        inputs = {name: array(file[name][:3]) for name in file.files}
    found = model.run(inputs)
    assert found and all(isinstance(x, made) and len(x) == 3 for x in found.values())
    assert model.run(data).keys() == found.keys()


def test_two_threads_at_once(pictures, picture):
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(lambda _: pictures.classify(picture), range(6)))
    assert all(one == found[0] for one in found)


def test_bfloat16(pictures, picture):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        narrow = perceiver.load("image-mini", dtype=torch.bfloat16)
    assert narrow.classify(picture)[0].index == pictures.classify(picture)[0].index


def test_wrong_names_are_a_sentence(tmp_path):
    assert sentence(perceiver.load, "flow-mimi").startswith(
        "no model 'flow-mimi'; did you mean 'flow-mini'?; looked at ")
    assert sentence(perceiver.load, tmp_path).endswith(
        "config.json: cannot open: No such file or directory")
    assert sentence(perceiver.load, "flow-mini", semantics="torch") == (
        'semantics: expected "deepmind" or "huggingface", got "torch"')
    assert sentence(perceiver.load, "flow-mini", dtype="int8") == (
        'dtype: expected "float32", "bfloat16" or "float16", got "int8"')


def test_wrong_arrays_are_a_sentence(pictures, motion, clips, picture):
    assert sentence(pictures.classify, picture.astype(numpy.float32)) == (
        "the input is Float [3, 40, 56], expected a picture, uint8 [3, *, *] or [*, *, 3], or a "
        "sound, float [*]")
    assert sentence(pictures.classify, picture[:, :, 0]) == (
        "the input has shape [40, 56], expected [3, *, *] or [*, *, 3]")
    assert sentence(motion.flow, picture, picture[:10]) == (
        "the second frame has shape [3, 10, 56], expected [3, 40, 56]")
    assert sentence(clips.autoencode, video=picture, masked="audio") == (
        "video has shape [3, 40, 56], expected [*, 3, *, *]")
    assert sentence(clips.autoencode, video=numpy.zeros((2, 3, 8, 8), numpy.float32),
                    masked="audio") == "video is Float, expected uint8"
    assert sentence(clips.autoencode, video=numpy.zeros((2, 3, 8, 8), numpy.uint8)) == (
        'the clip has no audio; masked=["audio"] lets the model fill it in')
    assert sentence(clips.autoencode, video=numpy.zeros((2, 3, 8, 8), numpy.uint8),
                    audio=numpy.zeros(5, numpy.float32)) == (
        "audio has 5 samples, expected 640: 320 for each of 2 frames")
    assert sentence(pictures.run, {"pixel": picture}) == (
        "unknown input 'pixel'; did you mean 'pixels'?; the model takes: pixels")
    assert sentence(pictures.run, {"pixels": picture}) == (
        "pixels has shape [40, 56, 3], expected 4 dimensions")


def test_the_wrong_model_is_a_sentence(pictures, motion, language, picture, samples):
    assert sentence(pictures.fill, TEXT).endswith(
        "fill needs a model of the task language, got imagenet")
    assert sentence(language.flow, picture, picture).endswith(
        "flow needs a model of the task optical_flow, got language")
    latents = pictures.encode(samples / "pictures" / "frog.png")
    assert sentence(motion.query, latents).endswith("query them with the model that made them")
