"""Times perceiver.optimize() beside transformers, eager and compiled, in one process and in turns.

    python bench/optimize.py language image-conv -o bench/results/python_cpu.md

Models have the released sizes and random weights, in float32 on the CPU, batch 1; `--device cuda`
takes a GPU, `--dtype bfloat16` another dtype. A turn is one pass of each; times are the best of the
turns, ratios those of these. Needs the package, transformers, and a compiler for torch.compile.
"""

import argparse
import copy
import datetime
import os
import shlex
import sys
import time
import warnings
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
sys.path.append(str(Path(__file__).resolve().parent.parent / "tests" / "peers"))

import torch
import transformers
from models import PEERS

import perceiver

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def call_of(name, model, inputs):
    if name == "language":  # the mask is of a whole text: none
        return lambda: {"logits": model(inputs=inputs["ids"]).logits}
    return lambda: PEERS[name].outputs(model, inputs)


def inputs_of(name, model, args):
    peer = PEERS[name]
    sizes = dict(peer.small_inputs if args.small else peer.released_inputs)
    if "batch" in sizes or name.startswith("image"):
        sizes["batch"] = args.batch
    inputs = peer.inputs(model.config, torch.Generator().manual_seed(2), **sizes)
    return {key: x.to(args.device, DTYPES[args.dtype] if x.is_floating_point() else x.dtype)
            for key, x in inputs.items()}


def seconds_of(call, device):
    begin = time.perf_counter()
    call()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - begin


def largest_difference(a, b):
    return max((a[key].float() - b[key].float()).abs().max().item() for key in b)


def measure(name, args):
    model = PEERS[name].make(not args.small, seed=1).to(args.device, DTYPES[args.dtype])
    inputs = inputs_of(name, model, args)
    ours = perceiver.optimize(copy.deepcopy(model))
    calls = {"eager": call_of(name, model, inputs)}
    if not args.without_compiled:
        calls["compiled"] = call_of(name, torch.compile(model), inputs)
    calls["optimized"] = call_of(name, ours, inputs)
    times = {what: [] for what in calls}
    with torch.inference_mode():
        outputs = {}
        for what, call in calls.items():  # compiles, and makes what is kept
            outputs[what] = call()
        for turn in range(args.turns):
            for what, call in calls.items():
                times[what].append(seconds_of(call, args.device))
            said = ", ".join(f"{what} {times[what][-1]:.4g} s" for what in calls)
            print(f"{name}: turn {turn + 1}: {said}", file=sys.stderr, flush=True)
    best = {what: min(one) for what, one in times.items()}
    return best, largest_difference(outputs["optimized"], outputs["eager"])


def duration(seconds):
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def row(name, best, difference):
    ours = best["optimized"]
    cells = [name]
    for what in ("eager", "compiled"):
        there = what in best
        cells += [duration(best[what]) if there else "-",
                  f"{best[what] / ours:.2f}x" if there else "-"]
    return cells + [duration(ours), f"{difference:.1e}"]


def machine(args):
    if args.device == "cuda":
        return torch.cuda.get_device_name()
    names = [line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo")
             if line.startswith("model name")]
    return f"{len(names)} cores {names[0] if names else 'of a CPU'}"


HEADINGS = ["model", "eager", "optimized is", "compiled", "optimized is", "optimized",
            "outputs differ by"]


def as_markdown(rows, args, load):
    busy = (f" Other programs were running (load {load:.1f} before the first pass): times are "
            "longer than on an idle machine, ratios are of passes beside each other."
            if load > 0.5 else "")
    lines = [
        f"# `perceiver.optimize` beside transformers, {datetime.date.today()}", "",
        f"{machine(args)}, {torch.get_num_threads()} threads, {args.device}, {args.dtype}, batch "
        f"{args.batch}, {'small models' if args.small else 'released sizes'}, random weights. "
        f"torch {torch.__version__}, transformers {transformers.__version__}, perceiver "
        f"{perceiver.__version__}.", "",
        f"`python {shlex.join(['bench/optimize.py', *sys.argv[1:]])}`", "",
        f"One process, {args.turns} turns of a pass of each; the best of the turns.{busy}", "",
        "| " + " | ".join(HEADINGS) + " |", "|" + "---|" * len(HEADINGS)]
    return "\n".join(lines + ["| " + " | ".join(one) + " |" for one in rows]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=list(PEERS), help=", ".join(PEERS))
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--dtype", choices=DTYPES, default="float32")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--small", action="store_true", help="small models: to try this script")
    parser.add_argument("--without-compiled", action="store_true")
    parser.add_argument("-o", "--output", type=Path, help="where to write the table as Markdown")
    args = parser.parse_args()
    for name in args.models:
        if name not in PEERS:
            parser.error(f"unknown model '{name}'; known: {', '.join(PEERS)}")
    torch.set_num_threads(args.threads)
    warnings.simplefilter("ignore")
    load, rows = os.getloadavg()[0], []
    for name in args.models:
        rows.append(row(name, *measure(name, args)))
        torch.compiler.reset()
    text = as_markdown(rows, args, load)
    if args.output:
        args.output.write_text(text)
    print(text, end="")


if __name__ == "__main__":
    main()
