"""Times this program beside Hugging Face's transformers, eager and compiled.

tools/compare.sh runs it with transformers installed. For each model one is built there with random
weights of the released size and saved; then three processes load it, and take turns: eager,
compiled, perceiver, eager, ... Each has the same weights, inputs and threads, and one pass at a time
has the machine. What they say of the inputs must agree.
"""

import argparse
import ctypes
import datetime
import gc
import json
import os
import platform
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers.utils.logging import disable_progress_bar

from models import PEERS

# By the names of `perceiver bench`, with the passes that are timed unless --repeat says otherwise.
MODELS = {
    "language": ("language", 15),
    "imagenet-fourier": ("image-fourier", 7),
    "imagenet-learned": ("image-learned", 7),
    "imagenet-conv": ("image-conv", 7),
    "flow": ("optical-flow", 3),
    "multimodal": ("multimodal", 3),
}
QUICK = ["language", "imagenet-fourier", "imagenet-conv"]
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
PROGRAMS = ["eager", "compiled", "perceiver"]

# In float32 outputs agree when they differ by no more than between the programs of `make peers`. In
# narrower numbers each is compared with transformers in float32: this program's error may be twice
# that of transformers in the same numbers.
MOST_ERROR = 2.0


def make_inputs(peer, config, released, batch):
    generator = torch.Generator().manual_seed(2)
    if peer is PEERS["language"]:  # whole texts: without a mask neither program has one to look at
        shape = (batch, config.max_position_embeddings)
        return {"ids": torch.randint(config.vocab_size, shape, generator=generator)}
    sizes = dict(peer.released_inputs if released else peer.small_inputs)
    if peer is not PEERS["multimodal"]:
        sizes["batch"] = batch
    elif batch != 1:
        sys.exit("compare: multimodal is compared at batch 1; leave out --batch")
    return peer.inputs(config, generator, **sizes)


def outputs_of(peer, model, inputs):
    """One forward pass -> its outputs, by the names of `perceiver run`."""
    if peer is PEERS["language"]:
        return {"logits": model(inputs=inputs["ids"]).logits}
    return peer.outputs(model, inputs)


def place(inputs, device, dtype):
    return {name: x.to(device, dtype if x.is_floating_point() else x.dtype)
            for name, x in inputs.items()}


# What runs in a process of its own: reads a line, makes a pass, prints its seconds.


def reset_peak(device):
    if device == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    else:
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")


def peak_bytes(device):
    if device == "cuda":
        return torch.cuda.max_memory_allocated()
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


def work(args):
    torch.set_num_threads(args.threads)
    peer = PEERS[MODELS[args.models[0]][0]]
    dtype = DTYPES[args.dtype]
    architecture = getattr(transformers, peer.architecture)
    model = architecture.from_pretrained(args.folder / "model", dtype=dtype).eval().to(args.device)
    inputs = place(load_file(args.folder / "inputs.safetensors"), args.device, dtype)
    if args.work == "compiled":
        model = torch.compile(model)

    def run():
        with torch.no_grad():
            outputs = outputs_of(peer, model, inputs)
        if args.device == "cuda":
            torch.cuda.synchronize()
        return outputs

    run()  # compiles
    reset_peak(args.device)
    for _ in range(1 if args.device == "cpu" else 5):
        outputs = run()
    print(json.dumps({"ready": True}), flush=True)
    while sys.stdin.readline():
        start = time.perf_counter()
        outputs = run()
        print(json.dumps({"seconds": time.perf_counter() - start}), flush=True)
    save_file({f"output.{name}": x.cpu().contiguous() for name, x in outputs.items()},
              args.folder / f"{args.work}.safetensors")
    print(json.dumps({"peak": peak_bytes(args.device)}), flush=True)


# What starts them, lets them take turns, and compares.


