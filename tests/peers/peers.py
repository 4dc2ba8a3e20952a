"""Compares `perceiver run` and `perceiver convert` with Hugging Face's transformers.

tools/peers.sh runs it with transformers installed. For every architecture a model is built there
with random weights and saved; the program must say the same of the same inputs, and transformers
must load what the program converts, and what it trains, and say the same again.
"""

import argparse
import csv
import gc
import json
import os
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import torch
from safetensors.torch import load_file, save_file
from transformers import PerceiverConfig
from transformers.utils.logging import disable_progress_bar

from models import PEERS

# The same weights in the same program: what its threads make of the order of sums.
SAME_WEIGHTS = 0.1  # of what is allowed between programs


class Failure(Exception):
    pass


class Report:
    def __init__(self):
        self.passed = self.failed = 0

    def check(self, name, compare):
        """compare() -> a few words on what was seen; raises when it is wrong."""
        try:
            words = compare()
            self.passed += 1
            print(f"ok      {name:<56} {words}", flush=True)
        except Failure as failure:
            self.failed += 1
            print(f"FAILED  {name:<56} {failure}", flush=True)
        except Exception:
            self.failed += 1
            print(f"FAILED  {name}\n{traceback.format_exc()}", flush=True)


def largest_difference(outputs, expected, atol):
    """-> the words for it; fails beyond atol, or where names or shapes differ."""
    if set(outputs) != set(expected):
        raise Failure(f"outputs are {sorted(outputs)}, expected {sorted(expected)}")
    worst, largest = 0.0, 0.0
    for name, tensor in expected.items():
        if outputs[name].shape != tensor.shape:
            raise Failure(f"{name} is {list(outputs[name].shape)}, expected {list(tensor.shape)}")
        difference = (outputs[name].float() - tensor).abs().max().item()
        # Not max(): it would pass over a NaN.
        worst = worst if difference <= worst else difference
        largest = max(largest, tensor.abs().max().item())
    words = f"largest difference {worst:.1e} of outputs up to {largest:.2g}"
    if not worst <= atol:
        raise Failure(f"{words}, allowed {atol:.0e}")
    return words


class Program:
    def __init__(self, path):
        self.path = path

    def __call__(self, *arguments):
        command = [str(self.path), *map(str, arguments)]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode != 0:
            said = (result.stdout + result.stderr).strip()
            raise Failure(f"{' '.join(command[1:])}: exit {result.returncode}: {said}")
        return result.stdout

    def run(self, folder, io, atol):
        """-> the outputs; the program's own comparison must agree too."""
        with tempfile.TemporaryDirectory() as scratch:
            out = Path(scratch) / "out.safetensors"
            self("run", folder, io, "-o", out, "--check", "--atol", atol)
            tensors = load_file(out)
        return {name.removeprefix("output."): tensor for name, tensor in tensors.items()}


def write_io(path, inputs, outputs):
    tensors = {f"input.{name}": tensor for name, tensor in inputs.items()}
    tensors |= {f"output.{name}": tensor for name, tensor in outputs.items()}
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, path)


def save(model, folder, form):
    if form == "pytorch_model.bin":
        model.config.architectures = [type(model).__name__]
        model.config.save_pretrained(folder)
        torch.save(model.state_dict(), folder / "pytorch_model.bin")
    elif form == "sharded":
        model.save_pretrained(folder, max_shard_size="30KB")
        if not (folder / "model.safetensors.index.json").exists():
            raise Failure("transformers did not shard the model")
    else:
        model.save_pretrained(folder)


def dtype_name(dtype):
    return str(dtype).removeprefix("torch.")


def load_converted(peer, folder, dtype):
    """-> what `convert` wrote, loaded with nothing missing, unexpected or mismatched."""
    model, complaints = peer.load(folder)
    if complaints:
        raise Failure(f"from_pretrained: {complaints}")
    settings = json.loads((folder / "config.json").read_text())
    if settings["architectures"] != [peer.architecture]:
        raise Failure(f"architectures is {settings['architectures']}")
    written = settings.get("dtype")
    if written != dtype_name(dtype):
        raise Failure(f"config.json says dtype {written}, the weights are {dtype}")
    return model


