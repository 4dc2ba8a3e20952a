"""Models by name, folder or hub id, and what they can do."""

import json
import os
import tempfile
import warnings
from pathlib import Path

import torch

from . import _arrays, _results
from ._library import call, classes

_DTYPES = {torch.float32: "float32", torch.bfloat16: "bfloat16", torch.float16: "float16"}


def load(name, *, device="cpu", dtype="float32", semantics=None):
    """A model that ships with the package ("flow-mini"), a folder, a checkpoint, a hub id, a run.

    `semantics` "deepmind" or "huggingface" computes as that code does where the two differ; without
    it a model computes as the one it comes from.
    """
    return Model(name, device=device, dtype=dtype, semantics=semantics)


def _listed(value):
    """3, [3, 5], "3,5-7" -> as the program takes it"""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return ",".join(str(one) for one in (value if isinstance(value, (list, tuple)) else [value]))


def _answer_kind(latents):
    return latents._kind if isinstance(latents, Latents) else (lambda tensor: tensor)


class Latents:
    """What `Model.encode` gives and `Model.query` takes. `Latents(path)` reads a file of them."""

    def __init__(self, path):
        self._kind = lambda tensor: tensor
        self._native = call(classes.Latents, os.fspath(path))

    @classmethod
    def _of(cls, native, kind):
        self = cls.__new__(cls)
        self._native, self._kind = native, kind
        return self

    @property
    def array(self):
        """[parts, N, D]"""
        return self.arrays["latents"]

    @property
    def arrays(self):
        return {name: self._kind(x) for name, x in call(self._native.arrays).items()}

    @property
    def facts(self):
        return json.loads(call(self._native.facts))

    def save(self, path):
        call(self._native.save, os.fspath(path))

    def __repr__(self):
        return f"Latents({' x '.join(map(str, self.array.shape))}, {self.facts['task']})"


