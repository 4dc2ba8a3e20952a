#!/usr/bin/env python3
"""Where an animal moves to, at any time, from spikes of its neurons: events with times."""

import numpy as np

from common import Example, predict, ridge

NEURONS, ROOM, ASKED, BINS = 40, 300, 20, 20


def trials(examples, seed):
    """A second each. A neuron fires for a direction of its own; how much all of them fire differs
    from trial to trial, and some are silent in one."""
    rng = np.random.default_rng(seed)
    prefers = np.arange(NEURONS) / NEURONS * 2 * np.pi
    slices = (np.arange(200) + 0.5) / 200
    neuron = np.zeros((examples, ROOM), np.int64)
    time, there = np.zeros((examples, ROOM), np.float32), np.zeros((examples, ROOM), bool)
    when = rng.uniform(0, 1, (examples, ASKED, 1)).astype(np.float32)
    direction = np.empty((examples, ASKED, 2), np.float32)
    for i in range(examples):
        start, turn, wave, phase = rng.uniform((0, -4, 0, 0), (2 * np.pi, 4, 1.5, 2 * np.pi))
        angle = lambda t: start + turn * t + wave * np.sin(2 * np.pi * t + phase)
        rate = np.exp(2.5 * (np.cos(angle(slices)[:, None] - prefers) - 1))
        rate *= rng.uniform(5, 25) * (rng.random(NEURONS) > 0.25)
        slice_, who = np.nonzero(rng.random(rate.shape) < rate / 200)
        keep = np.sort(rng.permutation(len(who))[:ROOM])
        n = len(keep)
        neuron[i, :n], there[i, :n] = who[keep], True
        time[i, :n] = slices[slice_[keep]]
        at = angle(when[i, :, 0])
        direction[i] = np.stack([np.cos(at), np.sin(at)], -1)
    return dict(neuron=neuron, time=time, there=there, when=when, direction=direction)


def counts(data):
    """Spikes of each neuron in each twentieth of the trial, smoothed."""
    binned = np.zeros((len(data["time"]), BINS, NEURONS))
    row, column = np.nonzero(data["there"])
    at = np.minimum((data["time"][row, column] * BINS).astype(int), BINS - 1)
    np.add.at(binned, (row, at, data["neuron"][row, column]), 1)
    padded = np.pad(binned, ((0, 0), (2, 2), (0, 0)), "edge")
    return sum(w * padded[:, i:i + BINS] for i, w in enumerate((0.5, 1, 1.5, 1, 0.5)))


def at_times(binned, data):
    """Of each time that is asked for, the counts of its bin."""
    at = np.minimum((data["when"][..., 0] * BINS).astype(int), BINS - 1)
    return binned[np.arange(len(at))[:, None], at].reshape(-1, NEURONS)


def r2(guess, truth):
    return 1 - ((guess - truth) ** 2).sum() / ((truth - truth.mean((0, 1))) ** 2).sum()


def main():
    example = Example("events", __doc__)
    sizes = (1500, 300) if example.small else (10000, 2000)
    train, held_out = (trials(size, seed) for seed, size in enumerate(sizes))
    example.save("train", **train)
    example.save("held_out", **held_out)
    example.train(["train.steps=250", "train.warmup_steps=20", "train.learning_rate=2e-3",
                   "inputs.spikes.sample=96", "model.encoder.self_attends_per_block=1"])
    truth = held_out["direction"]
    score = r2(example.run(example.out / "held_out.npz")["direction"], truth)
    weights = ridge(at_times(counts(train), train), train["direction"].reshape(-1, 2))
    linear = r2(predict(weights, at_times(counts(held_out), held_out)).reshape(truth.shape), truth)
    example.close([("R2", f"{score:.3f}"), ("linear decoder of counts", f"{linear:.3f}")],
                  [(f"R2 above {linear:.3f}", score > linear)])


main()
