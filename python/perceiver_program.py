"""The command `perceiver`: runs the program that lies in the package. torch is not loaded here."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path


def main():
    program = Path(find_spec("perceiver").origin).parent / "bin" / "perceiver"
    environment = dict(os.environ)
    # Beside the package, where the program looks by itself, or wherever Python finds it.
    torch = Path(find_spec("torch").origin).parent
    if torch.parent != program.parents[2]:
        known = environment.get("LD_LIBRARY_PATH")
        environment["LD_LIBRARY_PATH"] = f"{torch / 'lib'}:{known}" if known else str(torch / "lib")
    os.execve(program, [str(program), *sys.argv[1:]], environment)
