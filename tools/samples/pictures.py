"""Drawings of the classes that the small image model knows, 96 x 96."""

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

SIZE = 96
NOISE = Noise("pictures")

SKY = vertical((0.36, 0.58, 0.86), (0.78, 0.88, 0.96), 0.0, 0.75)
GRASS = rough(vertical((0.42, 0.55, 0.24), (0.26, 0.40, 0.14), 0.4, 1.0), NOISE, 0.02, 0.35)
ROAD = rough(vertical((0.55, 0.55, 0.56), (0.36, 0.36, 0.38), 0.6, 1.0), NOISE, 0.012, 0.18)
TYRE = plain((0.06, 0.06, 0.07))
HUB = plain((0.62, 0.63, 0.66))
GLASS = vertical((0.62, 0.74, 0.84), (0.20, 0.27, 0.34), 0.3, 0.55)


def cloudy(x, y):
    cover = NOISE(x * 3.1, y * 6.0)
    return mix(SKY(x, y), (0.97, 0.97, 0.98), 1.6 * cover - 0.1)


def wheel(x, y, r):
    return [(ellipse(x, y, 0.5 * r, 0.5 * r), HUB), (ellipse(x, y, r, r), TYRE)]


def airplane():
    metal = vertical((0.97, 0.97, 0.98), (0.50, 0.53, 0.60), 0.40, 0.60)
    dark = vertical((0.72, 0.75, 0.80), (0.36, 0.39, 0.46), 0.45, 0.80)
    windows = [
        (ellipse(0.26 + 0.05 * i, 0.475 - 0.009 * i, 0.010, 0.012), plain((0.15, 0.2, 0.3)))
        for i in range(10)
    ]
    return [
        *windows,
        (polygon((0.13, 0.52), (0.19, 0.485), (0.20, 0.50), (0.15, 0.53)), plain((0.1, 0.14, 0.2))),
        (polygon((0.42, 0.53), (0.56, 0.50), (0.74, 0.80), (0.66, 0.80)), dark),
        (ellipse(0.53, 0.63, 0.065, 0.026, -8), plain((0.55, 0.58, 0.64))),
        (limb(0.17, 0.515, 0.70, 0.44, 0.058, 0.050), metal),
        (limb(0.70, 0.44, 0.90, 0.39, 0.050, 0.016), metal),
        (
            polygon((0.76, 0.42), (0.86, 0.20), (0.94, 0.18), (0.90, 0.40)),
            plain((0.20, 0.32, 0.66)),
        ),
        (polygon((0.80, 0.42), (0.90, 0.39), (1.0, 0.46), (0.95, 0.47)), dark),
        (polygon((0.50, 0.45), (0.60, 0.44), (0.72, 0.28), (0.67, 0.28)), dark),
        (everywhere, cloudy),
    ]


def automobile():
    paint = vertical((0.93, 0.20, 0.14), (0.52, 0.04, 0.05), 0.34, 0.72)
    return [
        *wheel(0.27, 0.71, 0.092),
        *wheel(0.74, 0.71, 0.092),
        (box(0.90, 0.555, 0.95, 0.60, 0.01), plain((0.98, 0.93, 0.72))),
        (box(0.045, 0.555, 0.085, 0.60, 0.01), plain((0.85, 0.10, 0.06))),
        (polygon((0.33, 0.52), (0.39, 0.395), (0.50, 0.385), (0.50, 0.52)), GLASS),
        (polygon((0.53, 0.52), (0.53, 0.385), (0.61, 0.395), (0.71, 0.52)), GLASS),
        (polygon((0.24, 0.55), (0.34, 0.36), (0.62, 0.355), (0.78, 0.55)), paint),
        (box(0.045, 0.515, 0.955, 0.71, 0.07), paint),
        (ellipse(0.5, 0.795, 0.48, 0.045), plain((0.14, 0.14, 0.15))),
        (box(0.0, 0.66, 1.0, 1.0), ROAD),
        (box(0.0, 0.60, 1.0, 0.66), GRASS),
        (
            lambda x, y: y > 0.46 + 0.10 * NOISE(x * 6, 3.0),
            rough(plain((0.24, 0.36, 0.17)), NOISE, 0.03, 0.5),
        ),
        (everywhere, cloudy),
    ]


