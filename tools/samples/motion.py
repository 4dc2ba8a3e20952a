"""Two pairs of frames with their true motion, 384 x 224: several things that move apart, and a
camera that turns and comes closer."""

import math

from drawing import (
    Noise,
    box,
    colour_at,
    ellipse,
    everywhere,
    grainy,
    limb,
    mix,
    plain,
    polygon,
    rough,
    round_shade,
    sampled,
    scaled,
    union,
    vertical,
)

WIDTH, HEIGHT = 384, 224


class Motion:
    """Turns by some degrees and grows by a factor around a point, then shifts."""

    def __init__(self, x, y, right=0.0, down=0.0, degrees=0.0, growth=1.0):
        self.x, self.y, self.right, self.down = x, y, right, down
        self.c = growth * math.cos(math.radians(degrees))
        self.s = growth * math.sin(math.radians(degrees))

    def __call__(self, x, y):
        u, v = x - self.x, y - self.y
        return (
            self.x + self.c * u - self.s * v + self.right,
            self.y + self.s * u + self.c * v + self.down,
        )

    def back(self, x, y):
        u, v = x - self.x - self.right, y - self.y - self.down
        size = self.c**2 + self.s**2
        return self.x + (self.c * u + self.s * v) / size, self.y + (self.c * v - self.s * u) / size


def star(cx, cy, outer, inner, points):
    corners = []
    for i in range(2 * points):
        angle, radius = math.pi * i / points, (outer, inner)[i % 2]
        corners.append((cx + radius * math.sin(angle), cy - radius * math.cos(angle)))
    return polygon(*corners)


def dotted(ground, dots, size):
    def colour(x, y):
        u, v = x / size % 1.0 - 0.5, y / size % 1.0 - 0.5
        return dots if u * u + v * v < 0.08 else ground

    return colour


def striped(one, other, width, degrees):
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return lambda x, y: one if (c * x + s * y) / width % 1.0 < 0.5 else other


def plaid(ground, across, along):
    """Stripes of two colours over each other, all of different widths."""

    def colour(x, y):
        one, other = x / 23 % 1.0 < 0.45, y / 17 % 1.0 < 0.4
        if one and other:
            return mix(across, along, 0.5)
        return across if one else along if other else ground

    return colour


def terrazzo(noise):
    """Chips of coloured stone."""
    chips = ((0.0, (0.42, 0.30, 0.26)), (31.0, (0.86, 0.58, 0.40)), (62.0, (0.36, 0.46, 0.48)))

    def colour(x, y):
        ground = (0.80, 0.77, 0.71)
        for at, chip in chips:
            ground = mix(ground, chip, 9.0 * (noise(x / 13 + at, y / 13 + at) - 0.22))
        return scaled(ground, 1.0 + 0.16 * noise(x / 60, y / 60))

    return colour


def objects():
    """Things on a floor of stone: (shape, colour, motion), the front first."""
    noise = Noise("objects")
    ball = round_shade(striped((0.90, 0.22, 0.18), (0.96, 0.90, 0.82), 26, 20), 110, 78, 46)
    plate = rough(dotted((0.20, 0.45, 0.62), (0.94, 0.92, 0.84), 19), noise, 9, 0.18)
    leaf = rough(vertical((0.36, 0.62, 0.22), (0.16, 0.40, 0.14), 90, 200), noise, 7, 0.45)
    card = rough(plaid((0.93, 0.78, 0.25), (0.62, 0.30, 0.20), (0.24, 0.20, 0.42)), noise, 8, 0.25)
    stone = rough(round_shade(plain((0.62, 0.60, 0.58)), 330, 168, 44), noise, 6, 0.55)
    return [
        (ellipse(110, 78, 42, 42), ball, Motion(110, 78, 6.0, 2.5, 2.5)),
        (star(205, 155, 52, 26, 7), leaf, Motion(205, 155, -3.5, -5.0, -3.0)),
        (ellipse(330, 168, 46, 34, 15), stone, Motion(330, 168, -6.0, 1.5)),
        (box(255, 28, 345, 92, 9), card, Motion(300, 60, 2.0, 5.5, 3.0, 1.03)),
        (ellipse(60, 176, 44, 30), plate, Motion(60, 176, 4.0, -4.0, 0.0, 0.95)),
        (everywhere, terrazzo(Noise("terrazzo", 3)), Motion(192, 112, -1.5, 0.8)),
    ]


