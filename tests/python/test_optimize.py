"""perceiver.optimize() beside transformers itself, on all seven classes."""

import copy
import pickle

import pytest
import torch
from models import PEERS
from transformers import PerceiverConfig, PerceiverModel

import perceiver

LANGUAGE = PEERS["language"]


def apart(outputs, expected):
    assert outputs.keys() == expected.keys()
    for name in expected:
        assert outputs[name].shape == expected[name].shape
        assert outputs[name].dtype == expected[name].dtype
    return max((outputs[name].float() - expected[name].float()).abs().max().item()
               for name in expected)


def made(peer):
    model = peer.make(released=False, seed=1)
    return model, peer.make_inputs(model, released=False, seed=1)


class Counted:
    """How often transformers itself computes."""

    def __init__(self, model):
        self.count = 0
        model.perceiver.register_forward_hook(self)

    def __call__(self, *_):
        self.count += 1


@pytest.mark.parametrize("name", PEERS)
def test_same_outputs_of_the_same_weights(name):
    peer = PEERS[name]
    model, inputs = made(peer)
    with torch.no_grad():
        expected = peer.outputs(model, inputs)
        optimized = perceiver.optimize(model)
        assert optimized is model
        assert apart(peer.outputs(model, inputs), expected) <= peer.atol


@pytest.mark.parametrize("name", PEERS)
def test_weights_may_change(name):
    peer = PEERS[name]
    model, inputs = made(peer)
    with torch.no_grad():
        perceiver.optimize(model)
        peer.outputs(model, inputs)
        for parameter in model.parameters():
            parameter.mul_(1.02)
        found = peer.outputs(model, inputs)
        assert apart(found, peer.outputs(perceiver.restore(model), inputs)) <= 2 * peer.atol


# transformers itself computes clips in float32 alone.
@pytest.mark.parametrize("name", [name for name in PEERS if name != "multimodal"])
def test_another_dtype(name):
    peer = PEERS[name]
    model, inputs = made(peer)
    with torch.no_grad():
        exact = peer.outputs(model, inputs)
        model.to(torch.bfloat16)
        inputs = {key: x.to(torch.bfloat16) if x.is_floating_point() else x
                  for key, x in inputs.items()}
        expected = peer.outputs(model, inputs)
        found = peer.outputs(perceiver.optimize(model), inputs)
    error = {key: (expected[key].float() - exact[key]).abs().max().item() for key in exact}
    for key in exact:  # as exact as transformers in bfloat16, give or take a factor of two
        assert found[key].dtype == torch.bfloat16
        assert (found[key].float() - exact[key]).abs().max().item() <= 2 * error[key] + 1e-3


def test_weights_that_are_others():
    model, inputs = made(LANGUAGE)
    with torch.no_grad():
        perceiver.optimize(model)
        LANGUAGE.outputs(model, inputs)
        other = LANGUAGE.make(released=False, seed=2)
        model.load_state_dict(other.state_dict(), assign=True)
        assert apart(LANGUAGE.outputs(model, inputs), LANGUAGE.outputs(other, inputs)) <= 1e-4


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_are_optimized_too(copied):
    model, inputs = made(LANGUAGE)
    with torch.no_grad():
        expected = LANGUAGE.outputs(model, inputs)
        twin = copied(perceiver.optimize(model))
        del model
        counted = Counted(twin)
        found = LANGUAGE.outputs(twin, inputs)
        assert counted.count == 1  # the latents alone, which are asked of transformers
        assert apart(found, expected) <= 1e-4


def test_the_same_call_and_the_same_output_class():
    model, inputs = made(LANGUAGE)
    with torch.no_grad():
        expected = model(inputs["ids"], inputs["mask"])
        perceiver.optimize(model)
        counted = Counted(model)
        found = model(inputs["ids"], inputs["mask"])
        assert type(found) is type(expected)
        assert found.keys() == expected.keys()
        assert torch.equal(model(input_ids=inputs["ids"], attention_mask=inputs["mask"]).logits,
                           found.logits)
        assert torch.equal(model(inputs["ids"], inputs["mask"], return_dict=False)[0],
                           found.logits)
        assert counted.count == 0


def test_gradients_and_training_are_transformers_own():
    model, inputs = made(LANGUAGE)
    counted = Counted(perceiver.optimize(model))
    with pytest.warns(UserWarning, match="call the optimized model under torch.no_grad"):
        loss = model(inputs=inputs["ids"]).logits.square().mean()
    loss.backward()
    assert counted.count == 1
    assert all(p.grad is not None for name, p in model.named_parameters())
    with torch.no_grad():
        model.train()(inputs=inputs["ids"])
        assert counted.count == 2
        model.eval()(inputs=inputs["ids"])
        assert counted.count == 2
    model.requires_grad_(False)(inputs=inputs["ids"])  # nothing to differentiate
    assert counted.count == 2


def test_what_only_transformers_computes():
    model, inputs = made(LANGUAGE)
    counted = Counted(perceiver.optimize(model))
    with torch.no_grad():
        assert model(inputs=inputs["ids"], output_attentions=True).attentions is not None
        labels = torch.zeros(3, 48, dtype=torch.long)
        assert model(inputs=inputs["ids"][:, :5], labels=labels).loss > 0
        with torch.autocast("cpu", torch.bfloat16):
            model(inputs=inputs["ids"])
    assert counted.count == 3


def test_the_original_can_be_compiled():
    model, inputs = made(LANGUAGE)
    with torch.no_grad():
        expected = model(inputs=inputs["ids"]).logits
        found = torch.compile(perceiver.optimize(model), backend="eager")(inputs=inputs["ids"])
        assert (found.logits - expected).abs().max() <= 1e-4


def test_another_model_is_a_sentence():
    with pytest.raises(perceiver.Error, match="^the model is Linear, expected one of transformers'"
                                              " PerceiverForMaskedLM, "):
        perceiver.optimize(torch.nn.Linear(2, 2))
    with pytest.raises(perceiver.Error, match="^the model is PerceiverModel, expected"):
        perceiver.optimize(PerceiverModel(PerceiverConfig(d_model=8, d_latents=8, num_latents=2)))


def test_wrong_inputs_are_a_sentence():
    model, inputs = made(LANGUAGE)
    perceiver.optimize(model)
    with torch.no_grad():
        with pytest.raises(perceiver.Error, match=r"^id 262 is not among the model's 262$"):
            model(inputs=torch.full((1, 4), 262))
        with pytest.raises(perceiver.Error, match=r"^ids has shape \[4\], expected \[\*, \*\]$"):
            model(inputs=torch.zeros(4, dtype=torch.long))
    model, inputs = made(PEERS["optical-flow"])
    perceiver.optimize(model)
    with torch.no_grad(), pytest.raises(perceiver.Error, match=r"^patches has shape \[2, 2\]"):
        model(inputs=torch.zeros(2, 2))


def test_weights_that_do_not_fit_are_a_sentence():
    model, _ = made(LANGUAGE)
    model.perceiver.encoder.cross_attention.mlp.dense1 = torch.nn.Linear(40, 7)
    with pytest.raises(perceiver.Error,
                       match=r"dense1.bias' has shape \[7\], expected \[40\]$"):
        perceiver.optimize(model)
