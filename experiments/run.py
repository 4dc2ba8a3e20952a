#!/usr/bin/env python3
"""Runs what a claim of experiments/ still lacks: trains and measures each arm with each seed.

    experiments/run.py entities --data DATA        one claim; DATA has the folders that the claim names
    experiments/run.py --data DATA                 all of them, in their order
    experiments/run.py entities --data DATA --again 1    arms with seed 1 once more, beside the rows

Each run that ends appends its row to experiments/rows/CLAIM.jsonl; Ctrl-C loses nothing, and the next
call goes on from the last checkpoint. `make results` draws docs/results.md from the rows.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import shlex
import subprocess
import sys
import time

try:
    import tomllib
except ImportError:
    sys.exit("experiments/run.py: needs Python 3.11 or newer, whose library reads TOML")

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent


def stop(message):
    sys.exit(f"experiments/run.py: {message}")


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("claims", nargs="*", help="names of files in experiments/; none: all")
    parser.add_argument("--data", required=True, help="the folder that holds a claim's data")
    parser.add_argument("--runs", default="runs/claims", help="where runs are kept")
    parser.add_argument("--program", default=str(ROOT / "build" / "perceiver"))
    parser.add_argument("--machine", help="how rows call this machine; else its processors or GPU")
    parser.add_argument("--commit", help="how rows call the program's commit; else git's")
    parser.add_argument("--threads", type=int, help="CPU threads of a training")
    parser.add_argument("--arm", action="append", help="this arm alone; may be repeated")
    parser.add_argument("--again", type=int, metavar="SEED",
                        help="train with this seed once more, and print beside the row, adding none")
    return parser.parse_args()


def read_claim(name):
    path = HERE / f"{name}.toml"
    if not path.exists():
        known = ", ".join(sorted(p.stem for p in HERE.glob("*.toml")))
        stop(f"there is no claim '{name}'; expected one of {known}")
    claim = tomllib.loads(path.read_text())
    claim["name"] = name
    return claim


def read_rows(name):
    path = HERE / "rows" / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def this_machine():
    try:
        gpu = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"],
                             capture_output=True, text=True, timeout=30).stdout.strip()
        if gpu:
            return gpu.splitlines()[0]
    except (OSError, subprocess.TimeoutExpired):
        pass
    model = platform.processor() or platform.machine()
    try:
        for line in open("/proc/cpuinfo"):
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass
    return f"{len(os.sched_getaffinity(0))} cores of {model}"


def this_commit():
    git = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"],
                         capture_output=True, text=True)
    return git.stdout.strip() or "unknown"


def call(command, **more):
    """A program that is stopped has written its checkpoint; one that fails says why itself."""
    try:
        return subprocess.run(command, check=True, text=True, **more)
    except subprocess.CalledProcessError as error:
        stop(f"ended with {error.returncode}: {shlex.join(command)}")
    except OSError as error:
        stop(f"{command[0]}: {error.strerror}; build it with 'make', or name it with --program")


def figure(answer, key):
    """"cola.matthews" is the figure matthews of cola."""
    value = answer
    for part in key.split("."):
        if part not in value:
            stop(f"'eval' gives no {key}, but {', '.join(map(str, answer))}")
        value = value[part]
    return value


class Runner:
    def __init__(self, options, claim):
        self.options, self.claim = options, claim
        self.data = pathlib.Path(options.data)

    def paths(self, names):
        found = [self.data / name for name in names]
        for path in found:
            if not path.exists():
                stop(f"{self.claim['name']}: there is no {path}; --data names the folder above it")
        return [str(path.resolve()) for path in found]

    def train(self, config, data, held_out, settings, seed, folder, begin=None):
        """Seconds of training, of this call and of those before it. Goes on where it was stopped."""
        clock = folder.parent / (folder.name + ".seconds")
        before = float(clock.read_text()) if clock.exists() else 0.0
        if (folder.parent / (folder.name + ".done")).exists():
            return before
        command = [self.options.program, "train", str(ROOT / "configs" / config), "-o", str(folder)]
        for path in self.paths(data):
            command += ["--data", path]
        if begin:
            command += ["--from", str(begin)]
        if self.options.threads:
            command += ["--threads", str(self.options.threads)]
        command += settings + [f"train.seed={seed}"]
        if held_out:
            command.append(f"data.held_out={json.dumps(self.paths(held_out))}")
        if (folder / "last").exists():
            command = [self.options.program, "train", "--resume", str(folder)]
        start = time.monotonic()
        try:
            call(command)
        finally:
            before += time.monotonic() - start
            clock.write_text(f"{before:.1f}")
        (folder.parent / (folder.name + ".done")).touch()
        return before

    def row(self, arm, seed, runs):
        claim = self.claim
        stem = "".join(c if c.isalnum() else "-" for c in arm["name"])
        folder = runs / claim["name"] / f"{stem}-{seed}"
        folder.parent.mkdir(parents=True, exist_ok=True)
        seconds, begin = 0.0, None
        first = arm.get("begins")
        if first:
            begin = folder.with_name(folder.name + "-begin")
            seconds += self.train(first["config"], first.get("data", []), first.get("held_out", []),
                                  first.get("settings", []), seed, begin)
        settings = claim.get("settings", []) + arm.get("settings", [])
        seconds += self.train(arm["config"], claim.get("data", []), claim.get("held_out", []),
                              settings, seed, folder, begin)
        measured = call([self.options.program, "eval", str(folder), "--json", "--quiet"],
                        stdout=subprocess.PIPE)
        command = ["perceiver", "train", f"configs/{arm['config']}"]
        for name in claim.get("data", []):
            command += ["--data", name]
        if claim.get("held_out"):
            command.append(f"data.held_out={json.dumps(claim['held_out'])}")
        return {
            "arm": arm["name"],
            "seed": seed,
            "value": figure(json.loads(measured.stdout), claim["measure"]["key"]),
            "seconds": round(seconds, 1),
            "command": shlex.join(command + settings + [f"train.seed={seed}"]),
            "commit": self.options.commit or this_commit(),
            "machine": self.options.machine or this_machine(),
            "date": datetime.date.today().isoformat(),
        }

    def missing(self, rows):
        there = {(row["arm"], row["seed"]) for row in rows}
        for seed in self.claim.get("seeds", [1, 2, 3]):
            for arm in self.claim["arm"]:
                if (arm["name"], seed) not in there and self.wanted(arm):
                    yield arm, seed

    def wanted(self, arm):
        return not self.options.arm or arm["name"] in self.options.arm

    def add_missing(self):
        name = self.claim["name"]
        kept = HERE / "rows" / f"{name}.jsonl"
        for arm, seed in list(self.missing(read_rows(name))):
            print(f"{name}: {arm['name']}, seed {seed}", flush=True)
            row = self.row(arm, seed, pathlib.Path(self.options.runs))
            kept.parent.mkdir(exist_ok=True)
            with kept.open("a") as file:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
            print(f"{name}: {arm['name']}, seed {seed}: {row['value']:.6g}", flush=True)

    def repeat(self, seed):
        rows = {(row["arm"], row["seed"]): row["value"] for row in read_rows(self.claim["name"])}
        for arm in filter(self.wanted, self.claim["arm"]):
            value = self.row(arm, seed, pathlib.Path(self.options.runs) / "again")["value"]
            kept = rows.get((arm["name"], seed))
            beside = "no row" if kept is None else f"{kept:.6g} in the row"
            print(f"{self.claim['name']}: {arm['name']}, seed {seed}: {value:.6g}, {beside}", flush=True)


def main():
    options = arguments()
    if not pathlib.Path(options.data).is_dir():
        stop(f"{options.data}: is no folder; --data names the one that holds the claims' data")
    claims = [read_claim(name) for name in options.claims]
    if not claims:
        claims = [read_claim(path.stem) for path in HERE.glob("*.toml")]
        claims.sort(key=lambda claim: claim["number"])
    try:
        for claim in claims:
            runner = Runner(options, claim)
            if options.again is None:
                runner.add_missing()
            else:
                runner.repeat(options.again)
    except KeyboardInterrupt:
        stop("stopped; the same command goes on")


if __name__ == "__main__":
    main()