def bird():
    back = rough(vertical((0.45, 0.32, 0.20), (0.62, 0.45, 0.28), 0.3, 0.7), NOISE, 0.03, 0.35)
    breast = rough(vertical((0.88, 0.42, 0.16), (0.93, 0.86, 0.76), 0.36, 0.66), NOISE, 0.03, 0.15)
    bark = rough(plain((0.33, 0.24, 0.17)), NOISE, 0.025, 0.45)
    return [
        (ellipse(0.355, 0.325, 0.019, 0.019), plain((0.03, 0.03, 0.03))),
        (polygon((0.29, 0.33), (0.185, 0.365), (0.29, 0.385)), plain((0.25, 0.22, 0.18))),
        (ellipse(0.60, 0.53, 0.20, 0.10, 28), rough(plain((0.36, 0.26, 0.17)), NOISE, 0.02, 0.5)),
        (ellipse(0.40, 0.50, 0.13, 0.19, -22), breast),
        (ellipse(0.39, 0.345, 0.115, 0.105), back),
        (ellipse(0.52, 0.52, 0.25, 0.165, 28), back),
        (polygon((0.66, 0.58), (0.90, 0.80), (0.83, 0.85), (0.60, 0.66)), back),
        (
            union(
                limb(0.46, 0.66, 0.45, 0.79, 0.012, 0.012),
                limb(0.55, 0.67, 0.56, 0.79, 0.012, 0.012),
            ),
            plain((0.30, 0.20, 0.14)),
        ),
        (limb(-0.1, 0.84, 1.1, 0.78, 0.045, 0.03), bark),
        (
            everywhere,
            rough(vertical((0.62, 0.74, 0.55), (0.46, 0.60, 0.38)), Noise("leaves", 2), 0.3, 0.22),
        ),
    ]


def cat():
    fur = rough(round_shade(plain((0.74, 0.56, 0.38)), 0.5, 0.5, 0.55), NOISE, 0.02, 0.25)

    def striped(x, y):
        stripe = NOISE(x * 5, y * 16)
        return scaled(fur(x, y), 0.72 if stripe > 0.12 else 1.0)

    eye = plain((0.62, 0.74, 0.24))
    ears = [
        (polygon((0.22, 0.36), (0.21, 0.13), (0.38, 0.24)), plain((0.78, 0.52, 0.46))),
        (polygon((0.78, 0.36), (0.79, 0.13), (0.62, 0.24)), plain((0.78, 0.52, 0.46))),
        (polygon((0.17, 0.42), (0.17, 0.06), (0.44, 0.25)), striped),
        (polygon((0.83, 0.42), (0.83, 0.06), (0.56, 0.25)), striped),
    ]
    whiskers = [
        limb(0.5 + side * 0.12, 0.62, 0.5 + side * 0.44, 0.56 + 0.05 * i, 0.004, 0.003)
        for side in (-1, 1)
        for i in range(3)
    ]
    return [
        (union(*whiskers), plain((0.95, 0.93, 0.90))),
        (
            union(ellipse(0.36, 0.44, 0.014, 0.045), ellipse(0.64, 0.44, 0.014, 0.045)),
            plain((0.02, 0.02, 0.02)),
        ),
        (union(ellipse(0.36, 0.44, 0.062, 0.050), ellipse(0.64, 0.44, 0.062, 0.050)), eye),
        (polygon((0.45, 0.555), (0.55, 0.555), (0.50, 0.605)), plain((0.72, 0.38, 0.38))),
        (limb(0.5, 0.60, 0.5, 0.66, 0.006, 0.006), plain((0.25, 0.15, 0.12))),
        (
            union(ellipse(0.44, 0.63, 0.085, 0.065), ellipse(0.56, 0.63, 0.085, 0.065)),
            plain((0.93, 0.88, 0.82)),
        ),
        (ellipse(0.5, 0.48, 0.335, 0.285), striped),
        *ears,
        (ellipse(0.5, 1.02, 0.37, 0.38), striped),
        (
            everywhere,
            rough(vertical((0.50, 0.44, 0.42), (0.66, 0.58, 0.52)), Noise("room", 2), 0.4, 0.18),
        ),
    ]


def deer():
    coat = rough(vertical((0.62, 0.42, 0.24), (0.48, 0.31, 0.17), 0.35, 0.7), NOISE, 0.02, 0.22)
    antler = plain((0.42, 0.33, 0.24))
    legs = [
        limb(x, 0.62, x + d, 0.92, 0.032, 0.014)
        for x, d in ((0.33, -0.02), (0.40, 0.01), (0.66, -0.01), (0.73, 0.02))
    ]
    tines = []
    for d in (0.0, 0.07):
        tines += [
            limb(0.245 + d, 0.19, 0.20 + d, 0.02, 0.010, 0.006),
            limb(0.225 + d, 0.11, 0.15 + d, 0.05, 0.008, 0.005),
            limb(0.235 + d, 0.14, 0.31 + d, 0.04, 0.008, 0.005),
        ]
    return [
        (ellipse(0.215, 0.225, 0.012, 0.012), plain((0.03, 0.02, 0.02))),
        (
            union(ellipse(0.335, 0.185, 0.055, 0.022, -25), ellipse(0.30, 0.17, 0.05, 0.02, -50)),
            coat,
        ),
        (ellipse(0.125, 0.285, 0.024, 0.020), plain((0.10, 0.07, 0.06))),
        (limb(0.255, 0.225, 0.14, 0.28, 0.062, 0.034), coat),
        (union(*tines), antler),
        (limb(0.285, 0.25, 0.37, 0.50, 0.050, 0.095), coat),
        (ellipse(0.80, 0.46, 0.04, 0.05), plain((0.92, 0.88, 0.82))),
        (ellipse(0.56, 0.54, 0.25, 0.125, 3), coat),
        (union(*legs), rough(plain((0.44, 0.29, 0.17)), NOISE, 0.02, 0.2)),
        (box(0.0, 0.74, 1.0, 1.0), GRASS),
        (
            everywhere,
            rough(vertical((0.32, 0.40, 0.22), (0.52, 0.54, 0.28)), Noise("forest", 4), 0.16, 0.55),
        ),
    ]


