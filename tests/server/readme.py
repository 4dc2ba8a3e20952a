"""Runs the curl examples of README.md against a server, as printed, and compares what is printed below.

A printed "…" stands for anything, and ID for the id that an answer gave.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from started import started

ROOT = Path(__file__).parents[2]


def examples(text):
    """[(command, printed)] of the indented blocks."""
    found, lines = [], iter(text.splitlines())
    for line in lines:
        if not line.startswith("    $ curl "):
            if found and found[-1][2] and line.startswith("    "):
                found[-1][1].append(line[4:])
            elif found:
                found[-1][2] = False
            continue
        command = line[6:]
        while command.endswith("\\"):
            command = command[:-1] + next(lines).strip()
        found.append([command, [], True])
    return [(command, "\n".join(printed)) for command, printed, _ in found]


def matches(printed, got):
    """Numbers may differ in their last digit, as processors round differently."""
    number = re.compile(r"-?\d+\.\d+")
    pattern = "".join(
        r"[\s\S]*" if part == "…" else number.sub("NUMBER", part) if number.match(part) else re.escape(part)
        for part in re.split(rf"(…|{number.pattern})", printed))
    match = re.fullmatch(pattern.replace("NUMBER", rf"({number.pattern})"), got)
    if not match:
        return False
    wanted = number.findall(re.sub("…", " ", printed))
    return all(abs(float(a) - float(b)) < 1.5 * 10 ** -len(a.partition(".")[2])
               for a, b in zip(wanted, match.groups()))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default="build/perceiver")
    args = parser.parse_args()
    program = Path(args.program).resolve()
    found = examples((ROOT / "README.md").read_text())
    assert len(found) >= 4, f"README.md has {len(found)} curl examples"
    failed, latents = 0, None
    with tempfile.TemporaryDirectory() as folder, started(program) as url:
        (Path(folder) / "samples").symlink_to(ROOT / "samples")
        for command, printed in found:
            asked = command.replace("localhost:8080", url.removeprefix("http://"))
            asked = asked.replace("/latents/ID", f"/latents/{latents}")
            done = subprocess.run(asked, shell=True, cwd=folder, capture_output=True, text=True, timeout=120)
            new = re.search(r'"id": ?"(\w+)"', done.stdout)
            latents = new[1] if new else latents
            got = done.stdout.strip().replace(latents or "\0", "ID")
            ok = done.returncode == 0 and matches(printed, got)
            failed += not ok
            print(f"{'ok      ' if ok else 'FAILED  '} {command}", flush=True)
            if not ok:
                print(f"  expected: {printed}\n  got:      {got}{done.stderr}")
    return f"{failed} of {len(found)} examples failed" if failed else 0


if __name__ == "__main__":
    sys.exit(main())
