"""Asks a server by the Open Inference Protocol, with the clients that people use.

tritonclient sends binary tensors, open-inference-openapi JSON. Both must get the same answers, to the
last bit, and so must the same numbers sent as float32, float16 and bfloat16.
"""

import argparse
import sys

import numpy as np
import tritonclient.http as triton
from open_inference.openapi.client import InferenceRequest, OpenInferenceClient
from started import started
from tritonclient.utils import InferenceServerException

ROWS = 2
KINDS = {"FP32": np.float32, "FP16": np.float16, "BF16": np.float32, "INT64": np.int64,
         "INT32": np.int32, "UINT8": np.uint8, "BOOL": np.bool_}


def some(metadata, generator):
    """Numbers for each input that must be given; reals that bfloat16 and float16 both hold exactly."""
    arrays = {}
    for one in metadata["inputs"]:
        if one.get("parameters", {}).get("optional"):
            continue
        shape = [ROWS if size == -1 else size for size in one["shape"]]
        if one["datatype"].startswith(("FP", "BF")):
            arrays[one["name"]] = (generator.integers(-64, 64, shape) / 64).astype(np.float32)
        elif one["datatype"] == "BOOL":
            arrays[one["name"]] = np.ones(shape, np.bool_)
        else:
            arrays[one["name"]] = generator.integers(0, 128, shape).astype(KINDS[one["datatype"]])
    return arrays


def ask_binary(client, model, metadata, arrays, real="FP32", binary=True):
    inputs = []
    for one in metadata["inputs"]:
        if one["name"] not in arrays:
            continue
        datatype = real if one["datatype"].startswith("FP") else one["datatype"]
        array = arrays[one["name"]].astype(KINDS[datatype])
        inputs.append(triton.InferInput(one["name"], array.shape, datatype))
        inputs[-1].set_data_from_numpy(array, binary_data=binary)
    outputs = [triton.InferRequestedOutput(one["name"], binary_data=binary) for one in metadata["outputs"]]
    answer = client.infer(model, inputs, outputs=outputs)
    return {one["name"]: answer.as_numpy(one["name"]) for one in metadata["outputs"]}


def ask_json(client, model, metadata, arrays):
    inputs = [{"name": one["name"], "shape": list(arrays[one["name"]].shape), "datatype": one["datatype"],
               "data": arrays[one["name"]].flatten().tolist()}
              for one in metadata["inputs"] if one["name"] in arrays]
    answer = client.model_infer(model, request=InferenceRequest(inputs=inputs))
    return {one.name: np.asarray(one.data.dict()["__root__"] if hasattr(one.data, "dict") else one.data,
                                 np.float32).reshape(one.shape) for one in answer.outputs}


def expect_same(what, a, b):
    assert a.keys() == b.keys(), (what, a.keys(), b.keys())
    for name, values in a.items():
        assert np.isfinite(values).all() and values.std() > 0, f"{what}: {name} is empty"
        assert np.array_equal(values, b[name]), f"{what}: {name} differs by {np.abs(values - b[name]).max()}"


def ask_model(client, simple, model):
    metadata = client.get_model_metadata(model)
    assert metadata["name"] == model, metadata
    assert client.is_model_ready(model)
    arrays = some(metadata, np.random.default_rng(0))
    binary = ask_binary(client, model, metadata, arrays)
    expect_same("JSON of tritonclient", binary, ask_binary(client, model, metadata, arrays, binary=False))
    expect_same("open-inference-openapi", binary, ask_json(simple, model, metadata, arrays))
    reals = [one["name"] for one in metadata["inputs"] if one["datatype"].startswith("FP")]
    for real in ("FP16", "BF16") if reals else ():
        expect_same(real, binary, ask_binary(client, model, metadata, arrays, real))
    shapes = ", ".join(f"{name} {list(values.shape)}" for name, values in binary.items())
    print(f"ok       {model}: {shapes}{', as float16 and bfloat16 too' if reals else ''}", flush=True)


def unknown_models_are_refused(client):
    try:
        client.get_model_metadata("no-such-model")
    except InferenceServerException as refusal:
        assert refusal.status() == "404" and "no-such-model" in refusal.message(), refusal
        return print("ok       no-such-model is refused by name")
    raise AssertionError("no-such-model was taken")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default="build/perceiver")
    args = parser.parse_args()
    # On one thread a batch and its rows are computed in the same order.
    with started(args.program, "--threads", 1) as url:
        client = triton.InferenceServerClient(url.removeprefix("http://"), network_timeout=300)
        simple = OpenInferenceClient(base_url=url, timeout=300)
        assert client.is_server_live() and client.is_server_ready()
        simple.check_server_readiness()
        for model in ("language-mini", "image-mini", "flow-mini"):
            ask_model(client, simple, model)
        unknown_models_are_refused(client)
        client.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
