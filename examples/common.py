"""What the examples share: the program, a folder to work in, plain baselines, and the table at the
end. numpy alone."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

try:
    import numpy as np
except ImportError:
    print("skipped: no numpy for this Python")
    sys.exit(77)

HERE = Path(__file__).resolve().parent


def find_program(given):
    for candidate in (given, os.environ.get("PERCEIVER_PROGRAM"), HERE.parent / "build/perceiver",
                      shutil.which("perceiver")):
        if candidate and Path(candidate).exists():
            return str(Path(candidate).resolve())
    sys.exit("no program: build it ('make'), or name it with --program")


class Example:
    """One example: its options, its folder, and the verbs of the program over it."""

    def __init__(self, name, description):
        parser = argparse.ArgumentParser(description=description)
        parser.add_argument("--small", action="store_true",
                            help="seconds instead of minutes: less data, fewer steps")
        parser.add_argument("--out", help="folder for data and the run; default: a new one that is "
                            "removed at the end")
        parser.add_argument("--program", help="the perceiver program; default: build/perceiver")
        parser.add_argument("--threads", default="", help="threads to train with; default: all")
        self.options = parser.parse_args()
        self.small = self.options.small
        self.name, self.config = name, HERE / f"{name}.toml"
        self.program = find_program(self.options.program)
        self.temporary = None if self.options.out else tempfile.TemporaryDirectory(prefix=name)
        self.out = Path(self.options.out or self.temporary.name)
        self.out.mkdir(parents=True, exist_ok=True)
        self.run_folder = self.out / "run"
        self.start = time.time()

    def call(self, *arguments):
        words = [self.program, *map(str, arguments)]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(words)}: exit {done.returncode}\n{done.stderr}")
        return done.stdout

    def save(self, split, **arrays):
        np.savez(self.out / f"{split}.npz", **arrays)

    def train(self, small, ending="npz"):
        """Trains on train.* in the folder; `small` are settings that make it a matter of seconds."""
        if self.run_folder.exists():
            shutil.rmtree(self.run_folder)
        settings = list(small) if self.small else []
        threads = ["--threads", self.options.threads] if self.options.threads else []
        self.call("train", self.config, "-q", *threads, "-o", self.run_folder,
                  f"data.train='{self.out}/train.{ending}'",
                  f"data.held_out='{self.out}/held_out.{ending}'", *settings)

    def measure(self, data):
        """What eval says of a file, by the names of its measures."""
        return json.loads(self.call("eval", self.run_folder, "-q", "--json", "--data", data))

    def run(self, data):
        """The outputs of the trained model for a file."""
        answers = self.out / "answers.npz"
        self.call("run", self.run_folder, data, "-o", answers)
        with np.load(answers) as arrays:
            return dict(arrays)

    def close(self, rows, checks):
        """Prints the table. `checks` are (what, whether it holds): where one does not, exit 1."""
        width = max(len(row[0]) for row in rows)
        for row in rows:
            print(f"{row[0]:{width}}  " + "  ".join(f"{cell:>12}" for cell in row[1:]))
        print(f"{self.name}{' --small' if self.small else ''}: {time.time() - self.start:.0f} s")
        failed = [what for what, holds in checks if not holds]
        if self.temporary:
            self.temporary.cleanup()
        for what in failed:
            print(f"{self.name}: not reached: {what}", file=sys.stderr)
        sys.exit(1 if failed else 0)


def standardise(train, *others):
    """Columns to mean 0 and deviation 1, by the first."""
    mean, spread = np.nanmean(train, 0), np.nanstd(train, 0) + 1e-9
    return [np.nan_to_num((x - mean) / spread) for x in (train, *others)]


def softmax_regression(x, y, classes, steps=600, decay=1e-4):
    """The weights of a linear classifier, [columns + 1, classes], by gradient descent with momentum."""
    x = np.concatenate([x, np.ones((len(x), 1))], 1)
    weights, speed = np.zeros((x.shape[1], classes)), 0.0
    target = np.eye(classes)[y]
    rate = 4.0 / np.linalg.norm(x, 2) ** 2 * len(x)  # the slope's own bound
    for _ in range(steps):
        p = x @ weights
        p = np.exp(p - p.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        speed = 0.9 * speed - rate / len(x) * (x.T @ (p - target)) - decay * rate * weights
        weights = weights + 0.5 * speed
    return weights


def classify(weights, x):
    return (np.concatenate([x, np.ones((len(x), 1))], 1) @ weights).argmax(1)


def ridge(x, y, decay=1.0):
    """The weights of linear least squares with a penalty, [columns + 1, outputs]."""
    x = np.concatenate([x, np.ones((len(x), 1))], 1)
    return np.linalg.solve(x.T @ x + decay * np.eye(x.shape[1]), x.T @ y)


def predict(weights, x):
    return np.concatenate([x, np.ones((len(x), 1))], 1) @ weights
