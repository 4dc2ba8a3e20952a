"""Puts the Python package together: a wheel of what was built, and a source distribution.

tools/wheel.sh calls it in a clone; pip calls it by the names of PEP 517 (pyproject.toml). It needs
nothing but Python's own library, and of the machine what the build needs.
"""

import base64
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSION = re.search(r"project\(perceiver VERSION (\S+)",
                    (ROOT / "CMakeLists.txt").read_text())[1]
NAME = f"perceiver-{VERSION}"
SHIPPED = ["configs", "labels", "models", "samples"]  # where core/file.cpp looks for them
# What every Linux that has this C library has, and what a torch for GPUs brings along.
SYSTEM = re.compile(r"^(ld-linux.*|lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s|cu\w*|nv\w*|nccl))\.so")
TARGETS = ["perceiver_python", "perceiver_portable"]


def run(*command, **options):
    print("+", *command, file=sys.stderr, flush=True)
    subprocess.run([str(part) for part in command], check=True, stdout=sys.stderr, **options)


def needed(path):
    """The libraries that a file asks for by name."""
    said = subprocess.run(["readelf", "-d", path], check=True, capture_output=True, text=True)
    return re.findall(r"\(NEEDED\).*\[(.*)\]", said.stdout)


def loaded(path, torch):
    """Name -> where the loader finds it, of all that the file needs, directly or not."""
    environment = os.environ | {"LD_LIBRARY_PATH": str(torch / "lib")}
    said = subprocess.run(["ldd", path], check=True, capture_output=True, text=True,
                          env=environment)
    return dict(re.findall(r"^\s*(\S+) => (\S+) \(", said.stdout, re.MULTILINE))


def carried(parts, torch):
    """The libraries that must come along."""
    brought = {path.name for path in (torch / "lib").iterdir()}
    found, libraries = {}, {}
    for part in parts:
        found |= loaded(part, torch)
    open_ = list(parts)
    while open_:
        for name in needed(open_.pop()):
            if SYSTEM.match(name) or name in brought or name in libraries:
                continue
            if name not in found:
                sys.exit(f"wheel: {name} is needed and not found")
            libraries[name] = Path(found[name]).resolve()
            open_.append(libraries[name])
    return libraries


def torch_of_build(build):
    """-> the folder of the torch that the build folder was configured with, and its version"""
    cache = (build / "CMakeCache.txt").read_text()
    folder = Path(re.search(r"^Torch_DIR:.*?=(.*)$", cache, re.MULTILINE)[1]).resolve().parents[2]
    version = re.search(r"__version__ = '([^']*)'", (folder / "version.py").read_text())[1]
    return folder, version


def tag():
    """One wheel for all Pythons, and for Linux with this C library or a newer one."""
    version = os.confstr("CS_GNU_LIBC_VERSION").split()[1].replace(".", "_")
    return f"py3-none-manylinux_{version}_{os.uname().machine}"


def metadata(torch_version):
    if torch_version:
        major, minor = map(int, torch_version.split(".")[:2])
        torch = f"torch>={major}.{minor},<{major}.{minor + 1}"
    else:
        torch = "torch>=2.11"
    readme = (ROOT / "docs" / "python.md").read_text()
    return (f"Metadata-Version: 2.1\nName: perceiver\nVersion: {VERSION}\n"
            "Summary: Perceiver IO on PyTorch's tensors, computed in C++\n"
            "License: Apache-2.0\nRequires-Python: >=3.10\n"
            f"Requires-Dist: {torch}\nProvides-Extra: transformers\n"
            "Requires-Dist: transformers; extra == 'transformers'\n"
            f"Description-Content-Type: text/markdown\n\n{readme}")


class Wheel:
    """A zip with a record of what is in it."""

    def __init__(self, path):
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self.record, self.info = [], f"{NAME}.dist-info"

    def write(self, name, data, executable=False):
        entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = (0o100755 if executable else 0o100644) << 16
        self.zip.writestr(entry, data)

    def add(self, name, data, executable=False):
        self.write(name, data, executable)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(data)}")

    def close(self):
        record = f"{self.info}/RECORD"
        self.record.append(f"{record},,")
        self.write(record, "\n".join(self.record) + "\n")
        self.zip.close()


def stripped(path):
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        shutil.copy(path, copy)
        run("strip", "--strip-unneeded", copy)
        return copy.read_bytes()


