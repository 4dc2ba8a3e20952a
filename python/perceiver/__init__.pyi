from os import PathLike
from typing import Any, Literal, NamedTuple, Sequence, TypeVar, Union

import numpy
import torch

Array = Union[numpy.ndarray, torch.Tensor]  # what goes in; results are of the kind of the inputs
Path = Union[str, PathLike[str]]
Input = Union[Path, Array]  # a file, a text, or an array
Dtype = Union[Literal["float32", "bfloat16", "float16"], torch.dtype]
HuggingFaceModel = TypeVar("HuggingFaceModel", bound=torch.nn.Module)

__version__: str

class Error(RuntimeError): ...

class Word(NamedTuple):
    text: str
    probability: float

class FilledMask(NamedTuple):
    words: list[Word]

class FilledText(NamedTuple):
    text: str
    masks: list[FilledMask]

class RankedClass(NamedTuple):
    index: int
    name: str
    probability: float

class Answer(NamedTuple):
    values: dict[str, Any]
    arrays: dict[str, Array]

class View(NamedTuple):
    modality: str
    first: int
    grid: tuple[int, ...]
    texts: tuple[str, ...]
    pictures: Array | None

class AttendMaps(NamedTuple):
    names: list[str]
    weights: Array
    views: list[View]
    maps: list[dict[str, Any]]
    def over(self, modality: str) -> Array: ...

class Autoencoded(NamedTuple):
    video: Array
    audio: Array
    psnr: dict[str, float | None]
    top: list[RankedClass]

class Latents:
    def __init__(self, path: Path) -> None: ...
    @property
    def array(self) -> Array: ...
    @property
    def arrays(self) -> dict[str, Array]: ...
    @property
    def facts(self) -> dict[str, Any]: ...
    def save(self, path: Path) -> None: ...

class Model:
    source: str
    task: str
    origin: str
    labels: list[str]
    parameters: int
    settings: str
    device: str
    dtype: str
    def __init__(self, name: Path, *, device: str = ..., dtype: Dtype = ...,
                 semantics: Literal["deepmind", "huggingface"] | None = ...) -> None: ...
    def to(self, device: str = ..., dtype: Dtype = ...) -> Model: ...
    def fill(self, text: str, *, top: int = ..., num_bytes: int | None = ...) -> FilledText: ...
    def classify(self, inputs: Input | Sequence[Input], *, pair: Input | None = ...,
                 tasks: str | Sequence[str] | None = ..., top: int = ..., batch: int = ...
                 ) -> Any: ...
    def flow(self, first: Input, second: Input) -> Array: ...
    def encode(self, *inputs: Input, video: Array | None = ..., audio: Array | None = ...
               ) -> Latents: ...
    def query(self, latents: Latents, *, pixels: Sequence[tuple[int, int] | str] | None = ...,
              box: tuple[int, int, int, int] | str | None = ...,
              frames: int | Sequence[int] | str | None = ...,
              seconds: tuple[float, float] | str | None = ...,
              words: int | Sequence[int] | str | None = ...,
              tasks: str | Sequence[str] | None = ..., label: bool = ..., top: int = ...
              ) -> Answer: ...
    def attend(self, *inputs: Input, query: bool = ..., latents: Sequence[int] = ...,
               clusters: int = ..., seed: int = ..., head: int | None = ...) -> AttendMaps: ...
    def autoencode(self, clip: Path | None = ..., *, video: Array | None = ...,
                   audio: Array | None = ..., masked: str | Sequence[str] = ..., top: int = ...
                   ) -> Autoencoded: ...
    def run(self, inputs: dict[str, Array] | Path, outputs: Sequence[str] = ...
            ) -> dict[str, Array]: ...

def load(name: Path, *, device: str = ..., dtype: Dtype = ...,
         semantics: Literal["deepmind", "huggingface"] | None = ...) -> Model: ...
def optimize(model: HuggingFaceModel) -> HuggingFaceModel: ...
def restore(model: HuggingFaceModel) -> HuggingFaceModel: ...
def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor,
              kv_mask: torch.Tensor | None = ...) -> torch.Tensor: ...