def check_variant(name, peer, args, report, *, form="safetensors", dtype=torch.float32,
                  convert_to=None, sizes=None):
    """One saved form of one architecture through `run` and `convert`."""
    with tempfile.TemporaryDirectory(prefix="perceiver_peers_") as scratch, torch.no_grad():
        folder, io, converted = (Path(scratch) / part for part in ("model", "io", "converted"))
        folder.mkdir()
        model = peer.make(args.released, args.seed)
        inputs = peer.make_inputs(model, args.released, args.seed, sizes)
        labels = model.config.id2label
        # Weights are rounded as the file has them; the computation is in float32.
        save(model.to(dtype), folder, form)
        expected = peer.outputs(model.float(), inputs)
        write_io(io, inputs, expected)

        # What is saved is what was computed with, or the comparison means nothing.
        model = peer.load(folder)[0]
        largest_difference(peer.outputs(model, inputs), expected, SAME_WEIGHTS * peer.atol)
        del model
        gc.collect()

        report.check(f"{name}: run", lambda: largest_difference(
            args.program.run(folder, io, peer.atol), expected, peer.atol))

        if convert_to:
            model = peer.load(folder)[0].to(convert_to).float()
            expected = peer.outputs(model, inputs)
            write_io(io, inputs, expected)
            del model

        def loads():
            dtype_argument = ["--dtype", dtype_name(convert_to)] if convert_to else []
            args.program("convert", folder, converted, *dtype_argument)
            model = load_converted(peer, converted, convert_to or torch.float32)
            return largest_difference(peer.outputs(model, inputs), expected,
                                      SAME_WEIGHTS * peer.atol)

        def has_labels():
            kept = PerceiverConfig.from_pretrained(converted).id2label
            if kept != labels:
                raise Failure(f"became {str(kept)[:60]}..., expected {str(labels)[:60]}...")
            return f"{len(labels)} of them"

        report.check(f"{name}: convert, from_pretrained", loads)
        gc.collect()
        if converted.exists():
            report.check(f"{name}: convert, labels", has_labels)
            report.check(f"{name}: convert, run", lambda: largest_difference(
                args.program.run(converted, io, peer.atol), expected, peer.atol))


REVIEWS = [("a fine film", "praise"), ('dull, and "long"', "blame")]
# Small, and trained for two steps: weights of its own, under the classes' own names.
TRAINED = ["--threads", "1", "model.num_inputs=40", "model.encoder.num_latents=8",
           "model.encoder.self_attends_per_block=2", "train.steps=2", "train.batch=4", "-q"]


def check_trained(args, report):
    """A classifier of a user's texts that was trained here, loaded by transformers."""
    peer = PEERS["text-classifier"]
    with tempfile.TemporaryDirectory(prefix="perceiver_peers_") as scratch, torch.no_grad():
        texts, run, asked = (Path(scratch) / part for part in ("texts.csv", "run", "asked.txt"))
        with texts.open("w", newline="") as file:
            csv.writer(file).writerows([("text", "label"), *REVIEWS * 10])

        def same_logits():
            args.program("train", "configs/text_classifier_mini.toml", "--data", texts, "-o", run,
                         *TRAINED)
            model = load_converted(peer, run / "best", torch.float32)
            outputs, expected = {}, {}
            for text, _ in REVIEWS:
                asked.write_text(text)
                ids = [4, *(byte + 6 for byte in text.encode()), 5]  # [CLS] text [SEP]
                logits = model(inputs=torch.tensor([ids])).logits[0]
                names = [model.config.id2label[i] for i in range(2)]
                expected[text] = logits.log_softmax(-1)
                said = json.loads(args.program("classify", asked, "-m", run, "--json"))
                found = {one["name"]: one["probability"] for one in said[0]["top"]}
                outputs[text] = torch.tensor([found[name] for name in names]).log()
            return largest_difference(outputs, expected, peer.atol)

        report.check("text-classifier, trained here: from_pretrained", same_logits)


# Besides model.safetensors in float32, which every architecture has: (architecture, what, how).
SMALL_VARIANTS = [
    ("language", "short text", dict(sizes=dict(batch=2, length=30))),
    ("language", "pytorch_model.bin", dict(form="pytorch_model.bin")),
    ("language", "sharded", dict(form="sharded")),
    ("language", "bfloat16", dict(dtype=torch.bfloat16)),
    ("language", "to bfloat16", dict(convert_to=torch.bfloat16)),
    ("optical-flow", "float16", dict(dtype=torch.float16)),
    ("image-conv", "pytorch_model.bin in bfloat16",
     dict(form="pytorch_model.bin", dtype=torch.bfloat16)),
    ("image-conv", "to float16", dict(convert_to=torch.float16)),
    ("multimodal", "sharded", dict(form="sharded")),
]


def main():
    parser = argparse.ArgumentParser(description="Compare perceiver with transformers.")
    parser.add_argument("--released", action="store_true",
                        help="models of the released sizes (8 GiB of memory, minutes)")
    parser.add_argument("--only", choices=PEERS, action="append", help="this architecture")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--program", type=Program, default=Program(Path("build/perceiver")))
    args = parser.parse_args()
    if not Path(args.program.path).exists():
        parser.error(f"{args.program.path} is not there; make perceiver builds it")
    disable_progress_bar()

    variants = [(name, None, {}) for name in PEERS]
    if not args.released:
        variants += SMALL_VARIANTS
    report = Report()
    for name, what, how in variants:
        if args.only and name not in args.only:
            continue
        check_variant(f"{name}, {what}" if what else name, PEERS[name], args, report, **how)
    if not args.released and (not args.only or "text-classifier" in args.only):
        check_trained(args, report)
    print(f"{report.passed} passed, {report.failed} failed")
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