def landscape():
    """A house in front of mountains: (shape, colour), the front first."""
    noise, fine = Noise("landscape"), Noise("leaves of grass")

    def sky(x, y):
        blue = mix((0.30, 0.52, 0.84), (0.84, 0.90, 0.95), y / 120)
        return mix(blue, (0.98, 0.98, 0.98), 1.7 * noise(x / 70, y / 34) - 0.05)

    def ridge(height, roughness, at):
        return lambda x, y: y > height + roughness * noise(x / 55 + at, at)

    def rock(x, y):
        snow = mix((0.46, 0.46, 0.54), (0.95, 0.96, 1.0), (92 - y) / 22 + 1.2 * noise(x / 9, y / 7))
        return scaled(snow, 1.0 + 0.35 * noise(x / 14, y / 20))

    def water(x, y):
        return scaled((0.30, 0.50, 0.62), 1.0 + 0.4 * fine(x / 24, y / 2.6))

    meadow = vertical((0.46, 0.60, 0.24), (0.24, 0.40, 0.12), 160, 224)
    brick = rough(plain((0.72, 0.40, 0.30)), fine, 3, 0.35)
    roof = rough(striped((0.36, 0.20, 0.18), (0.46, 0.27, 0.23), 7, 90), fine, 4, 0.25)
    window = box(243, 136, 257, 152), plain((0.16, 0.22, 0.30))
    others = [(box(x, 136, x + 14, 152), window[1]) for x in (267, 291)]
    trees = []
    for x, y, size in ((52, 150, 34), (96, 138, 24), (345, 146, 32), (176, 132, 17)):
        leaves = round_shade(plain((0.24, 0.42, 0.15)), x, y, 1.3 * size)
        trees.append((ellipse(x, y, size, 1.15 * size), rough(leaves, noise, size / 6, 0.65)))
        trees.append(
            (limb(x, y, x, y + 1.9 * size, 0.1 * size, 0.14 * size), plain((0.26, 0.18, 0.12)))
        )
    return [
        (box(266, 158, 282, 182), plain((0.30, 0.18, 0.12))),
        window,
        *others,
        (polygon((224, 130), (273, 96), (322, 130)), roof),
        (union(box(232, 128, 314, 182), box(294, 98, 303, 118)), brick),
        *trees,
        (ridge(168, 6, 8.0), rough(meadow, fine, 5, 0.55)),
        (lambda x, y: y > 150 and x < 10 * y - 1380 + 20 * noise(x / 9, y / 5), water),
        (ridge(138, 14, 4.0), rough(plain((0.28, 0.42, 0.24)), fine, 6, 0.5)),
        (ridge(96, 62, 2.0), rock),
        (everywhere, sky),
    ]  # fmt: skip


def frames_of(layers, name):
    """layers: (shape, colour, motion), the front first -> two frames, and the motion of every pixel
    of the first."""

    def first(x, y):
        return colour_at([(shape, colour) for shape, colour, _ in layers], x, y)

    def second(x, y):
        for shape, colour, motion in layers:
            u, v = motion.back(x, y)
            if shape(u, v):
                return colour(u, v)
        raise ValueError("the scene has a hole")

    def moved(x, y):
        motion = next(motion for shape, _, motion in layers if shape(x, y))
        u, v = motion(x, y)
        return u - x, v - y

    flow = [[moved(x + 0.5, y + 0.5) for x in range(WIDTH)] for y in range(HEIGHT)]
    frames = [
        grainy(sampled(frame, WIDTH, HEIGHT, 2), f"{name} {i}", 0.008)
        for i, frame in enumerate((first, second))
    ]
    return frames, flow


def pairs():
    """The name of each pair, its frames, and the flow."""
    yield "objects", *frames_of(objects(), "objects")
    camera = Motion(180, 120, 1.0, -0.5, 1.2, 1.03)
    yield "camera", *frames_of([(*layer, camera) for layer in landscape()], "camera")
