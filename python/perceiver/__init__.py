"""Perceiver IO, computed by a C++ library on PyTorch's own tensors.

    model = perceiver.optimize(transformers_model)     # the same model, faster
    model = perceiver.load("flow-mini")                # or one of this project's, or a folder
    flow = model.flow(first, second)                   # numpy or torch in, the same out
    out = perceiver.attention(q, k, v)                 # the kernels alone
"""

from ._library import VERSION as __version__
from ._library import Error, attention
from ._model import Latents, Model, load
from ._optimize import optimize, restore
from ._results import (Answer, AttendMaps, Autoencoded, FilledMask, FilledText, RankedClass, View,
                       Word)

__all__ = ["Answer", "AttendMaps", "Autoencoded", "Error", "FilledMask", "FilledText", "Latents",
           "Model", "RankedClass", "View", "Word", "__version__", "attention", "load", "optimize",
           "restore"]
