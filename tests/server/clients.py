"""Asks a server through the client libraries that people have: each by itself, and skipped where it is not installed.

The answers are compared with one another, and with what the program's own verbs say.
"""

import argparse
import base64
import importlib.util
import json
import subprocess
import sys
import urllib.request
from pathlib import Path

from started import started

SAMPLES = Path(__file__).parents[2] / "samples"
TEXT = "He told me that he [MASK] never been in London before."


def ids_of(text):
    """As language-mini reads bytes: six ids stand before them."""
    return [byte + 6 for byte in text.encode()]


def post(url, path, body, accept="application/json"):
    request = urllib.request.Request(url + path, json.dumps(body).encode(),
                                     {"Content-Type": "application/json", "Accept": accept})
    return urllib.request.urlopen(request, timeout=120).read()


def logits_by_json(url):
    ids = ids_of(TEXT)
    answer = json.loads(post(url, "/v2/models/language-mini/infer", {
        "inputs": [{"name": "ids", "shape": [1, len(ids)], "datatype": "INT64", "data": ids}]}))
    (output,) = answer["outputs"]
    return output["shape"], output["data"]


def triton(url):
    import ml_dtypes
    import numpy
    import tritonclient.http as client
    with client.InferenceServerClient(url.removeprefix("http://")) as server:
        assert server.is_server_live() and server.is_server_ready()
        assert server.is_model_ready("language-mini") and not server.is_model_ready("no-such-model")
        about = server.get_model_metadata("image-mini")
        assert about["inputs"][0]["name"] == "pixels", about
        shape, data = logits_by_json(url)
        wanted = numpy.array(data, numpy.float32).reshape(shape)
        ids = numpy.array([ids_of(TEXT)], numpy.int64)
        for names in (None, ["logits"]):
            given = client.InferInput("ids", ids.shape, "INT64")
            given.set_data_from_numpy(ids)
            outputs = names and [client.InferRequestedOutput(name) for name in names]
            got = server.infer("language-mini", [given], outputs=outputs).as_numpy("logits")
            assert numpy.array_equal(got, wanted), abs(got - wanted).max()
        # Half numbers exist in bytes alone.
        size = about["inputs"][0]["shape"][1:]
        pixels = numpy.random.default_rng(3).standard_normal([2, *size]).astype(numpy.float32)
        classes = []
        for kind, type_ in (("FP32", numpy.float32), ("FP16", numpy.float16), ("BF16", ml_dtypes.bfloat16)):
            values = pixels.astype(type_)
            given = client.InferInput("pixels", values.shape, kind)
            given.set_data_from_numpy(values)
            classes.append(server.infer("image-mini", [given]).as_numpy("logits"))
        assert classes[0].shape == (2, 10)
        for one in classes[1:]:
            assert abs(one - classes[0]).max() < 0.2, abs(one - classes[0]).max()
        try:
            server.get_model_metadata("no-such-model")
            raise AssertionError("no error")
        except client.InferenceServerException as error:
            assert "[404]" in str(error) and "there is no model" in str(error), error


def open_inference(url):
    from open_inference.openapi.client import OpenInferenceClient
    client = OpenInferenceClient(base_url=url)
    client.check_server_readiness()
    client.check_model_readiness("language-mini")
    about = client.read_model_metadata("language-mini")
    assert [one.name for one in about.inputs] == ["ids", "mask"], about
    from open_inference.openapi.client import InferenceRequest
    ids = ids_of(TEXT)
    answer = client.model_infer("language-mini", request=InferenceRequest(inputs=[
        {"name": "ids", "shape": [1, len(ids)], "datatype": "INT64", "data": ids}]))
    assert json.loads(answer.outputs[0].data.json()) == logits_by_json(url)[1]


def openai(url):
    from openai import OpenAI
    client = OpenAI(base_url=url + "/v1", api_key="none")
    assert "language-mini" in [model.id for model in client.models.list()]
    answer = client.embeddings.create(model="language-mini", input=["It rains.", "It is wet."])
    packed = json.loads(post(url, "/v1/embeddings", {"input": "It rains.", "encoding_format": "base64"}))
    assert len(base64.b64decode(packed["data"][0]["embedding"])) == 4 * len(answer.data[0].embedding)


def prometheus(url):
    from prometheus_client.parser import text_string_to_metric_families
    text = urllib.request.urlopen(url + "/metrics", timeout=10).read().decode()
    families = {family.name for family in text_string_to_metric_families(text)}
    assert {"perceiver_requests", "perceiver_queue_seconds", "perceiver_latents_bytes"} <= families, families


def verbs(url, program):
    """What the server answers is what the verbs print, to the last digit: both on one thread."""
    def printed(*words):
        command = [program, *map(str, words), "-q", "--threads", "1", "--json"]
        return json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    (filled,) = printed("fill", TEXT)
    assert json.loads(post(url, "/fill", {"text": TEXT})) == filled
    (frog,) = printed("classify", SAMPLES / "pictures/frog.png")
    assert json.loads(post(url, "/classify", {"sample": "pictures-frog.png"}))["top"] == frog["top"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default="build/perceiver")
    args = parser.parse_args()
    failed = []
    with started(args.program, "--threads", 1) as url:
        for module, test in (("tritonclient", triton), ("open_inference", open_inference), ("openai", openai),
                             ("prometheus_client", prometheus), (None, verbs)):
            if module and importlib.util.find_spec(module) is None:
                print(f"skipped: {module} is not installed", flush=True)
                continue
            try:
                test(url, args.program) if test is verbs else test(url)
                print(f"ok       {test.__name__}", flush=True)
            except Exception as error:  # the next one is to run all the same
                failed.append(test.__name__)
                print(f"FAILED   {test.__name__}: {type(error).__name__}: {error}", flush=True)
    return f"{len(failed)} failed: {', '.join(failed)}" if failed else 0


if __name__ == "__main__":
    sys.exit(main())
