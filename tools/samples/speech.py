"""Ten spoken digits by a voice of formulas: pulses and noise through resonances that move as those
of a mouth do (Klatt 1980, much simplified)."""

import math
import random

RATE = 8000
NOISE = 0.002  # how loud breath is beside the voice
NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")

# Resonances of a man's mouth in hertz (Peterson and Barney 1952; consonants by ear).
MOUTH = {
    "iy": (270, 2290, 3010), "ih": (390, 1990, 2550), "ey": (460, 2050, 2600),
    "eh": (530, 1840, 2480), "aa": (730, 1090, 2440), "ah": (640, 1190, 2390),
    "ao": (570, 840, 2410), "ow": (450, 880, 2350), "uh": (360, 800, 2240),
    "uw": (300, 900, 2240), "ux": (330, 1650, 2350), "r": (400, 1200, 1600),
    "w": (300, 640, 2150), "n": (260, 1450, 2500), "v": (260, 1150, 2300),
    "s": (320, 1600, 2550), "k": (320, 1950, 2450), "t": (320, 1800, 2600),
    "f": (340, 1100, 2300), "th": (340, 1350, 2500),
}  # fmt: skip

# Of each word its sounds: mouth, seconds, voice, noise, and hertz that the noise is around.
WORDS = {
    "zero": [("s", .10, .25, .30, 3500), ("ih", .08, .9, 0, 0), ("r", .08, .7, 0, 0),
             ("ow", .12, 1, 0, 0), ("uh", .10, .6, 0, 0)],
    "one": [("w", .08, .6, 0, 0), ("ah", .17, 1, 0, 0), ("n", .14, .45, 0, 0)],
    "two": [("t", .04, 0, .8, 3300), ("t", .04, 0, .3, 2400), ("ux", .07, .8, 0, 0),
            ("uw", .20, .8, 0, 0)],
    "three": [("th", .10, 0, .12, 2800), ("r", .09, .6, 0, 0), ("iy", .24, .9, 0, 0)],
    "four": [("f", .11, 0, .12, 1800), ("ao", .18, 1, 0, 0), ("r", .13, .6, 0, 0)],
    "five": [("f", .11, 0, .5, 1800), ("aa", .16, 1, 0, 0), ("ih", .08, .8, 0, 0),
             ("v", .10, .3, .3, 2200)],
    "six": [("s", .14, 0, .7, 3600), ("ih", .09, .9, 0, 0), ("k", .07, 0, 0, 0),
            ("k", .03, 0, .5, 2000), ("s", .16, 0, .6, 3600)],
    "seven": [("s", .13, 0, .7, 3600), ("eh", .10, 1, 0, 0), ("v", .06, .35, .05, 2200),
              ("ah", .06, .6, 0, 0), ("n", .13, .45, 0, 0)],
    "eight": [("ey", .12, 1, 0, 0), ("iy", .10, .8, 0, 0), ("t", .07, 0, 0, 0),
              ("t", .05, 0, .5, 3200)],
    "nine": [("n", .10, .45, 0, 0), ("aa", .15, 1, 0, 0), ("ih", .09, .8, 0, 0),
             ("n", .14, .45, 0, 0)],
}  # fmt: skip


def tracks(sounds):
    """Of every sample: three resonances, voice, noise and its place, moved smoothly."""
    rows = []
    for mouth, seconds, voice, noise, around in sounds:
        rows += [(*MOUTH[mouth], voice, noise, around or 3000)] * int(seconds * RATE)
    reach = int(0.02 * RATE)
    sums = [[0.0] * 6]
    for row in rows:
        sums.append([a + b for a, b in zip(sums[-1], row)])
    for i in range(len(rows)):
        begin, end = max(0, i - reach), min(len(rows), i + reach + 1)
        yield [(b - a) / (end - begin) for a, b in zip(sums[begin], sums[end])]


class Resonator:
    def __init__(self):
        self.last = self.before = 0.0

    def __call__(self, x, hertz, width):
        radius = math.exp(-math.pi * width / RATE)
        b = 2 * radius * math.cos(2 * math.pi * hertz / RATE)
        c = -radius * radius
        y = (1 - b - c) * x + b * self.last + c * self.before
        self.before, self.last = self.last, y
        return y


def spoken(word):
    """Samples in [-1, 1] of one word, between moments of almost silence."""
    drawn = random.Random(word)
    mouth, breath, glottis = [Resonator() for _ in range(4)], Resonator(), Resonator()
    rows = list(tracks(WORDS[word]))
    samples, phase = [], 0.0
    for i, (f1, f2, f3, voice, noise, around) in enumerate(rows):
        phase += (132 - 38 * i / len(rows)) / RATE
        pulse = 1.0 if phase >= 1 else 0.0
        phase %= 1
        x = glottis(pulse, 0, 180) * voice
        for resonator, hertz, width in zip(mouth, (f1, f2, f3, 3400), (70, 90, 130, 200)):
            x = resonator(x, hertz, width)
        samples.append((x, breath(drawn.gauss(0, 1), around, 900) * noise * NOISE))
    # What leaves a mouth is the change of what is in it.
    heard = [b[0] - 0.9 * a[0] + b[1] for a, b in zip([(0.0, 0.0)] + samples, samples)]
    loudest = max(abs(x) for x in heard)
    quiet = [0.0] * (RATE // 20)
    return [x * 0.6 / loudest + drawn.gauss(0, 0.001) for x in quiet + heard + quiet]


def digits():
    for name in NAMES:
        yield name, spoken(name)