def dog():
    fur = rough(round_shade(plain((0.80, 0.62, 0.40)), 0.5, 0.5, 0.6), NOISE, 0.025, 0.18)
    dark = rough(plain((0.44, 0.28, 0.16)), NOISE, 0.02, 0.25)
    return [
        (
            union(ellipse(0.385, 0.40, 0.036, 0.040), ellipse(0.615, 0.40, 0.036, 0.040)),
            plain((0.07, 0.04, 0.03)),
        ),
        (ellipse(0.5, 0.545, 0.068, 0.050), plain((0.05, 0.04, 0.04))),
        (ellipse(0.5, 0.735, 0.052, 0.085), plain((0.86, 0.44, 0.46))),
        (limb(0.40, 0.67, 0.60, 0.67, 0.014, 0.014), plain((0.20, 0.10, 0.08))),
        (ellipse(0.5, 0.60, 0.155, 0.135), rough(plain((0.94, 0.87, 0.76)), NOISE, 0.02, 0.1)),
        (union(ellipse(0.205, 0.44, 0.09, 0.21, 12), ellipse(0.795, 0.44, 0.09, 0.21, -12)), dark),
        (ellipse(0.5, 0.45, 0.285, 0.305), fur),
        (ellipse(0.5, 1.04, 0.34, 0.36), fur),
        (everywhere, GRASS),
    ]


def frog():
    skin = rough(round_shade(plain((0.42, 0.60, 0.20)), 0.5, 0.5, 0.6), Noise("skin"), 0.05, 0.45)
    belly = rough(plain((0.82, 0.84, 0.58)), NOISE, 0.04, 0.1)
    leaf = rough(vertical((0.42, 0.36, 0.26), (0.28, 0.22, 0.15)), Noise("soil"), 0.05, 0.5)
    eyes = [
        (
            union(ellipse(0.30, 0.30, 0.030, 0.038), ellipse(0.70, 0.30, 0.030, 0.038)),
            plain((0.03, 0.03, 0.02)),
        ),
        (
            union(ellipse(0.30, 0.30, 0.062, 0.062), ellipse(0.70, 0.30, 0.062, 0.062)),
            plain((0.88, 0.70, 0.20)),
        ),
        (union(ellipse(0.30, 0.31, 0.092, 0.090), ellipse(0.70, 0.31, 0.092, 0.090)), skin),
    ]
    return [
        *eyes,
        (limb(0.24, 0.50, 0.76, 0.50, 0.010, 0.010), plain((0.16, 0.22, 0.08))),
        (ellipse(0.5, 0.66, 0.17, 0.14), belly),
        (ellipse(0.5, 0.45, 0.315, 0.175), skin),
        (ellipse(0.5, 0.60, 0.27, 0.24), skin),
        (
            union(
                limb(0.36, 0.66, 0.28, 0.86, 0.055, 0.04), limb(0.64, 0.66, 0.72, 0.86, 0.055, 0.04)
            ),
            skin,
        ),
        (union(ellipse(0.20, 0.70, 0.15, 0.11, -30), ellipse(0.80, 0.70, 0.15, 0.11, 30)), skin),
        (
            union(
                limb(0.15, 0.80, 0.30, 0.86, 0.04, 0.03), limb(0.85, 0.80, 0.70, 0.86, 0.04, 0.03)
            ),
            skin,
        ),
        (everywhere, leaf),
    ]