class Model:
    """A model that is ready to be used. Any number of threads may call it."""

    def __init__(self, name, *, device="cpu", dtype="float32", semantics=None):
        self._native = call(classes.Model, os.fspath(name), semantics or "")
        facts = json.loads(call(self._native.facts))
        self.source, self.task, self.origin = facts["source"], facts["task"], facts["origin"]
        self.labels, self.parameters = facts["labels"], facts["parameters"]
        self.settings = facts["settings"]
        if facts["random"]:
            warnings.warn(f"{self.source}: the weights are random, so the answers mean nothing",
                          stacklevel=3)
        self.to(device, dtype)

    def __repr__(self):
        return f"Model({self.source!r}, {self.task}, {self.parameters:,} parameters)"

    def to(self, device="cpu", dtype="float32"):
        self.device, self.dtype = str(device), _DTYPES.get(dtype, dtype)
        call(self._native.to, self.device, self.dtype)
        return self

    def fill(self, text, *, top=5, num_bytes=None):
        """Words for each [MASK] in the text; `num_bytes` long, where that is said."""
        filled = json.loads(call(self._native.fill, text, top, num_bytes))
        masks = [_results.FilledMask([_results.Word(one["word"], one["probability"])
                                      for one in mask["candidates"]]) for mask in filled["masks"]]
        return _results.FilledText(filled["filled"], masks)

    def classify(self, inputs, *, pair=None, tasks=None, top=5, batch=8):
        """The likeliest classes of a picture, a text, a sound or a file; of a list, of each.

        `tasks` ("all", or names) asks a model of several tasks -> a dict of answers.
        """
        if tasks is not None:
            return self._answer_tasks(inputs, pair, tasks)
        several = isinstance(inputs, (list, tuple)) or (
            _arrays.is_array(inputs) and len(inputs.shape) == 4)
        given = list(inputs) if several else [inputs]
        sources = [_arrays.source(x, f"input {i}" if several else "the input")
                   for i, x in enumerate(given)]
        second = None if pair is None else _arrays.source(pair, "pair")
        answers = json.loads(call(self._native.classify, sources, second, top, batch))
        ranked = [_results.classes(rows) for rows in answers]
        return ranked if several else ranked[0]

    def _answer_tasks(self, text, pair, tasks):
        texts = [_arrays.source(x, "the text") for x in (text, pair) if x is not None]
        names = [tasks] if isinstance(tasks, str) else list(tasks)
        return json.loads(call(self._native.answer_tasks, texts, names))

    def flow(self, first, second):
        """Frames uint8 [3, H, W] or [H, W, 3] of any size, or files -> [2, H, W] in pixels.

        Frames [B, 3, H, W] or [B, H, W, 3] -> [B, 2, H, W].
        """
        kind = _arrays.same_kind(first, second)
        if _arrays.is_array(first) and len(first.shape) == 4:
            if not _arrays.is_array(second) or len(second) != len(first):
                raise ValueError("as many second frames as first ones are expected")
            pairs = zip(_arrays.picture(first), _arrays.picture(second))
            return kind(torch.stack([self._flow(a, b) for a, b in pairs]))
        return kind(self._flow(first, second))

    def _flow(self, first, second):
        return call(self._native.flow, _arrays.source(first, "the first frame"),
                    _arrays.source(second, "the second frame"))

    def encode(self, *inputs, video=None, audio=None):
        """The latents of a picture, a text, two frames or a file; of a clip in arrays by keyword.

        video uint8 [T, 3, H, W] at 25 frames a second, audio float [S]; one of them will do.
        """
        kind = _arrays.same_kind(*inputs, video, audio)
        if video is not None or audio is not None:
            return Latents._of(call(self._native.encode_clip, *self._clip(video, audio)), kind)
        sources = [_arrays.source(x, f"input {i}") for i, x in enumerate(inputs)]
        return Latents._of(call(self._native.encode, sources), kind)

    def query(self, latents, *, pixels=None, box=None, frames=None, seconds=None, words=None,
              tasks=None, label=False, top=5):
        """Any outputs of latents: pixels [(x, y), …] and a box (x0, y0, x1, y1) from 0, frames
        and words from 1, seconds (from, to), tasks by name, the label. Without any: what is usual.
        """
        if not isinstance(latents, Latents):
            raise TypeError(f"latents are {type(latents).__name__}, expected what encode() gave, "
                            "or perceiver.Latents(path)")
        points = [p if isinstance(p, str) else f"{p[0]},{p[1]}" for p in pixels or []]
        span = seconds if isinstance(seconds, (str, type(None))) else f"{seconds[0]}-{seconds[1]}"
        names = [tasks] if isinstance(tasks, str) else list(tasks or [])
        question = call(classes.Question, points, _listed(box), _listed(frames), span or "",
                        _listed(words), names, label, top)
        values, arrays = call(self._native.query, latents._native, question)
        return _results.Answer(json.loads(values),
                               {name: latents._kind(x) for name, x in arrays.items()})

    def attend(self, *inputs, query=False, latents=(), clusters=6, seed=0, head=None):
        """What the latents look at in a picture, a text, two frames or a file: these latents, or
        all in so many clusters; with `query` what the class is read from.
        """
        kind = _arrays.same_kind(*inputs)
        sources = [_arrays.source(x, f"input {i}") for i, x in enumerate(inputs)]
        found, arrays = call(self._native.attend, sources, query, list(latents), clusters, seed,
                             head)
        found = json.loads(found)
        views = []
        for view in found["views"]:
            pictures = arrays.get("pictures." + view["modality"])
            views.append(_results.View(view["modality"], view["first"], tuple(view["grid"]),
                                       tuple(view.get("texts", ())),
                                       None if pictures is None else kind(pictures)))
        return _results.AttendMaps([one["name"] for one in found["maps"]], kind(arrays["weights"]),
                                   views, found["maps"])

    @staticmethod
    def _clip(video, audio):
        return (None if video is None else _arrays.picture(video),
                None if audio is None else _arrays.tensor_of(audio))

    def autoencode(self, clip=None, *, video=None, audio=None, masked=(), top=5):
        """A clip through one latent array and back: a file, or arrays as encode() takes them.

        `masked` "video" or "audio" is hidden from the model, which fills it in.
        """
        hidden = [masked] if isinstance(masked, str) else list(masked)
        kind = _arrays.same_kind(video, audio)
        if clip is not None:
            found, arrays = call(self._native.autoencode_file, os.fspath(clip), hidden, top)
        else:
            found, arrays = call(self._native.autoencode, *self._clip(video, audio), hidden, top)
        found = json.loads(found)
        return _results.Autoencoded(kind(arrays["video"]), kind(arrays["audio"]), found["psnr"],
                                    _results.classes(found["top"]))

    def run(self, inputs, outputs=()):
        """Arrays by name, exactly as the reference computes that the weights come from -> outputs.

        Of a model of arrays of one's own: its inputs, with an axis of examples in front, or a file.
        """
        if self.task == "arrays":
            return self._run_arrays(inputs)
        if not isinstance(inputs, dict):
            raise TypeError(f"inputs are {type(inputs).__name__}, expected a dict of arrays")
        kind = _arrays.same_kind(*inputs.values())
        tensors = {name: _arrays.tensor_of(x) for name, x in inputs.items()}
        found = call(self._native.run, tensors, list(outputs))
        return {name: kind(x) for name, x in found.items()}

    def _run_arrays(self, inputs):
        if not isinstance(inputs, dict):
            return dict(call(self._native.run_file, os.fspath(inputs)))
        import numpy
        kind = _arrays.same_kind(*inputs.values())
        with tempfile.TemporaryDirectory(prefix="perceiver_") as folder:
            path = Path(folder) / "inputs.npz"
            numpy.savez(path, **{name: _arrays.tensor_of(x).cpu().numpy()
                                 for name, x in inputs.items()})
            found = call(self._native.run_file, str(path))
        return {name: kind(x) for name, x in found.items()}
