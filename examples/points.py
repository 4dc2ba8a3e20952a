#!/usr/bin/env python3
"""Which of ten solids a cloud of points was seen of: turned at random, from one side, with noise,
and with up to 40 % stray points around it."""

import numpy as np

from common import Example, classify, softmax_regression, standardise

SOLIDS = ["sphere", "cube", "cylinder", "cone", "torus", "pyramid", "box", "capsule", "disc",
          "tetrahedron"]
POINTS = 200


def faces_of(corners, faces, n, rng):
    """n points on the faces, which are triangles, and the faces' outward directions there."""
    a, b, c = (np.array([corners[face[i]] for face in faces]) for i in range(3))
    cross = np.cross(b - a, c - a)
    area = np.linalg.norm(cross, axis=1)
    which = rng.choice(len(faces), n, p=area / area.sum())
    u, v = rng.random((2, n, 1))
    u, v = np.where(u + v > 1, 1 - u, u), np.where(u + v > 1, 1 - v, v)
    points = a[which] + u * (b - a)[which] + v * (c - a)[which]
    normal = (cross / area[:, None])[which]
    outward = np.sign((normal * (points - np.mean(corners, 0))).sum(1, keepdims=True))
    return points, normal * outward


def box(x, y, z, n, rng):
    corners = np.array([[i, j, k] for i in (-x, x) for j in (-y, y) for k in (-z, z)])
    squares = [(0, 1, 3, 2), (4, 5, 7, 6), (0, 1, 5, 4), (2, 3, 7, 6), (0, 2, 6, 4), (1, 3, 7, 5)]
    return faces_of(corners, [t for a, b, c, d in squares for t in ((a, b, c), (a, c, d))], n, rng)


def turned(profile, n, rng):
    """A curve (r, z) turned around z: `profile` gives points of it and their directions."""
    r, z, normal_r, normal_z = profile
    keep = rng.choice(len(r), n, p=r / r.sum())  # as much as there is on each circle
    r, z, normal_r, normal_z = (x[keep] for x in (r, z, normal_r, normal_z))
    a = rng.random(n) * 2 * np.pi
    around = np.stack([np.cos(a), np.sin(a)], 1)
    return (np.column_stack([r[:, None] * around, z]),
            np.column_stack([normal_r[:, None] * around, normal_z]))


def line(r0, z0, r1, z1, n):
    t = (np.arange(n) + 0.5) / n
    length = np.hypot(r1 - r0, z1 - z0)
    one = np.ones(n)
    return r0 + t * (r1 - r0), z0 + t * (z1 - z0), one * (z1 - z0) / length, one * (r0 - r1) / length


def arc(r0, z0, radius, begin, end, n):
    a = begin + (np.arange(n) + 0.5) / n * (end - begin)
    return r0 + radius * np.cos(a), z0 + radius * np.sin(a), np.cos(a), np.sin(a)


def joined(*curves):
    return [np.concatenate(parts) for parts in zip(*curves)]


def surface(solid, n, rng):
    q = np.pi / 2
    if solid == 0:
        return turned(arc(0, 0, 0.8, -q, q, 2000), n, rng)
    if solid == 1:
        return box(0.65, 0.65, 0.65, n, rng)
    if solid == 2:
        return turned(joined(line(0, -0.7, 0.6, -0.7, 600), line(0.6, -0.7, 0.6, 0.7, 1400),
                             line(0.6, 0.7, 0, 0.7, 600)), n, rng)
    if solid == 3:
        return turned(joined(line(0, -0.6, 0.75, -0.6, 750), line(0.75, -0.6, 0, 0.9, 1677)), n, rng)
    if solid == 4:
        return turned(arc(0.65, 0, 0.28, 0, 4 * q, 2000), n, rng)
    if solid == 5:
        corners = np.array([[-0.7, -0.7, -0.5], [-0.7, 0.7, -0.5], [0.7, 0.7, -0.5],
                            [0.7, -0.7, -0.5], [0, 0, 0.8]])
        return faces_of(corners, [(0, 1, 2), (0, 2, 3), (0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4)],
                        n, rng)
    if solid == 6:
        return box(0.9, 0.55, 0.35, n, rng)
    if solid == 7:
        return turned(joined(arc(0, 0.45, 0.5, 0, q, 785), line(0.5, -0.45, 0.5, 0.45, 900),
                             arc(0, -0.45, 0.5, -q, 0, 785)), n, rng)
    if solid == 8:
        return turned(joined(line(0, -0.12, 0.9, -0.12, 900), line(0.9, -0.12, 0.9, 0.12, 240),
                             line(0.9, 0.12, 0, 0.12, 900)), n, rng)
    corners = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) * 0.65
    return faces_of(corners, [(0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3)], n, rng)


def rotation(rng):
    q, r = np.linalg.qr(rng.normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    return q * np.sign(np.linalg.det(q))


def clouds(examples, seed):
    rng = np.random.default_rng(seed)
    points = np.empty((examples, POINTS, 3), np.float32)
    solids = rng.integers(0, len(SOLIDS), examples)
    for i, solid in enumerate(solids):
        p, normal = surface(solid, 5 * POINTS, rng)
        turn = rotation(rng)
        p, normal = p @ turn.T, normal @ turn.T
        seen = np.flatnonzero(normal[:, 2] > 0)[:POINTS]  # from above
        p = p[rng.choice(seen, POINTS, replace=len(seen) < POINTS)]
        p = (p - p.mean(0)) * rng.uniform(0.8, 1.2) + 0.02 * rng.normal(size=p.shape)
        stray = rng.random(POINTS) < rng.uniform(0, 0.4)
        p[stray] = rng.uniform(-1.2, 1.2, (stray.sum(), 3))
        points[i] = p
    return points, solids


def features(points):
    """What does not change with a turn: the axes' variances, and histograms of the distances from
    the middle and between points."""
    rng = np.random.default_rng(0)
    rows = []
    for p in points.astype(float):
        size = np.sqrt((p ** 2).sum(1).mean())
        p = p / size
        pairs = p[rng.integers(0, len(p), 1000)] - p[rng.integers(0, len(p), 1000)]
        histogram = lambda x, most: np.histogram(x, 16, (0, most))[0] / len(x)
        rows.append(np.concatenate([np.sort(np.linalg.eigvalsh(np.cov(p.T))), [size],
                                    histogram(np.linalg.norm(p, axis=1), 2.0),
                                    histogram(np.linalg.norm(pairs, axis=1), 3.0)]))
    return np.array(rows)


def main():
    example = Example("points", __doc__)
    sizes = (1200, 400) if example.small else (12000, 2000)
    splits = [clouds(size, seed) for seed, size in enumerate(sizes)]
    for split, (points, solids) in zip(("train", "held_out"), splits):
        example.save(split, points=points, solid=solids)
    example.train(["train.steps=250", "train.warmup_steps=20", "train.learning_rate=2e-3",
                   "inputs.points.sample=64", "model.encoder.self_attends_per_block=1"])
    score = example.measure(example.out / "held_out.npz")["accuracy"]

    train, held_out = standardise(*(features(points) for points, _ in splits))
    weights = softmax_regression(train, splits[0][1], len(SOLIDS))
    baseline = (classify(weights, held_out) == splits[1][1]).mean()
    bar = 0.45 if example.small else baseline
    example.close([("accuracy", f"{score:.3f}"),
                   ("softmax regression on distances and axes", f"{baseline:.3f}")],
                  [(f"accuracy above {bar:.3f}", score > bar)])


main()
