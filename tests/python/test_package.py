"""What the wheel carries: the command, models and samples, and stubs that are true."""

import ast
import importlib.metadata
import inspect
import subprocess
import sys
from pathlib import Path

import perceiver

FOLDER = Path(perceiver.__file__).parent
COMMAND = Path(sys.executable).with_name("perceiver")


def said(*arguments, cwd=None):
    return subprocess.run([str(x) for x in arguments], check=True, capture_output=True, text=True,
                          cwd=cwd).stdout


def test_it_is_what_was_installed():
    assert "site-packages" in str(FOLDER)
    assert perceiver.__version__ == importlib.metadata.version("perceiver")
    assert not [x for x in importlib.metadata.requires("perceiver") if "torch" not in x
                and "transformers" not in x]


def test_the_command_runs_the_demo(tmp_path):
    said(COMMAND, "demo", cwd=tmp_path)
    assert (tmp_path / "perceiver-demo" / "index.html").exists()


def test_the_command_finds_a_torch_that_lies_elsewhere(tmp_path):
    for name in ("perceiver", "perceiver_program.py"):
        (tmp_path / name).symlink_to(FOLDER.with_name(name))
    assert "flow-mini" in said(sys.executable, "-c",
                               f"import sys; sys.path.insert(0, {str(tmp_path)!r}); "
                               "sys.argv[1:] = ['models']; "
                               "import perceiver_program; perceiver_program.main()")


def test_a_mistake_has_its_exit_code():
    result = subprocess.run([COMMAND, "flow", "nope.png", "nope.png"], capture_output=True,
                            text=True)
    assert result.returncode == 1
    assert result.stderr == "perceiver: nope.png: cannot open: No such file or directory\n"


def test_nothing_is_found_outside():
    """Beside torch and the C library, all that is loaded lies in the package."""
    for part in ("lib/libperceiver_python.so", "bin/perceiver"):
        for line in said("ldd", FOLDER / part).splitlines():
            place = line.split("=>")[-1].split("(")[0].strip()
            name = Path(line.split()[0]).name
            assert place != "not found", line
            inside = "site-packages" in place or place.startswith("linux-vdso")
            system = ("ld-linux", "libc.", "libm.", "libdl.", "librt.", "libpthread.",
                      "libstdc++.", "libgcc_s.")
            assert inside or name.startswith(system), line


def test_stubs_say_what_there_is():
    stubs = ast.parse((FOLDER / "__init__.pyi").read_text())
    checked = 0

    def check(node, owner):
        nonlocal checked
        for one in node.body:
            if isinstance(one, ast.ClassDef):
                check(one, getattr(owner, one.name))
            elif isinstance(one, ast.FunctionDef):
                there = inspect.getattr_static(owner, one.name)
                there = there.fget if isinstance(there, property) else there
                names = [a.arg for a in (one.args.posonlyargs + one.args.args
                                         + ([one.args.vararg] if one.args.vararg else [])
                                         + one.args.kwonlyargs)]
                assert names == list(inspect.signature(there).parameters), one.name
                checked += 1

    check(stubs, perceiver)
    assert checked > 15
    named = {one.name for one in stubs.body if isinstance(one, (ast.ClassDef, ast.FunctionDef))}
    assert named | {"__version__"} == set(perceiver.__all__)
    assert (FOLDER / "py.typed").exists()