def horse():
    coat = rough(vertical((0.50, 0.28, 0.15), (0.34, 0.17, 0.09), 0.3, 0.7), NOISE, 0.03, 0.15)
    mane = plain((0.10, 0.06, 0.05))
    legs = [
        limb(x, 0.60, x + d, 0.90, 0.042, 0.020)
        for x, d in ((0.32, -0.02), (0.40, 0.03), (0.68, -0.02), (0.76, 0.03))
    ]
    hooves = [box(x - 0.024, 0.88, x + 0.024, 0.925) for x in (0.30, 0.43, 0.66, 0.79)]
    return [
        (ellipse(0.185, 0.235, 0.012, 0.012), plain((0.02, 0.02, 0.02))),
        (polygon((0.215, 0.16), (0.235, 0.09), (0.265, 0.17)), coat),
        (limb(0.26, 0.16, 0.40, 0.38, 0.024, 0.036), mane),
        (limb(0.225, 0.215, 0.10, 0.345, 0.064, 0.040), coat),
        (limb(0.255, 0.24, 0.36, 0.47, 0.068, 0.12), coat),
        (limb(0.81, 0.42, 0.89, 0.70, 0.032, 0.022), mane),
        (ellipse(0.56, 0.50, 0.265, 0.145, -2), coat),
        (union(*hooves), plain((0.08, 0.06, 0.05))),
        (union(*legs), rough(plain((0.31, 0.16, 0.09)), NOISE, 0.03, 0.15)),
        (box(0.0, 0.66, 1.0, 1.0), GRASS),
        (
            lambda x, y: y > 0.50 + 0.07 * NOISE(x * 5, 9.0),
            rough(plain((0.25, 0.36, 0.18)), NOISE, 0.04, 0.5),
        ),
        (everywhere, cloudy),
    ]


def ship():
    hull = vertical((0.26, 0.30, 0.42), (0.10, 0.11, 0.17), 0.54, 0.70)
    white = vertical((0.98, 0.98, 0.97), (0.72, 0.74, 0.78), 0.25, 0.56)

    def sea(x, y):
        waves = NOISE(x * 7, y * 42)
        return scaled(
            mix((0.22, 0.44, 0.60), (0.05, 0.20, 0.36), (y - 0.6) / 0.4), 1.0 + 0.35 * waves
        )

    windows = [
        (box(0.335 + 0.055 * i, 0.475, 0.36 + 0.055 * i, 0.50), plain((0.14, 0.2, 0.3)))
        for i in range(7)
    ]
    return [
        *windows,
        (
            box(0.455, 0.20, 0.505, 0.36),
            vertical((0.82, 0.22, 0.14), (0.55, 0.10, 0.08), 0.2, 0.36),
        ),
        (limb(0.66, 0.16, 0.66, 0.40, 0.007, 0.009), plain((0.42, 0.42, 0.44))),
        (box(0.40, 0.345, 0.62, 0.45), white),
        (box(0.30, 0.44, 0.74, 0.56), white),
        (polygon((0.06, 0.53), (0.96, 0.51), (0.86, 0.70), (0.15, 0.70)), hull),
        (
            lambda x, y: 0.685 < y < 0.72 + 0.015 * NOISE(x * 30, 1.0) and 0.08 < x < 0.94,
            plain((0.86, 0.92, 0.95)),
        ),
        (box(0.0, 0.60, 1.0, 1.0), sea),
        (everywhere, cloudy),
    ]


def truck():
    cab = vertical((0.86, 0.16, 0.10), (0.48, 0.04, 0.04), 0.34, 0.72)
    cargo = vertical((0.96, 0.96, 0.95), (0.68, 0.69, 0.72), 0.2, 0.68)
    return [
        *wheel(0.19, 0.755, 0.072),
        *wheel(0.36, 0.755, 0.072),
        *wheel(0.78, 0.755, 0.072),
        (box(0.935, 0.62, 0.965, 0.66), plain((0.98, 0.94, 0.74))),
        (polygon((0.76, 0.52), (0.76, 0.385), (0.86, 0.385), (0.91, 0.52)), GLASS),
        (polygon((0.69, 0.72), (0.69, 0.335), (0.87, 0.335), (0.945, 0.54), (0.965, 0.72)), cab),
        (box(0.05, 0.205, 0.67, 0.66), cargo),
        (box(0.05, 0.66, 0.96, 0.73), plain((0.12, 0.12, 0.13))),
        (ellipse(0.5, 0.835, 0.48, 0.035), plain((0.15, 0.15, 0.16))),
        (box(0.0, 0.70, 1.0, 1.0), ROAD),
        (
            lambda x, y: y > 0.52 + 0.10 * NOISE(x * 6, 3.0),
            rough(plain((0.26, 0.36, 0.18)), NOISE, 0.03, 0.5),
        ),
        (everywhere, cloudy),
    ]


CLASSES = (airplane, automobile, bird, cat, deer, dog, frog, horse, ship, truck)


def pictures():
    """The name of each class and its picture."""
    for draw in CLASSES:
        scene = draw()
        picture = sampled(lambda x, y: colour_at(scene, x / SIZE, y / SIZE), SIZE, SIZE)
        yield draw.__name__, grainy(picture, draw.__name__, 0.015)
