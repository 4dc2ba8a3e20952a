"""numpy or torch in, the same out."""

import os
import sys

import torch


def is_array(x):
    return isinstance(x, torch.Tensor) or hasattr(x, "__array__")


def tensor_of(x):
    """A tensor over the same memory, where that can be."""
    if isinstance(x, torch.Tensor):
        return x.detach()
    import numpy
    return torch.from_numpy(numpy.require(numpy.asarray(x), requirements=["C", "W"]))


def picture(x):
    """uint8 [3, H, W] of that or of [H, W, 3]; frames with one more axis in front alike."""
    x = tensor_of(x)
    if x.dim() >= 3 and x.shape[-3] != 3 and x.shape[-1] == 3:
        x = x.movedim(-1, -3)
    return x


def same_kind(*inputs):
    """-> what makes results of the kind of these inputs: numpy where one is, else torch."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not any(is_array(x) and not isinstance(x, torch.Tensor) for x in inputs):
        return lambda tensor: tensor

    def to_numpy(tensor):
        tensor = tensor.detach().cpu()
        return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()

    return to_numpy


def source(x, name):
    """-> what the library takes for a file, a text or an array."""
    if isinstance(x, (str, os.PathLike)):
        return (os.fspath(x), None)
    if not is_array(x):
        raise TypeError(f"{name} is {type(x).__name__}, expected an array, a text or a path")
    return (name, picture(x))
