#!/usr/bin/env python3
"""A table with numbers and words, some of them missing: whether a loan is paid back, and what it
yields, with how sure that is."""

import csv

import numpy as np

from common import Example, classify, predict, ridge, softmax_regression, standardise

JOBS = ["clerk", "doctor", "driver", "farmer", "nurse", "student", "teacher"]
HOMES = ["own", "rent", "parents"]
REGIONS = ["north", "south", "east", "west"]


def write_csv(path, rows, seed):
    rng = np.random.default_rng(seed)
    age = rng.uniform(18, 75, rows)
    income = np.exp(rng.normal(3.4, 0.5, rows))
    amount = np.exp(rng.normal(2.5, 0.7, rows))
    years = rng.integers(1, 11, rows)
    job, home, region = (rng.integers(0, len(x), rows) for x in (JOBS, HOMES, REGIONS))
    # What matters depends on something else: age helps owners and not others, a job is safe in one
    # region and not in the next, an amount is large beside an income.
    strain = np.log(amount / income) + 0.15 * years
    safe = np.where((job + region) % 2 == 0, 1.0, -1.0)
    aged = (age - 45) / 15 * np.where(home == 0, 1.0, -1.0)
    paid = 1.6 * safe + 1.2 * aged - 1.5 * strain + rng.logistic(size=rows) * 0.6 > 0
    spread = 0.3 + 0.5 * (home == 1)
    gain = 2.0 * strain * np.where(region < 2, 1.0, -1.0) + safe + 0.3 * years + spread * rng.normal(size=rows)
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["age", "income", "amount", "years", "job", "home", "region", "paid", "gain"])
        for i in range(rows):
            missing = rng.random(3) < 0.04
            out.writerow([f"{age[i]:.0f}", "" if missing[0] else f"{income[i]:.1f}",
                          f"{amount[i]:.1f}", years[i], "?" if missing[1] else JOBS[job[i]],
                          HOMES[home[i]], "" if missing[2] else REGIONS[region[i]],
                          "yes" if paid[i] else "no", f"{gain[i]:.2f}"])


def columns(path):
    """Numbers, with ones for words and for what is missing; then both answers."""
    with open(path, encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    number = lambda name: np.array([float(row[name] or "nan") for row in rows])
    words = lambda name, all: np.array([[row[name] == word for word in all] for row in rows], float)
    x = np.column_stack([number("age"), np.log(number("income")), np.log(number("amount")),
                         number("years"), words("job", JOBS), words("home", HOMES),
                         words("region", REGIONS)])
    return x, np.array([row["paid"] == "yes" for row in rows], int), number("gain")


def main():
    example = Example("table", __doc__)
    for split, rows, seed in (("train", 3000 if example.small else 20000, 0),
                              ("held_out", 1000 if example.small else 4000, 1)):
        write_csv(example.out / f"{split}.csv", rows, seed)
    example.train(["train.steps=250", "train.warmup_steps=20", "train.learning_rate=2e-3",
                   "model.encoder.self_attends_per_block=1"], "csv")
    score = example.measure(example.out / "held_out.csv")
    (x, paid, gain), (x2, paid2, gain2) = (columns(example.out / f"{split}.csv")
                                           for split in ("train", "held_out"))
    x, x2 = standardise(x, x2)
    accuracy = (classify(softmax_regression(x, paid, 2), x2) == paid2).mean()
    error = np.sqrt(((predict(ridge(x, gain[:, None]), x2)[:, 0] - gain2) ** 2).mean())
    most = max(paid2.mean(), 1 - paid2.mean())
    example.close([("", "paid", "gain, rmse", "95 % sure"),
                   ("Perceiver IO", f"{score['paid']['accuracy']:.3f}", f"{score['gain']['rmse']:.3f}",
                    f"{score['gain']['coverage']:.3f}"),
                   ("linear models", f"{accuracy:.3f}", f"{error:.3f}", "-"),
                   ("the mean answer", f"{most:.3f}", f"{gain2.std():.3f}", "-")],
                  [(f"accuracy above {accuracy:.3f}", score["paid"]["accuracy"] > accuracy),
                   (f"an error of gain below {error:.3f}", score["gain"]["rmse"] < error),
                   ("90 to 99 % of the gains where it is 95 % sure",
                    example.small or 0.9 < score["gain"]["coverage"] < 0.99)])


main()
