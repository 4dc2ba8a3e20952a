#!/usr/bin/env python3
"""Pictures from a hundred of their pixels, drawn at any resolution: trained on places chosen at
random, asked for every pixel of 64 x 64 and of 128 x 128."""

import numpy as np

from common import Example

SEEN, ASKED = 100, 256


def picture(rng):
    """Two discs before a gradient, as a function of places [n, 2] in [-1, 1]."""
    corners = rng.uniform(0, 1, (3, 3))
    discs = [(rng.uniform(-0.8, 0.8, 2), rng.uniform(0.25, 0.6), rng.uniform(0, 1, 3))
             for _ in range(2)]

    def colours(places):
        y, x = (places.T[:, :, None] + 1) / 2
        values = corners[0] + 0.5 * (corners[1] - corners[0]) * y + 0.5 * (corners[2] - corners[0]) * x
        for middle, radius, colour in discs:
            inside = np.linalg.norm(places - middle, axis=1) < radius
            values = np.where(inside[:, None], colour, values)
        return values

    return colours


def pictures(examples, seed, grid=None):
    """Pixels that are seen [n, SEEN, 5], places [n, Q, 2] and the colours there [n, Q, 3]."""
    rng = np.random.default_rng(seed)
    seen, places, colours = [], [], []
    for _ in range(examples):
        of = picture(rng)
        at = rng.uniform(-1, 1, (SEEN, 2))
        seen.append(np.concatenate([at, of(at)], 1))
        at = rng.uniform(-1, 1, (ASKED, 2)) if grid is None else grid
        places.append(at)
        colours.append(of(at))
    return [np.array(x, np.float32) for x in (seen, places, colours)]


def pixels(size):
    middle = (np.arange(size) + 0.5) / size * 2 - 1
    return np.stack(np.meshgrid(middle, middle, indexing="ij"), -1).reshape(-1, 2)


def nearest(seen, places):
    apart = ((places[:, None] - seen[None, :, :2]) ** 2).sum(-1)
    return seen[apart.argmin(1), 2:]


def shepard(seen, places):
    """The mean of what is seen, by the fourth power of its nearness."""
    weights = 1 / (((places[:, None] - seen[None, :, :2]) ** 2).sum(-1) ** 2 + 1e-9)
    return weights @ seen[:, 2:] / weights.sum(1, keepdims=True)


def psnr(guess, truth):
    return -10 * np.log10(((np.clip(guess, 0, 1) - truth) ** 2).mean((1, 2))).mean()


def main():
    example = Example("picture", __doc__)
    names = ("seen", "places", "colours")
    sizes = (1500, 200) if example.small else (20000, 500)
    for split, seed, size in zip(("train", "held_out"), (0, 1), sizes):
        example.save(split, **dict(zip(names, pictures(size, seed))))
    example.train(["train.steps=250", "train.warmup_steps=20", "train.learning_rate=2e-3",
                   "queries.colours.sample=64", "train.batch=16",
                   "model.encoder.self_attends_per_block=1"])
    rows, better = [("PSNR", "Perceiver IO", "nearest", "Shepard")], []
    for size in (64, 128):
        seen, places, truth = pictures(20 if example.small else 100, 2, pixels(size))
        example.save("grid", seen=seen, places=places)
        drawn = psnr(example.run(example.out / "grid.npz")["colours"], truth)
        plain = [psnr(np.array([guess(s, p) for s, p in zip(seen, places)]), truth)
                 for guess in (nearest, shepard)]
        rows.append((f"{size} x {size}", *(f"{x:.2f} dB" for x in (drawn, *plain))))
        bar = 16.0 if example.small else max(plain)
        better.append((f"PSNR above {bar:.2f} dB at {size} x {size}", drawn > bar))
    example.close(rows, better)


main()