def wheel_of_build(build, folder):
    """A wheel of what lies built in `build` -> its name, in `folder`."""
    torch, torch_version = torch_of_build(build)
    library = build / "python" / "libperceiver_python.so"
    program = build / "perceiver_portable"
    name = f"{NAME}-{tag()}.whl"
    wheel = Wheel(Path(folder) / name)
    python = ROOT / "python"
    for path in sorted([*python.glob("perceiver/*"), python / "perceiver_program.py"]):
        if path.is_file():
            wheel.add(str(path.relative_to(python)), path.read_bytes())
    short = ".".join(torch_version.split(".")[:2])
    wheel.add("perceiver/_build.py",
              f'VERSION, TORCH = "{VERSION}", "{short}"\n'.encode())
    wheel.add("perceiver/lib/libperceiver_python.so", stripped(library))
    wheel.add("perceiver/bin/perceiver", stripped(program), executable=True)
    for library_name, path in sorted(carried([library, program], torch).items()):
        wheel.add(f"perceiver/lib/{library_name}", path.read_bytes())
    for part in SHIPPED:
        for path in sorted((ROOT / part).rglob("*")):
            if path.is_file():
                wheel.add(f"perceiver/{path.relative_to(ROOT)}", path.read_bytes())
    wheel.add(f"{wheel.info}/METADATA", metadata(torch_version).encode())
    wheel.add(f"{wheel.info}/WHEEL", ("Wheel-Version: 1.0\nGenerator: perceiver\n"
                                      f"Root-Is-Purelib: false\nTag: {tag()}\n").encode())
    wheel.add(f"{wheel.info}/entry_points.txt",
              b"[console_scripts]\nperceiver = perceiver_program:main\n")
    wheel.add(f"{wheel.info}/LICENSE", (ROOT / "LICENSE").read_bytes())
    wheel.close()
    return name


def cuda_settings(torch):
    cuda = re.search(r"^cuda\b.*= '(.*)'", (torch / "version.py").read_text(), re.MULTILINE)
    if not cuda:
        return []
    nvcc = shutil.which("nvcc", path=f"{os.environ.get('PATH', '')}:/usr/local/cuda/bin")
    if not nvcc:
        sys.exit(f"torch in {torch} is built for CUDA {cuda[1]} and there is no nvcc: install "
                 "CUDA's compiler, or a torch for the CPU")
    return ["-DPERCEIVER_CUDA=ON", f"-DCMAKE_CUDA_COMPILER={nvcc}"]


# What pip calls.


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    spec = find_spec("torch")
    if spec is None:
        sys.exit("perceiver is built against the torch that is installed: install torch 2.11 or "
                 "newer, then pip install --no-build-isolation")
    torch = Path(spec.origin).resolve().parent
    settings = ["-DCMAKE_BUILD_TYPE=Release", "-DPERCEIVER_TESTS=OFF", "-DPERCEIVER_BENCH=OFF",
                f"-DTorch_DIR={torch}/share/cmake/Torch", *cuda_settings(torch)]
    with tempfile.TemporaryDirectory(prefix="perceiver_build_") as folder:
        build = Path(os.environ.get("PERCEIVER_BUILD") or folder)
        run("cmake", "-S", ROOT, "-B", build, "-G", "Ninja", *settings)
        run("cmake", "--build", build, "--target", *TARGETS)
        return wheel_of_build(build, wheel_directory)


def build_sdist(sdist_directory, config_settings=None):
    name = f"{NAME}.tar.gz"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True)
    with tarfile.open(Path(sdist_directory) / name, "w:gz") as archive:
        for file in filter(None, listed.stdout.decode().split("\0")):
            if (ROOT / file).exists():
                archive.add(ROOT / file, f"{NAME}/{file}", recursive=False)
        data = metadata(None).encode()
        entry = tarfile.TarInfo(f"{NAME}/PKG-INFO")
        entry.size = len(data)
        archive.addfile(entry, io.BytesIO(data))
    return name


def main():
    """package.py wheel BUILD FOLDER | package.py sdist FOLDER"""
    what, *folders = sys.argv[1:]
    out = Path(folders[-1])
    out.mkdir(parents=True, exist_ok=True)
    print(out / (wheel_of_build(Path(folders[0]), out) if what == "wheel" else build_sdist(out)))


if __name__ == "__main__":
    main()
