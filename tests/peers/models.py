"""Models of Hugging Face's transformers with random weights, and what they say of random inputs.

Inputs and outputs are dictionaries of tensors, named and laid out as `perceiver run` reads them.
"""

import math
from dataclasses import dataclass, field

import torch
import transformers
from transformers import PerceiverConfig


def random_weights(model, generator):
    """Weights under which outputs are of order 1 and attention is far from uniform.

    transformers' own start (0.02 everywhere) gives outputs too small for anything to fail.
    """

    def normal(tensor, scale, mean=0.0):
        tensor.copy_(mean + scale * torch.randn(tensor.shape, generator=generator))

    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1:
                sharper = 2 if name.endswith(("query.weight", "key.weight")) else 1
                normal(parameter, sharper / math.sqrt(math.prod(parameter.shape[1:])))
            else:
                is_norm = "norm" in name and name.endswith("weight")
                normal(parameter, 0.1, mean=1.0 if is_norm else 0.0)
        for name, buffer in model.named_buffers():
            if name.endswith("running_mean"):
                normal(buffer, 0.1)
            elif name.endswith("running_var"):
                buffer.copy_(0.5 + torch.rand(buffer.shape, generator=generator))


@dataclass
class Peer:
    """An architecture: how one is made, fed and read. Sizes are keywords of `inputs`."""

    architecture: str
    small: dict
    released: dict
    small_inputs: dict = field(default_factory=dict)
    released_inputs: dict = field(default_factory=dict)
    atol: float = 1e-4

    def make(self, released, seed):
        settings = self.released if released else self.small
        config = PerceiverConfig(attention_probs_dropout_prob=0.0, **settings)
        model = getattr(transformers, self.architecture)(config).eval()
        random_weights(model, torch.Generator().manual_seed(seed))
        return model

    def make_inputs(self, model, released, seed, sizes=None):
        sizes = sizes or (self.released_inputs if released else self.small_inputs)
        return self.inputs(model.config, torch.Generator().manual_seed(seed + 1), **sizes)

    def load(self, folder):
        """-> the model in float32, and what transformers has to complain of."""
        model, info = getattr(transformers, self.architecture).from_pretrained(
            folder, dtype=torch.float32, output_loading_info=True
        )
        return model.eval(), {what: names for what, names in info.items() if names}


