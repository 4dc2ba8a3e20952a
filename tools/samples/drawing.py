"""Shapes, colours and noise: pictures as functions of a point, sampled at pixels.

A scene is a list of (shape, colour), the front first: shape(x, y) says whether the point is inside,
colour(x, y) is (red, green, blue) in [0, 1]. y points down.
"""

import math
import random


class Noise:
    """Smooth random values in [-1, 1] over the plane, from a lattice of 64 x 64 that repeats."""

    def __init__(self, seed, octaves=4):
        source = random.Random(f"noise {seed}")
        self.values = [source.uniform(-1, 1) for _ in range(64 * 64)]
        self.octaves = octaves

    def __call__(self, x, y):
        total, strength, sum_strength = 0.0, 1.0, 0.0
        for _ in range(self.octaves):
            total += strength * self._smooth(x, y)
            sum_strength += strength
            x, y, strength = 2.03 * x + 17.3, 2.03 * y + 5.7, 0.5 * strength
        return total / sum_strength

    def _smooth(self, x, y):
        column, row = math.floor(x), math.floor(y)
        u, v = x - column, y - row
        u, v = u * u * (3 - 2 * u), v * v * (3 - 2 * v)
        left, right = column & 63, (column + 1) & 63
        above, below = (row & 63) << 6, ((row + 1) & 63) << 6
        n = self.values
        top = n[above + left] + u * (n[above + right] - n[above + left])
        bottom = n[below + left] + u * (n[below + right] - n[below + left])
        return top + v * (bottom - top)


def mix(a, b, t):
    t = min(1.0, max(0.0, t))
    return tuple(p + (q - p) * t for p, q in zip(a, b))


def scaled(colour, factor):
    return tuple(c * factor for c in colour)


def plain(colour):
    return lambda x, y: colour


def vertical(top, bottom, begin=0.0, end=1.0):
    """From one colour at the height `begin` to another at `end`."""
    return lambda x, y: mix(top, bottom, (y - begin) / (end - begin))


def rough(colour, noise, size, strength):
    """A colour function with noise whose grains are about `size` wide."""

    def rough_colour(x, y):
        return scaled(colour(x, y), 1.0 + strength * noise(x / size, y / size))

    return rough_colour


def round_shade(colour, cx, cy, radius, light=(-0.5, -0.7)):
    """A colour as on a ball that is lit from one side."""

    def shaded(x, y):
        u, v = (x - cx) / radius, (y - cy) / radius
        depth = math.sqrt(max(0.0, 1.0 - u * u - v * v))
        lit = u * light[0] + v * light[1] + 0.5 * depth
        return scaled(colour(x, y), 0.62 + 0.55 * max(-0.35, lit))

    return shaded


def everywhere(x, y):
    return True


def ellipse(cx, cy, rx, ry, degrees=0.0):
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))

    def inside(x, y):
        u, v = x - cx, y - cy
        return ((u * c + v * s) / rx) ** 2 + ((v * c - u * s) / ry) ** 2 <= 1.0

    return inside


def box(x0, y0, x1, y1, corner=0.0):
    def inside(x, y):
        u = max(x0 + corner - x, x - x1 + corner, 0.0)
        v = max(y0 + corner - y, y - y1 + corner, 0.0)
        if corner == 0.0:
            return x0 <= x <= x1 and y0 <= y <= y1
        return u * u + v * v <= corner * corner

    return inside


def polygon(*points):
    edges = list(zip(points, points[1:] + points[:1]))

    def inside(x, y):
        odd = False
        for (x0, y0), (x1, y1) in edges:
            if (y0 > y) != (y1 > y) and x < x0 + (y - y0) * (x1 - x0) / (y1 - y0):
                odd = not odd
        return odd

    return inside


def limb(x0, y0, x1, y1, r0, r1):
    """A line that is r0 wide at one end and r1 at the other."""

    def inside(x, y):
        dx, dy = x1 - x0, y1 - y0
        t = min(1.0, max(0.0, ((x - x0) * dx + (y - y0) * dy) / (dx * dx + dy * dy)))
        return math.hypot(x - x0 - t * dx, y - y0 - t * dy) <= r0 + t * (r1 - r0)

    return inside


def union(*shapes):
    return lambda x, y: any(shape(x, y) for shape in shapes)


def colour_at(scene, x, y):
    for shape, colour in scene:
        if shape(x, y):
            return colour(x, y)
    raise ValueError("the scene has a hole")


def sampled(colour, width, height, grid=3):
    """A picture of a colour function over pixels: the mean of grid x grid points of each."""
    offsets = [(i + 0.5) / grid for i in range(grid)]
    points = [(u, v) for v in offsets for u in offsets]
    rows = []
    for y in range(height):
        row = []
        for x in range(width):
            red = green = blue = 0.0
            for u, v in points:
                r, g, b = colour(x + u, y + v)
                red, green, blue = red + r, green + g, blue + b
            row.append((red / len(points), green / len(points), blue / len(points)))
        rows.append(row)
    return rows


def grainy(picture, seed, strength):
    """The grain of a camera's sensor."""
    source = random.Random(f"grain {seed}")
    return [
        [tuple(c + source.gauss(0.0, strength) for c in pixel) for pixel in row] for row in picture
    ]