class Runner:
    def __init__(self, name, model, folder, args):
        self.name, self.seconds, self.said = name, [], folder / f"{name}.log"
        common = ["--device", args.device, "--dtype", args.dtype, "--threads", str(args.threads)]
        if name == "perceiver":
            command = [args.program, "bench", "--lockstep", "-m", folder / "model", "--io",
                       folder / "io.safetensors", "-o", folder / "perceiver.safetensors", *common,
                       *(["--attention", args.attention] if args.attention else [])]
        else:
            command = [sys.executable, "-B", __file__, model, "--work", name, "--folder", folder,
                       *common]
        with open(self.said, "w") as said:
            self.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=said, text=True)
        self.read()  # ready

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"compare: {self.name} ended with {self.process.wait()}:\n"
                     + "\n".join(self.said.read_text().splitlines()[-15:]))
        return json.loads(line)

    def turn(self, passes):
        """The median of so many passes, and of one more that wakes the device up."""
        seconds = []
        for _ in range(passes + (passes > 1)):
            self.process.stdin.write("\n")
            self.process.stdin.flush()
            seconds.append(self.read()["seconds"])
        self.seconds.append(statistics.median(seconds[1:] or seconds))

    def end(self):
        """-> the peak of its memory in bytes"""
        self.process.stdin.close()
        last = self.read()
        self.process.wait()
        return last["peak"] if "peak" in last else last["results"][0]["peak_memory_bytes"]


def prepare(name, folder, args):
    """Writes the model and its inputs -> what transformers in float32 says of them."""
    peer = PEERS[MODELS[name][0]]
    model = peer.make(not args.small, seed=1).to(DTYPES[args.dtype])
    model.save_pretrained(folder / "model")
    inputs = make_inputs(peer, model.config, not args.small, args.batch)
    inputs = {key: x.contiguous() for key, x in inputs.items()}
    save_file(inputs, folder / "inputs.safetensors")
    save_file({f"input.{key}": x for key, x in inputs.items()}, folder / "io.safetensors")
    if args.dtype == "float32" and args.device == "cpu":
        return None
    torch.backends.cudnn.allow_tf32 = False
    with torch.no_grad():
        outputs = outputs_of(peer, model.float().to(args.device),
                             place(inputs, args.device, torch.float32))
    return {key: x.cpu() for key, x in outputs.items()}


def read_outputs(path):
    return {name.removeprefix("output."): x.float() for name, x in load_file(path).items()}


def largest_difference(a, b):
    return max((a[name] - b[name]).abs().max().item() for name in b)


def root_mean_square(a, b):
    values = torch.cat([(a[name] - b[name]).flatten() for name in b])
    return values.double().square().mean().sqrt().item()


def agreement(name, folder, exact, programs):
    """-> in words, and whether the outputs agree"""
    atol = PEERS[MODELS[name][0]].atol
    said = {program: read_outputs(folder / f"{program}.safetensors") for program in programs}
    ours, eager = said["perceiver"], said["eager"]
    if {key: x.shape for key, x in ours.items()} != {key: x.shape for key, x in eager.items()}:
        return "other outputs or shapes", False
    if exact is None:
        difference = largest_difference(ours, eager)
        return f"{difference:.1e} (allowed {atol:.0e})", difference <= atol
    error, allowed = root_mean_square(ours, exact), MOST_ERROR * root_mean_square(eager, exact)
    return f"error {error:.1e} (allowed {allowed:.1e})", error <= max(allowed, atol)


def compare(name, args):
    programs = [p for p in PROGRAMS if not (p == "compiled" and args.without_compiled)]
    with tempfile.TemporaryDirectory(prefix="perceiver_compare_") as scratch:
        folder = Path(scratch)
        exact = prepare(name, folder, args)
        gc.collect()
        if args.device == "cuda":
            torch.cuda.empty_cache()
        runners = []
        for program in programs:
            print(f"{name}: {program} loads and warms up", file=sys.stderr, flush=True)
            runners.append(Runner(program, name, folder, args))
        for round_ in range(args.repeat or MODELS[name][1]):
            for runner in runners:
                runner.turn(passes=20 if args.device == "cuda" else 1)
            seconds = ", ".join(f"{r.name} {r.seconds[-1]:.4g} s" for r in runners)
            print(f"{name}: turn {round_ + 1}: {seconds}", file=sys.stderr, flush=True)
        peaks = [runner.end() for runner in runners]
        words, agrees = agreement(name, folder, exact, programs)
    return {"name": name, "runners": runners, "peaks": peaks, "words": words, "agrees": agrees}


def duration(seconds):
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def quartiles(seconds):
    if len(seconds) < 2:
        return "-"
    low, _, high = statistics.quantiles(seconds, n=4, method="inclusive")
    return f"{duration(low)} - {duration(high)}"


