"""Compares perceiver/tasks/statistics.h with scikit-learn and scipy, through build/statistics_peer.

tools/peers.sh runs it with scikit-learn installed.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import average_precision_score, f1_score, matthews_corrcoef

RELATIVE = 1e-12  # double precision, sums of up to thousands of terms in another order


def expected(tensors):
    figures = {}
    if "scores" in tensors:
        scores, labels = tensors["scores"], tensors["labels"]
        with_positive = labels.any(axis=0)
        figures["classes"] = int(with_positive.sum())
        figures["mean_average_precision"] = (
            average_precision_score(labels[:, with_positive], scores[:, with_positive],
                                    average="macro") if with_positive.any() else math.nan)
    if "predictions" in tensors:
        predictions, targets = tensors["predictions"], tensors["targets"]
        figures["matthews"] = matthews_corrcoef(targets, predictions)
        figures["macro_f1"] = f1_score(targets, predictions, average="macro", zero_division=0.0)
        if max(predictions.max(), targets.max()) <= 1:
            figures["f1"] = f1_score(targets, predictions, zero_division=0.0)
    if "x" in tensors:
        figures["pearson"] = pearsonr(tensors["x"], tensors["y"]).statistic
        figures["spearman"] = spearmanr(tensors["x"], tensors["y"]).statistic
    return {name: float(value) for name, value in figures.items()}


def cases(rng):
    """-> (name, tensors): ties, rare and absent classes, constants, small and large sets."""
    def normal(*shape):
        return rng.standard_normal(shape)

    def rare(rows, classes, share):
        return (rng.random((rows, classes)) < share).astype(np.int64)

    yield "mAP, distinct scores", dict(scores=normal(500, 20), labels=rare(500, 20, 0.3))
    yield "mAP, rounded scores", dict(scores=normal(400, 20).round(1), labels=rare(400, 20, 0.1))
    yield "mAP, float32 probabilities", dict(
        scores=(1 / (1 + np.exp(-8 * normal(300, 30)))).astype(np.float32),
        labels=rare(300, 30, 0.05))
    yield "mAP, classes without a positive", dict(
        scores=normal(60, 527), labels=rare(60, 527, 0.01))
    yield "mAP, all scores alike", dict(scores=np.full((50, 2), 0.5), labels=rare(50, 2, 0.4))
    yield "mAP, one positive among two", dict(
        scores=np.array([[0.1], [0.2]]), labels=np.array([[1], [0]]))
    for classes in (2, 3, 7):
        targets = rng.integers(classes, size=1000)
        guess = np.where(rng.random(1000) < 0.6, targets, rng.integers(classes, size=1000))
        yield f"{classes} classes", dict(predictions=guess, targets=targets)
    yield "predictions of one class", dict(
        predictions=np.ones(40, np.int64), targets=rng.integers(2, size=40))
    yield "targets of one class", dict(
        predictions=rng.integers(2, size=40), targets=np.zeros(40, np.int64))
    yield "a class that is never right", dict(
        predictions=np.array([0, 1, 2, 0]), targets=np.array([0, 1, 0, 1]))
    x = normal(1500)
    yield "correlated", dict(x=x, y=0.7 * x + normal(1500))
    yield "five levels, as STS-B's", dict(x=x, y=(2.5 + x + 0.5 * normal(1500)).round().clip(0, 5))
    yield "far from zero", dict(x=1e6 + x, y=-x + 0.1 * normal(1500))
    yield "two examples", dict(x=np.array([1.0, 2.0]), y=np.array([5.0, -3.0]))
    yield "constant predictions", dict(x=np.full(30, 0.1), y=normal(30))


def close(a, b):
    # dump() writes NaN as null.
    a, b = (math.nan if value is None else value for value in (a, b))
    return math.isnan(a) and math.isnan(b) or math.isclose(a, b, rel_tol=RELATIVE, abs_tol=RELATIVE)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", type=Path, default=Path("build/perceiver"))
    parser.add_argument("--seed", type=int, default=1)
    args, _ = parser.parse_known_args()
    peer = args.program.parent / "statistics_peer"
    if not peer.exists():
        parser.error(f"{peer} is not there; make peers builds it")
    warnings.simplefilter("ignore")  # of figures that are not defined

    failed = 0
    for name, tensors in cases(np.random.default_rng(args.seed)):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "case.safetensors")
            save_file({key: np.ascontiguousarray(value) for key, value in tensors.items()}, file)
            result = subprocess.run([peer, file], capture_output=True, text=True)
        want = expected(tensors)
        got = json.loads(result.stdout) if result.returncode == 0 else result.stderr.strip()
        same = isinstance(got, dict) and got.keys() == want.keys() and all(
            close(got[key], want[key]) for key in want)
        failed += not same
        words = ", ".join(f"{key} {value:.4g}" for key, value in want.items())
        print(f"ok      statistics: {name:<44} {words}" if same else
              f"FAILED  statistics: {name:<44} got {got}, expected {want}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
