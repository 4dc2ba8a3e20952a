"""The shared library, as torch loads it, and its errors."""

import os
from pathlib import Path

import torch

try:
    from ._build import TORCH, VERSION
except ImportError:  # in a clone, where nothing was put together
    TORCH, VERSION = None, "0+clone"

FOLDER = Path(__file__).resolve().parent


class Error(RuntimeError):
    """What came from outside is wrong: a file, a name, a shape. The message is one sentence."""


def _load():
    # PERCEIVER_LIBRARY: another build of the library, such as a clone's build/python.
    folder = Path(os.environ.get("PERCEIVER_LIBRARY") or FOLDER / "lib")
    path = folder / "libperceiver_python.so"
    if not path.exists():
        raise ImportError(f"{path}: no such file; build it with make wheel")
    here = ".".join(torch.__version__.split(".")[:2])
    if TORCH and here != TORCH:
        raise ImportError(f"perceiver {VERSION} was built for torch {TORCH}, this is torch "
                          f"{torch.__version__}; install torch {TORCH}, or build perceiver from "
                          "its source against this one (docs/python.md)")
    torch.ops.load_library(str(path))
    return torch.classes.perceiver


classes = _load()


def call(function, *arguments):
    """function(*arguments), whose errors are Error with the sentence alone."""
    try:
        return function(*arguments)
    except RuntimeError as error:
        raise Error(str(error).strip().split("\n")[0]) from None


def attention(q, k, v, kv_mask=None):
    """softmax(q k^T / sqrt(F)) v by the fastest kernel there is, with gradients.

    q [B, H, N, F], k [B, H, M, F], v [B, H, M, V], kv_mask [B, M] bool, True where there is a key
    -> [B, H, N, V]. A query without any key gets zeros. torch.compile and torch.export take it: it
    is torch.ops.perceiver.attention.
    """
    return call(torch.ops.perceiver.attention, q, k, v, kv_mask)
