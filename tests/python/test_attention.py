"""torch.ops.perceiver.attention beside torch's own attention."""

import threading
import time

import pytest
import torch

import perceiver

OP = torch.ops.perceiver.attention


def arrays(gradients=False, dtype=torch.float32):
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(shape, generator=generator, dtype=dtype).requires_grad_(gradients)
            for shape in [(2, 3, 7, 8), (2, 3, 11, 8), (2, 3, 11, 5)]]


def mask():
    return torch.arange(11) < torch.tensor([[11], [4]])


def expected(q, k, v, kv_mask=None):
    return torch.nn.functional.scaled_dot_product_attention(
        q, k, v, attn_mask=None if kv_mask is None else kv_mask[:, None, None])


def copies(tensors):
    return [x.detach().clone().requires_grad_() for x in tensors]


@pytest.mark.parametrize("gradients", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_opcheck(gradients, masked):
    torch.library.opcheck(OP, (*arrays(gradients), mask() if masked else None))


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("compiled", [False, True])
def test_values_and_gradients(masked, compiled):
    kv_mask = mask() if masked else None

    def loss(q, k, v):
        return perceiver.attention(q * 2, k, v, kv_mask).sin().sum()

    ours, theirs = copies(arrays()), copies(arrays())
    run = torch.compile(loss, fullgraph=True, backend="aot_eager") if compiled else loss
    run(*ours).backward()
    expected(theirs[0] * 2, theirs[1], theirs[2], kv_mask).sin().sum().backward()
    for a, b in zip(ours, theirs):
        assert (a.grad - b.grad).abs().max() <= 1e-5


def test_gradients_in_double_precision():
    assert torch.autograd.gradcheck(OP, arrays(True, torch.float64))


def test_a_query_without_keys_gets_zeros():
    q, k, v = arrays()
    out = perceiver.attention(q, k, v, torch.zeros(2, 11, dtype=torch.bool))
    assert torch.equal(out, torch.zeros_like(out))


def test_export_with_any_number_of_queries():
    class Model(torch.nn.Module):
        def forward(self, q, k, v):
            return OP(q, k, v)

    q, k, v = arrays()
    queries = torch.export.Dim("queries", min=2, max=100)
    program = torch.export.export(Model(), (q, k, v), dynamic_shapes=({2: queries}, None, None))
    assert [node.target for node in program.graph.nodes if node.op == "call_function"] == [
        torch.ops.perceiver.attention.default]
    longer = torch.cat([q, q], 2)
    assert (program.module()(longer, k, v) - expected(longer, k, v)).abs().max() <= 1e-5


def test_the_interpreter_goes_on():
    q = torch.randn(1, 8, 2048, 64)
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    begin = time.perf_counter()
    for _ in range(5):
        OP(q, q, q)
    end = time.perf_counter()
    stop.set()
    thread.join()
    assert sum(begin < at < end for at in ticks) >= 5


@pytest.mark.parametrize("change, sentence", [
    (lambda q, k, v: (q[0], k, v, None), "q has shape [3, 7, 8], expected [*, *, *, *]"),
    (lambda q, k, v: (q, k[..., 1:], v, None), "k has shape [2, 3, 11, 7], expected [2, 3, *, 8]"),
    (lambda q, k, v: (q, k, v[:, :, 1:], None), "v has shape [2, 3, 10, 5], expected [2, 3, 11, *]"),
    (lambda q, k, v: (q, k, v, mask()[:1]), "kv_mask has shape [1, 11], expected [2, 11]"),
    (lambda q, k, v: (q, k, v, mask().float()), "kv_mask is Float, expected bool"),
    (lambda q, k, v: (q, k.double(), v, None), "k is Double on cpu, expected Float on cpu as q is"),
    (lambda q, k, v: (q.int(), k, v, None), "q is Int, expected a float dtype"),
])
@pytest.mark.parametrize("gradients", [False, True])
def test_wrong_arrays_are_a_sentence(change, sentence, gradients):
    with pytest.raises(perceiver.Error) as raised:
        perceiver.attention(*change(*arrays(gradients)))
    assert str(raised.value) == sentence
