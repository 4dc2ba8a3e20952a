"""A model of transformers, computed by this library."""

import copy
import functools
import inspect
import json
import warnings

import torch

from ._arrays import is_array
from ._library import Error, call, classes


def _text(given):
    return {"ids": given["inputs"], "mask": given["attention_mask"]}


def _image(given):
    return {"pixels": given["inputs"]}


def _flow(given):
    return {"patches": given["inputs"]}


def _clip(given):
    arrays, points = given["inputs"], given["subsampled_output_points"]
    return {"image": arrays["image"], "audio": arrays["audio"], "label": arrays["label"],
            "image_points": points["image"], "audio_points": points["audio"]}


# transformers' classes: what they are called with, as `perceiver run` has it, and the output.
_CLASSES = {
    "PerceiverForMaskedLM": (_text, "logits"),
    "PerceiverForSequenceClassification": (_text, "logits"),
    "PerceiverForImageClassificationLearned": (_image, "logits"),
    "PerceiverForImageClassificationFourier": (_image, "logits"),
    "PerceiverForImageClassificationConvProcessing": (_image, "logits"),
    "PerceiverForOpticalFlow": (_flow, "flow"),
    "PerceiverForMultimodalAutoencoding": (_clip, None),
}
# Other names of `inputs`.
_SYNONYMS = ("input_ids", "pixel_values")
# Arguments that ask for nothing, or for what is computed here.
_TAKEN = ("inputs", "attention_mask", "subsampled_output_points", "return_dict")


class _Forward:
    """In the place of a model's forward(). Calls that it does not compute go to the original."""

    def __init__(self, model):
        self.model = model
        self.signature = inspect.signature(type(model).forward)
        self.__signature__ = inspect.signature(functools.partial(type(model).forward, model))
        self.native, self.places, self.warned = None, [], False

    # Copies and pickles of the model have one of their own.
    def __deepcopy__(self, memo):
        return _Forward(copy.deepcopy(self.model, memo))

    def __reduce__(self):
        return _Forward, (self.model,)

    def __call__(self, *arguments, **keywords):
        if not torch.compiler.is_compiling() and not torch.jit.is_tracing():
            given = self.given(arguments, keywords)
            if given is not None:
                return self.compute(given)
        return type(self.model).forward(self.model, *arguments, **keywords)

    def given(self, arguments, keywords):
        """-> the arguments by name, or None where the original has to compute"""
        if self.model.training or torch.is_autocast_enabled(self.model.device.type):
            return None
        given = self.signature.bind(self.model, *arguments, **keywords)
        given.apply_defaults()
        given = given.arguments
        given.update(given.pop("kwargs", {}))
        for name in _SYNONYMS:
            if given.get(name) is not None:
                if given["inputs"] is not None:
                    return None
                given["inputs"] = given.pop(name)
        config = self.model.config
        asks = any(value is not None and value is not False for name, value in given.items()
                   if name not in ("self", *_TAKEN, *_SYNONYMS))
        if asks or config.output_attentions or config.output_hidden_states:
            return None
        if not self.computes(given) or self.needs_gradients(given["inputs"]):
            return None
        return given

    def computes(self, given):
        mask, arguments = given["attention_mask"], _CLASSES[_class_of(self.model).__name__][0]
        if arguments is _clip:
            points = given["subsampled_output_points"]
            return (isinstance(given["inputs"], dict) and isinstance(points, dict)
                    and all(is_array(points.get(name)) for name in ("image", "audio"))
                    and points.get("label") is None and mask is None
                    and all(is_array(given["inputs"].get(name))
                            for name in ("image", "audio", "label")))
        if not isinstance(given["inputs"], torch.Tensor):
            return False
        return mask is None or (arguments is _text and mask.dim() == 2)

    def needs_gradients(self, inputs):
        if not torch.is_grad_enabled():
            return False
        arrays = inputs.values() if isinstance(inputs, dict) else [inputs]
        if any(x.requires_grad for x in arrays):
            return True
        if not any(p.requires_grad for p in self.model.parameters()):
            return False
        if not self.warned:
            warnings.warn("gradients are on, so transformers computes: call the optimized model "
                          "under torch.no_grad()", stacklevel=5)
            self.warned = True
        return True

    def compute(self, given):
        if self.native is None or any(place.get(name) is not tensor
                                      for place, name, tensor in self.places):
            self.borrow()
        arguments, output = _CLASSES[_class_of(self.model).__name__]
        inputs = {name: x for name, x in arguments(given).items() if x is not None}
        found = call(self.native.run, inputs)
        logits = found[output] if output else dict(found.items())
        if not (self.model.config.return_dict if given["return_dict"] is None
                else given["return_dict"]):
            return (logits,)
        return _output_class(self.model)(logits=logits)

    def borrow(self):
        """Takes the weights anew: one of the model's tensors is another than before."""
        model, settings = self.model, self.model.config.to_dict()
        settings["architectures"] = [_class_of(model).__name__]
        state = dict(model.state_dict(keep_vars=True))
        for name, tensor in state.items():
            if tensor.is_meta:
                raise Error(f"{name} has no memory; load the weights before optimize()")
        self.native = call(classes.BorrowedModel, json.dumps(settings, default=str), state)
        self.places = [(place, name, tensor) for module in model.modules()
                       for place in (module._parameters, module._buffers)
                       for name, tensor in place.items()]


def _class_of(model):
    """transformers' class of the model, which may be derived from."""
    for one in type(model).__mro__:
        if one.__name__ in _CLASSES and one.__module__.startswith("transformers."):
            return one
    raise Error(f"the model is {type(model).__name__}, expected one of transformers' "
                f"{', '.join(_CLASSES)}")


def _output_class(model):
    from transformers.models.perceiver import modeling_perceiver
    language = _class_of(model).__name__ == "PerceiverForMaskedLM"
    return (modeling_perceiver.PerceiverMaskedLMOutput if language
            else modeling_perceiver.PerceiverClassifierOutput)


def optimize(model):
    """Has this library compute a Perceiver of transformers -> the same model.

    It is called as before and gives the same outputs; its weights are shared, not copied, and may
    change. In training mode, where gradients are wanted, and for what only transformers computes
    (labels, attentions, hidden states) transformers computes. restore() undoes it.
    """
    theirs = type(model).forward is _class_of(model).forward
    if not theirs or not isinstance(vars(model).get("forward"), (_Forward, type(None))):
        raise Error(f"the model, a {type(model).__name__}, has a forward() of its own, which would "
                    "not be called")
    forward = _Forward(model)
    forward.borrow()
    model.forward = forward
    return model


def restore(model):
    """Has transformers compute again -> the same model."""
    if isinstance(vars(model).get("forward"), _Forward):
        del model.forward
    return model
