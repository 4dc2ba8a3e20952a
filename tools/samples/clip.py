"""A ball that bounces, with a tone at each bounce: two seconds, 25 frames each; and a tune."""

import math
import random

from drawing import box, colour_at, ellipse, everywhere, plain, round_shade, sampled, vertical

SIZE, FRAMES_PER_SECOND, SECONDS = 96, 25, 2
RATE = 16000  # samples a second

FLOOR, RADIUS, GRAVITY = 78.0, 11.0, 240.0  # pixels, seconds


def bounces():
    """(begin, end, height) of each flight, in seconds and pixels. The ball loses a third of its
    height at each bounce; it begins at the top of the first flight."""
    height, begin = 50.0, -math.sqrt(2 * 50.0 / GRAVITY)
    flights = []
    while begin < SECONDS:
        end = begin + 2 * math.sqrt(2 * height / GRAVITY)
        flights.append((begin, end, height))
        begin, height = end, 0.66 * height
    return flights


def height_at(t):
    begin, end, height = next(f for f in bounces() if t < f[1])
    half = (end - begin) / 2
    return height * (1 - ((t - begin - half) / half) ** 2)


def frame(index):
    t = index / FRAMES_PER_SECOND
    x, y = 16.0 + 32.0 * t, FLOOR - RADIUS - height_at(t)
    spread = 1.0 + height_at(t) / 60
    ball = round_shade(plain((0.92, 0.30, 0.16)), x, y, RADIUS)
    scene = [
        (ellipse(x, y, RADIUS, RADIUS), ball),
        (ellipse(x, FLOOR + 2, RADIUS * spread, 2.5), plain((0.30, 0.22, 0.16))),
        (box(0, FLOOR, SIZE, SIZE), vertical((0.66, 0.50, 0.34), (0.46, 0.33, 0.21), FLOOR, SIZE)),
        (everywhere, vertical((0.62, 0.78, 0.88), (0.90, 0.93, 0.90), 0, FLOOR)),
    ]
    return sampled(lambda u, v: colour_at(scene, u, v), SIZE, SIZE)


def frames():
    return [frame(index) for index in range(SECONDS * FRAMES_PER_SECOND)]


def clip_sound():
    """A short tone at each bounce, the softer the lower the ball falls."""
    samples = [0.0] * (SECONDS * RATE)
    for _, end, height in bounces():
        for i in range(max(0, round(end * RATE)), len(samples)):
            t = i / RATE - end
            if t > 0.25:
                break
            samples[i] += 0.8 * height / 50 * math.exp(-22 * t) * math.sin(2 * math.pi * 520 * t)
    return samples


def string(pitch, count, seed):
    """A plucked string (Karplus and Strong, 1983): noise that goes round and is smoothed."""
    source = random.Random(f"string {seed}")
    line = [source.uniform(-1, 1) for _ in range(round(RATE / pitch))]
    for i in range(count):
        at = i % len(line)
        yield line[at]
        line[at] = 0.498 * (line[at] + line[(at + 1) % len(line)])


def tune():
    """Six plucked notes, a third of a second each."""
    samples = [0.0] * (SECONDS * RATE)
    for i, pitch in enumerate((261.6, 329.6, 392.0, 523.3, 392.0, 329.6)):
        begin = i * RATE // 3
        for j, value in enumerate(string(pitch, len(samples) - begin, i)):
            samples[begin + j] += 0.35 * value
    return samples
