"""The command `perceiver`: runs the program that lies in the package."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path


def main():
    program = Path(__file__).resolve().parent / "bin" / "perceiver"
    environment = dict(os.environ)
    # Beside the package, where the program looks by itself, or wherever Python finds it.
    libraries = Path(find_spec("torch").origin).parent / "lib"
    if libraries.parent.parent != program.parents[2]:
        known = environment.get("LD_LIBRARY_PATH")
        environment["LD_LIBRARY_PATH"] = f"{libraries}:{known}" if known else str(libraries)
    os.execve(program, [sys.argv[0], *sys.argv[1:]], environment)
