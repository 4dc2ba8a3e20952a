"""A made-up opening of a game: two bases of a few minutes, with some types left open."""

import json

# A base's crystals and geysers by their places beside its main building.
CRYSTALS = [(8, -4), (8, -4), (8, 0), (8, 0), (8, 0), (4, -4), (4, -4), (0, -4)]
GEYSERS = [(-4, -4), (8, 4)]
SPOTS = [(36, 28, 1), (28, 92, 1), (132, 124, -1), (140, 60, -1), (84, 40, 1), (84, 112, -1)]
WORKER_FRAMES = 272  # from one worker to the next

# What the two have built: type, place beside the main building, frame, whether it is finished.
PROTOSS = [
    ("Pylon", 0, 12, 840, 1), ("Gateway", 0, 16, 1620, 1), ("Assimilator", 8, 4, 2120, 1),
    ("Pylon", 4, 0, 2430, 1), ("CyberneticsCore", 4, 12, 2720, 1), ("Zealot", 12, 20, 2900, 1),
    ("Stalker", 12, 24, 3700, 1), ("Nexus", -8, 64, 3800, 0)]
TERRAN = [
    ("SupplyDepot", 4, -4, 900, 1), ("Barracks", 0, -16, 1560, 1), ("Refinery", -8, -4, 1960, 1),
    ("SupplyDepot", 4, 0, 2690, 1), ("Marine", -8, -28, 3020, 1), ("Marine", -8, -28, 3340, 1),
    ("Factory", 0, -20, 3400, 1), ("Marine", -12, -32, 3660, 1), ("CommandCenter", 8, -64, 3810, 0)]
OPEN = {"MineralField": 2, "VespeneGeyser": 1, "Probe": 2, "SCV": 2, "Pylon": 1, "Gateway": 1,
        "Nexus": 1, "Barracks": 1, "Marine": 1, "SupplyDepot": 1, "Stalker": 1}


def base(player, x, y, side, main, worker, built):
    yield [main, player, x, y, 0, 1]
    for i in range(20):
        born = 0 if i < 6 else WORKER_FRAMES * (i - 5)
        yield [worker, player, x + 4 * side * (i % 4 != 3), y, born, 1]
    for name, dx, dy, born, finished in built:
        yield [name, player, x + dx, y + dy, born, finished]


def everything():
    for x, y, side in SPOTS:
        for dx, dy in CRYSTALS:
            yield ["MineralField", 0, x + side * dx, y + side * dy, 0, 1]
        for dx, dy in GEYSERS:
            yield ["VespeneGeyser", 0, x + side * dx, y + side * dy, 0, 1]
    yield from base(1, 36, 28, 1, "Nexus", "Probe", PROTOSS)
    yield from base(2, 132, 124, -1, "CommandCenter", "SCV", TERRAN)


def state():
    """A line of JSON; "answers" are the types left open, in the order of the entities."""
    left, entities, answers = dict(OPEN), list(everything()), []
    for entity in reversed(entities):
        if left.get(entity[0], 0) > 0:
            left[entity[0]] -= 1
            answers.insert(0, entity[0])
            entity[0] = "?"
    players = [{"pid": 1, "team": 1, "race": "Protoss"}, {"pid": 2, "team": 2, "race": "Terran"}]
    return json.dumps({"replay": "made up", "frame": 4000, "players": players,
                       "entities": entities, "answers": answers}) + "\n"
