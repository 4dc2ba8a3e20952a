"""What the methods of a model return."""

from typing import NamedTuple


class Word(NamedTuple):
    text: str
    probability: float


class FilledMask(NamedTuple):
    words: list  # of Word, the best first: it stands in the text


class FilledText(NamedTuple):
    text: str
    masks: list  # of FilledMask, as they follow each other in the text


class RankedClass(NamedTuple):
    index: int
    name: str
    probability: float


class Answer(NamedTuple):
    values: dict
    arrays: dict


class View(NamedTuple):
    modality: str
    first: int  # of its elements in the input array
    grid: tuple  # of its elements
    texts: tuple  # what each stands for, where it is read
    pictures: object  # uint8 [T, 3, H, W] of what is seen, or None


class AttendMaps(NamedTuple):
    names: list
    weights: object  # [K, M]: of each group of latents its attention to the input array
    views: list
    maps: list  # of dicts: name, latents, half_on, share, strongest

    def over(self, modality):
        """-> [K, *grid] of one part of the input"""
        for view in self.views:
            if view.modality == modality:
                count = 1
                for size in view.grid:
                    count *= size
                part = self.weights[:, view.first:view.first + count]
                return part.reshape((len(self.names), *view.grid))
        known = ", ".join(view.modality for view in self.views)
        raise KeyError(f"no part '{modality}' of the input; there are: {known}")


class Autoencoded(NamedTuple):
    video: object  # uint8 [T, 3, H, W]
    audio: object  # float [S]
    psnr: dict
    top: list  # of RankedClass


def classes(rows):
    return [RankedClass(row["index"], row["name"], row["probability"]) for row in rows]