def rows_of(result):
    """Ratios are the median over the turns: what slows the machine slows a whole turn."""
    ours = result["runners"][-1]
    for runner, peak in zip(result["runners"], result["peaks"]):
        ratios = [theirs / own for theirs, own in zip(runner.seconds, ours.seconds)]
        is_ours = runner is ours
        yield [result["name"] if runner is result["runners"][0] else "",
               "perceiver" if is_ours else f"transformers, {runner.name}",
               duration(statistics.median(runner.seconds)), quartiles(runner.seconds),
               f"{peak / 2**30:.2f} GiB",
               "" if is_ours else f"{statistics.median(ratios):.2f}x as fast",
               result["words"] + ("" if result["agrees"] else ": TOO MUCH") if is_ours else ""]


HEADINGS = ["model", "program", "time", "quartiles", "peak memory", "perceiver is",
            "outputs differ by"]


def as_text(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip()
                     for row in rows)


def machine(args):
    if args.device == "cuda":
        return torch.cuda.get_device_name()
    names = [line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo")
             if line.startswith("model name")]
    return f"{len(names)} cores {names[0] if names else platform.processor()}"


def busy(args):
    """Words about other programs on the machine, where there are any."""
    if args.load < 0.5:
        return ""
    return (f"Other programs were running (load {args.load:.1f} before the first pass): times are "
            "longer than on an idle machine.")


def as_markdown(rows, args):
    what = "small models" if args.small else "released sizes"
    lines = [
        f"# Beside transformers, {datetime.date.today()}",
        "",
        f"{machine(args)}, {args.threads} threads, {args.device}, {args.dtype}, batch {args.batch}, "
        f"{what}, random weights. torch {torch.__version__}, transformers "
        f"{transformers.__version__}.",
        "",
        f"`tools/compare.sh {shlex.join(sys.argv[1:])}`",
        "",
        "The programs took turns, a pass each (on a GPU 20), with the same weights and inputs. Times "
        "are medians by the clock of the host, with the device idle before and after a pass; ratios "
        "are the median over the turns. Memory is the peak of the process on a CPU, of the "
        "allocator on a GPU.",
        *([busy(args)] if busy(args) else []),
        "",
        "| " + " | ".join(HEADINGS) + " |",
        "|" + "---|" * len(HEADINGS),
    ]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows[1:]]) + "\n"


def arguments():
    parser = argparse.ArgumentParser(
        prog="compare", description="Time perceiver beside transformers, eager and compiled.")
    parser.add_argument("models", nargs="*", default=QUICK, metavar="MODEL",
                        help=f"of {', '.join(MODELS)}, or all; default: {', '.join(QUICK)}")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--dtype", choices=DTYPES, default="float32")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--repeat", type=int, help="turns; default: 15 to 3, by the model")
    parser.add_argument("--small", action="store_true", help="small models: to try this script")
    parser.add_argument("--without-compiled", action="store_true", help="eager alone")
    parser.add_argument("--attention", help="a kernel of perceiver by name")
    parser.add_argument("-o", "--output", type=Path, help="where to write the table as Markdown")
    parser.add_argument("--program", type=Path, default=Path("build/perceiver"))
    parser.add_argument("--work", choices=["eager", "compiled"], help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.models == ["all"]:
        args.models = list(MODELS)
    for name in args.models:
        if name not in MODELS:
            parser.error(f"unknown model '{name}'; known: {', '.join(MODELS)}")
    if not args.work and not args.program.exists():
        parser.error(f"{args.program} is not there; make perceiver builds it")
    if args.device == "cuda" and not torch.cuda.is_available():
        parser.error("there is no GPU that torch can use; take --device cpu")
    return args


def main():
    args = arguments()
    disable_progress_bar()
    if args.work:
        return work(args)
    torch.set_num_threads(args.threads)
    args.load = os.getloadavg()[0]
    results = []
    try:
        for name in args.models:
            results.append(compare(name, args))
    except KeyboardInterrupt:
        print("compare: interrupted; what was measured before:", file=sys.stderr)
    rows = [HEADINGS] + [row for result in results for row in rows_of(result)]
    print(as_text(rows))
    if busy(args):
        print(busy(args))
    if args.output:
        args.output.write_text(as_markdown(rows, args))
        print(args.output)
    if len(results) < len(args.models):
        return 130
    return 0 if all(result["agrees"] for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
