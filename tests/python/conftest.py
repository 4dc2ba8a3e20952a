import os
import sys
from pathlib import Path

import numpy
import pytest
import torch

# The clone: samples and other tests' peers. The package itself is what was installed.
ROOT = Path(os.environ.get("PERCEIVER_ROOT", Path(__file__).resolve().parents[2]))
sys.path.append(str(ROOT / "tests" / "peers"))

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
torch.set_num_threads(2)


@pytest.fixture(params=["numpy", "torch"])
def kind(request):
    """-> what makes an array of that kind, and its class"""
    if request.param == "numpy":
        return lambda x: numpy.asarray(x), numpy.ndarray
    return lambda x: torch.as_tensor(numpy.asarray(x)), torch.Tensor


@pytest.fixture(scope="session")
def samples():
    return ROOT / "samples"


@pytest.fixture(scope="session")
def picture():
    """Of any content, uint8 [H, W, 3]"""
    return numpy.random.default_rng(1).integers(0, 256, (40, 56, 3), numpy.uint8)
