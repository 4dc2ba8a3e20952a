#!/usr/bin/env python3
"""tools/sound_table.py FSDD ESC50.CSV > sounds.csv: one table of spoken digits and everyday sounds.

FSDD is the folder of the Free Spoken Digit Dataset's recordings (7_jackson_32.wav: digit, speaker,
take), ESC50.CSV the table of ESC-50, of which the ten classes of ESC-10 are taken. The table has
the columns file, label, set (digits or sounds) and part, which is one of
  train   takes 15 and above; folds 1 and 2, each file TIMES times (they are five seconds long)
  choose  takes 10 to 14; fold 3: what settings are chosen by
  report  takes 5 to 9; fold 4: what is measured in the end
Takes 0 to 4 and fold 5 are left out, for who wants to check."""

import csv
import sys
from pathlib import Path

DIGITS = "zero one two three four five six seven eight nine".split()
TIMES = 6


def part_of_take(take):
    return "report" if take < 10 else "choose" if take < 15 else "train"


def part_of_fold(fold):
    return {3: "choose", 4: "report"}.get(fold, "train")


def digits(folder):
    for path in sorted(Path(folder).rglob("*_*_*.wav")):
        digit, _, take = path.stem.split("_")
        if int(take) >= 5:
            yield path.name, DIGITS[int(digit)], "digits", part_of_take(int(take))


def sounds(table):
    with open(table, newline="") as file:
        for row in csv.DictReader(file):
            if row["esc10"] == "True" and int(row["fold"]) < 5:
                label = row["category"].replace("_", " ")
                yield Path(row["filename"]).stem, label, "sounds", part_of_fold(int(row["fold"]))


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.splitlines()[0])
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(["file", "label", "set", "part"])
    table.writerows(digits(sys.argv[1]))
    for row in sounds(sys.argv[2]):
        table.writerows([row] * (1 if row[3] == "report" else TIMES))


if __name__ == "__main__":
    main()
