#!/usr/bin/env python3
"""The state of a machine by its vibration and its sound, of which one may be missing."""

import numpy as np

from common import Example, classify, softmax_regression, standardise

TIMES = 96


def recordings(examples, seed):
    """Four states, of two bits. The vibration's tone rises or falls, by the first bit; the sound
    has a long tone with a short one before or behind it, by the second. Each tells a little of the
    other's bit: by how strong it is."""
    rng = np.random.default_rng(seed)
    state = rng.integers(0, 4, examples)
    first, second = state // 2, state % 2
    t = np.arange(TIMES) / TIMES
    of = lambda low, high: rng.uniform(low, high, (examples, 1))
    sweep = np.where(first[:, None] == 1, t, 1 - t)
    phase = 2 * np.pi * (of(4, 6) * t + 8 * np.where(first[:, None] == 1, 1, -1) * sweep ** 2 / 2
                         + of(0, 1))
    strong = of(0.6, 1.4) * np.where(second[:, None] == 1, 1.3, 1.0)
    vibration = strong[:, :, None] * np.stack([np.sin(phase), np.cos(phase)], -1)
    vibration += 0.8 * rng.normal(size=vibration.shape)
    long, short = of(0.35, 0.65), of(0.2, 0.3) * np.where(second[:, None] == 1, 1, -1)
    envelope = np.exp(-((t - long) / 0.12) ** 2) + 0.9 * np.exp(-((t - long - short) / 0.03) ** 2)
    loud = of(0.6, 1.4) * np.where(first[:, None] == 1, 1.3, 1.0)
    sound = loud * envelope * np.sin(2 * np.pi * (18 * t + of(0, 1))) + 0.25 * rng.normal(size=(examples, TIMES))
    failed = rng.random(examples)
    vibration[failed < 0.15] = np.nan
    sound[failed > 0.85] = np.nan
    return vibration.astype(np.float32), sound.astype(np.float32), state


def spectra(vibration, sound, parts):
    """How strong each frequency is in each part of the time; NaN where a sensor is missing, and a
    column that says so."""
    def power(x):
        parted = x.reshape(len(x), parts, -1)
        return np.log(np.abs(np.fft.rfft(parted, axis=2)) ** 2 + 1e-3).reshape(len(x), -1)

    return np.concatenate([power(vibration[:, :, 0]), power(vibration[:, :, 1]), power(sound),
                           np.isnan(vibration[:, :1, 0]), np.isnan(sound[:, :1])], 1)


def main():
    example = Example("sensors", __doc__)
    sizes = (2000, 600) if example.small else (12000, 3000)
    splits = [recordings(size, seed) for seed, size in enumerate(sizes)]
    for split, (vibration, sound, state) in zip(("train", "held_out"), splits):
        example.save(split, vibration=vibration, sound=sound, state=state)
    example.train(["train.steps=250", "train.warmup_steps=20", "train.learning_rate=2e-3",
                   "model.encoder.self_attends_per_block=1"])
    vibration, sound, state = splits[1]
    right = example.run(example.out / "held_out.npz")["state"].argmax(-1) == state
    plain = []
    for parts in (1, 4):
        train, held_out = standardise(spectra(*splits[0][:2], parts), spectra(vibration, sound, parts))
        plain.append(classify(softmax_regression(train, splits[0][2], 4), held_out) == state)
    of_vibration, of_sound = np.isnan(vibration[:, 0, 0]), np.isnan(sound[:, 0])
    both = ~of_vibration & ~of_sound
    rows = [("accuracy", "all", "both", "no vibration", "no sound")]
    for name, hits in (("Perceiver IO", right), ("softmax regression on spectra", plain[0]),
                       ("… on those of four quarters", plain[1])):
        rows.append((name, *(f"{hits[where].mean():.3f}" for where in
                             (both | True, both, of_vibration, of_sound))))
    bar = 0.5 if example.small else max(hits.mean() for hits in plain)
    example.close(rows, [(f"accuracy above {bar:.3f}", right.mean() > bar)])


main()
