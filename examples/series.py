#!/usr/bin/env python3
"""The load of a network over the next 24 hours, from the last week and what is known of tomorrow:
the hour, whether it is a working day, and the temperature that is forecast."""

import numpy as np

from common import Example, predict, ridge

PAST, NEXT = 168, 24


def write_csv(path, hours, seed):
    """Rows of hours. People heat when it is cold and cool when it is hot; on working days they rise
    early; what they do slowly drifts."""
    rng = np.random.default_rng(seed)
    t = np.arange(hours)
    hour, day = t % 24, t // 24
    holiday = rng.random(hours // 24 + 1)[day] < 0.08
    working = ((day % 7 < 5) & ~holiday).astype(float)
    weather = np.zeros(hours)
    for i in range(1, hours):
        weather[i] = 0.98 * weather[i - 1] + 0.8 * rng.normal()
    temperature = (14 - 11 * np.cos(2 * np.pi * t / (24 * 120)) - 5 * np.cos(2 * np.pi * (hour - 3) / 24)
                   + weather)
    bump = lambda middle, wide: np.exp(-((hour - middle) / wide) ** 2)
    people = working * (30 * bump(8, 2) + 25 * bump(19, 3)) + (1 - working) * 30 * bump(13, 4)
    climate = 1.6 * np.maximum(15 - temperature, 0) + 2.4 * np.maximum(temperature - 21, 0)
    noise = np.zeros(hours)
    for i in range(1, hours):
        noise[i] = 0.95 * noise[i - 1] + 0.8 * rng.normal()
    load = 50 + people * (0.7 + 0.02 * climate) + climate + noise
    with open(path, "w", encoding="utf-8") as file:
        file.write("time,hour,working,temperature,load\n")
        for i in range(hours):
            file.write(f"{i},{hour[i]},{working[i]:.0f},{temperature[i]:.2f},{load[i]:.2f}\n")


def windows(path):
    rows = np.loadtxt(path, delimiter=",", skiprows=1)
    return np.stack([rows[i:i + PAST + NEXT] for i in range(len(rows) - PAST - NEXT + 1)])


def plain(rows):
    """What a linear model gets: the loads of the week, and of tomorrow everything that is known."""
    hours = rows[:, PAST:]
    return np.concatenate([rows[:, :PAST, 4], hours[:, :, 2], hours[:, :, 3]], 1)


def main():
    example = Example("series", __doc__)
    for split, hours, seed in (("train", 4000 if example.small else 17520, 0),
                               ("held_out", 1000 if example.small else 4380, 1)):
        write_csv(example.out / f"{split}.csv", hours, seed)
    example.train(["train.steps=250", "train.warmup_steps=20", "train.learning_rate=2e-3",
                   "train.batch=16", "eval.examples=64",
                   "model.encoder.self_attends_per_block=1"], "csv")
    train, held_out = (windows(example.out / f"{split}.csv") for split in ("train", "held_out"))
    truth = held_out[:, PAST:, 4]
    mean_error = lambda guess: np.abs(guess - truth).mean()
    score = mean_error(example.run(example.out / "held_out.csv")["load"][..., 0])
    week_ago = mean_error(held_out[:, PAST - 168:PAST - 144, 4])
    # One linear model for each hour of the day that tomorrow begins with.
    guess = np.empty_like(truth)
    for hour in range(24):
        begins, of_hour = (rows[:, PAST, 1] == hour for rows in (train, held_out))
        weights = ridge(plain(train[begins]), train[begins][:, PAST:, 4], 10.0)
        guess[of_hour] = predict(weights, plain(held_out[of_hour]))
    linear = mean_error(guess)
    bar = min(linear, week_ago)
    example.close([("mean absolute error", f"{score:.2f}"),
                   ("as a week ago", f"{week_ago:.2f}"),
                   ("linear model for each hour", f"{linear:.2f}")],
                  [(f"mean absolute error below {bar:.2f}", score < bar)])


main()
