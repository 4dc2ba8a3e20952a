"""Writes the small pickles and torch files beside it, which the tests of perceiver/weights read.

Needs torch and numpy; haiku's and jax's classes are stood in for, since only their names matter.
"""

import collections
import pathlib
import pickle
import sys
import types
import zipfile

import numpy as np
import torch

HERE = pathlib.Path(__file__).parent


def stand_in(module, name, reduce):
    """A class that pickles under the name of one that is not installed."""
    cls = type(name, (), {"__init__": lambda self, *args: setattr(self, "args", args)})
    cls.__module__ = module
    cls.__reduce__ = reduce
    parts = module.split(".")
    for i in range(1, len(parts) + 1):
        sys.modules.setdefault(".".join(parts[:i]), types.ModuleType(".".join(parts[:i])))
    setattr(sys.modules[module], name, cls)
    return cls


FlatMapping = stand_in(
    "haiku._src.data_structures", "FlatMapping", lambda self: (type(self), self.args)
)
JaxArray = stand_in("jax._src.array", "ArrayImpl", lambda self: (type(self), ()))


class Calls:
    """Pickles as a call of any function."""

    def __init__(self, function, *args):
        self.call = function, args

    def __reduce__(self):
        return self.call


def params():
    w = np.arange(6, dtype=np.float32).reshape(2, 3)
    return FlatMapping(
        {
            "net/linear": FlatMapping({"b": np.array([1, -2], np.float16), "w": w}),
            "net/fortran": FlatMapping({"w": np.asfortranarray(w), "none": np.zeros((0, 2), "i4")}),
        }
    )


def write(name, value, protocol=4):
    (HERE / name).write_bytes(pickle.dumps(value, protocol=protocol))


def write_pickles():
    for protocol in (2, 3, 4, 5):
        write(f"protocol{protocol}.pystate", params(), protocol)
    # The names before numpy 2; protocol 2 writes them as lines, so nothing else changes.
    old = (HERE / "protocol2.pystate").read_bytes().replace(b"numpy._core", b"numpy.core")
    (HERE / "numpy1.pystate").write_bytes(old)
    state = {"net/norm": {"counter": np.int32(7), "average": np.ones((1, 2), np.float64)}}
    write("params_and_state.pystate", {"params": params(), "state": state})
    write("ordered.pystate", collections.OrderedDict(net={"w": np.array([True, False])}))
    write("big_endian.pystate", {"net": {"w": np.ones(2, ">f4")}})
    write("objects.pystate", {"net": {"w": np.array([None])}})
    write("records.pystate", {"net": {"w": np.zeros(1, [("a", "f4")])}})
    write("jax.pystate", {"net": {"w": JaxArray()}})
    write("eval.pickle", {"net": {"w": Calls(eval, "1 + 1")}})
    for protocol in (0, 2, 4):
        import os

        write(f"system{protocol}.pickle", Calls(os.system, "true"), protocol)


def write_torch_files():
    shared = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    tensors = torch.nn.Module()
    tensors.register_buffer("shared", shared)
    tensors.register_buffer("transposed", shared.t())
    tensors.register_buffer("row", shared[1])
    for dtype in ("float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8"):
        tensors.register_buffer("a_" + dtype, torch.tensor([1, 2, 3], dtype=getattr(torch, dtype)))
    tensors.register_buffer("a_bool", torch.tensor([True, False]))
    tensors.register_buffer("scalar", torch.tensor(5.0))
    tensors.register_buffer("empty", torch.zeros(0, 3))
    # state_dict() carries its _metadata, as in Hugging Face's files.
    state_dict = tensors.state_dict()
    state_dict["parameter"] = torch.nn.Parameter(torch.tensor([0.5]))
    torch.save(state_dict, HERE / "state_dict.bin")
    small = {"a": torch.tensor([1.0, 2.0])}
    torch.save(small, HERE / "old_format.bin", _use_new_zipfile_serialization=False)
    torch.save({"a": Calls(eval, "1 + 1")}, HERE / "eval.bin")
    torch.save({"a": torch.tensor([1.0]).expand(1000)}, HERE / "expanded.bin")
    torch.serialization.set_crc32_options(False)
    torch.save(small, HERE / "no_checksums.bin")
    torch.serialization.set_crc32_options(True)
    torch.save(small, HERE / "small.bin")
    with zipfile.ZipFile(HERE / "small.bin") as source:
        entries = [(name, source.read(name)) for name in source.namelist()]
    with zipfile.ZipFile(HERE / "deflated.bin", "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in entries:
            packed.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    with zipfile.ZipFile(HERE / "zip64.bin", "w") as large:
        for name, data in entries:
            with large.open(zipfile.ZipInfo(name), "w", force_zip64=True) as entry:
                entry.write(data)


def write_arrays() -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.savez_compressed(HERE / "packed.npz", x=x, mask=np.ones(5000, bool))
    np.savez(HERE / "stored.npz", x=x, y=np.arange(3))


if __name__ == "__main__":
    write_arrays()
    write_pickles()
    write_torch_files()