class Text(Peer):
    def inputs(self, config, generator, batch, length=None):
        length = length or config.max_position_embeddings
        ids = torch.randint(config.vocab_size, (batch, length), generator=generator)
        # A whole text, one with padding after it and, where there are three, nothing but padding.
        lengths = torch.tensor([length, length * 2 // 3, 0])[:batch]
        return {"ids": ids, "mask": (torch.arange(length) < lengths[:, None]).long()}


class MaskedLanguage(Text):
    def outputs(self, model, x):
        masked = model(inputs=x["ids"], attention_mask=x["mask"])
        latents = model.perceiver(inputs=x["ids"], attention_mask=x["mask"]).last_hidden_state
        unmasked = model(inputs=x["ids"])
        return {"logits": masked.logits, "logits_unmasked": unmasked.logits, "latents": latents}


class TextClassifier(Text):
    def outputs(self, model, x):
        return {"logits": model(inputs=x["ids"], attention_mask=x["mask"]).logits}


class Image(Peer):
    def inputs(self, config, generator, size, batch=2):
        return {"pixels": torch.randn(batch, 3, *size, generator=generator)}

    def outputs(self, model, x):
        return {"logits": model(inputs=x["pixels"]).logits}


class OpticalFlow(Peer):
    def inputs(self, config, generator, batch):
        return {"patches": torch.randn(batch, 2, 27, *config.train_size, generator=generator)}

    def outputs(self, model, x):
        return {"flow": model(inputs=x["patches"]).logits}


class Multimodal(Peer):
    def inputs(self, config, generator, image_points, audio_points):
        _, frames, height, width = config.output_shape
        samples = config.num_frames * config.audio_samples_per_frame

        def points(count, of):
            return torch.randperm(of, generator=generator)[:count]

        return {
            "image": torch.randn(1, frames, 3, height, width, generator=generator),
            "audio": torch.randn(1, samples, 1, generator=generator),
            "label": torch.randn(1, config.num_labels, generator=generator),
            "image_points": points(image_points, frames * height * width),
            "audio_points": points(audio_points, samples // config.samples_per_patch),
        }

    def outputs(self, model, x):
        # Always some of the outputs: asked for all, transformers takes the sizes from wrong axes.
        points = {"image": x["image_points"], "audio": x["audio_points"], "label": None}
        inputs = {modality: x[modality] for modality in ("image", "audio", "label")}
        return model(inputs=inputs, subsampled_output_points=points).logits


def labels(count):
    return {"id2label": {i: f"class {i}" for i in range(count)},
            "label2id": {f"class {i}": i for i in range(count)}}


SMALL_TEXT = dict(num_latents=12, d_latents=40, d_model=32, num_self_attends_per_block=3,
                  num_self_attention_heads=4, num_cross_attention_heads=4, qk_channels=16,
                  v_channels=40, max_position_embeddings=48)
RELEASED_TEXT = dict(qk_channels=256, v_channels=1280)
SMALL_IMAGE = dict(num_latents=10, d_latents=32, num_blocks=3, num_self_attends_per_block=2,
                   num_self_attention_heads=4, num_cross_attention_heads=1, **labels(10))
RELEASED_IMAGE = dict(num_latents=512, d_latents=1024, num_blocks=8, num_self_attends_per_block=6,
                      num_self_attention_heads=8, num_cross_attention_heads=1, **labels(1000))

PEERS = {
    "language": MaskedLanguage(
        "PerceiverForMaskedLM",
        small=SMALL_TEXT,
        small_inputs=dict(batch=3),
        released=RELEASED_TEXT,
        released_inputs=dict(batch=2),
    ),
    "text-classifier": TextClassifier(
        "PerceiverForSequenceClassification",
        small=SMALL_TEXT | labels(3),
        small_inputs=dict(batch=3, length=40),
        released=RELEASED_TEXT | labels(5),
        released_inputs=dict(batch=2),
    ),
    "image-learned": Image(
        "PerceiverForImageClassificationLearned",
        small=SMALL_IMAGE | dict(d_model=512, image_size=20),
        small_inputs=dict(size=(20, 20)),
        released=RELEASED_IMAGE | dict(d_model=512, image_size=224),
        released_inputs=dict(size=(224, 224), batch=1),
    ),
    "image-fourier": Image(
        "PerceiverForImageClassificationFourier",
        small=SMALL_IMAGE | dict(d_model=261),
        small_inputs=dict(size=(20, 24)),
        released=RELEASED_IMAGE | dict(d_model=261),
        released_inputs=dict(size=(224, 224), batch=1),
    ),
    "image-conv": Image(
        "PerceiverForImageClassificationConvProcessing",
        small=SMALL_IMAGE | dict(d_model=322),
        small_inputs=dict(size=(64, 64)),
        released=RELEASED_IMAGE | dict(d_model=322),
        released_inputs=dict(size=(224, 224), batch=1),
    ),
    "optical-flow": OpticalFlow(
        "PerceiverForOpticalFlow",
        small=dict(num_latents=24, d_latents=32, d_model=322, num_self_attends_per_block=3,
                   num_self_attention_heads=4, num_cross_attention_heads=1, train_size=[16, 24]),
        small_inputs=dict(batch=2),
        released=dict(num_latents=2048, d_latents=512, d_model=322, num_self_attends_per_block=24,
                      num_self_attention_heads=16, num_cross_attention_heads=1),
        released_inputs=dict(batch=1),
        atol=1e-5,  # transformers divides by 100: flow is that much smaller
    ),
    "multimodal": Multimodal(
        "PerceiverForMultimodalAutoencoding",
        small=dict(num_latents=18, d_latents=32, d_model=405, num_self_attends_per_block=3,
                   num_self_attention_heads=4, num_cross_attention_heads=1, image_size=4,
                   num_frames=4, audio_samples_per_frame=64, output_shape=[1, 4, 16, 16],
                   output_num_channels=24, **labels(20)),
        small_inputs=dict(image_points=200, audio_points=13),
        released=dict(num_latents=784, d_latents=512, d_model=704, num_self_attends_per_block=8,
                      num_self_attention_heads=8, num_cross_attention_heads=1, **labels(700)),
        released_inputs=dict(image_points=6272, audio_points=15),
    ),
}
