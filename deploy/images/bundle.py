"""Makes the bundle of the bridge (Python, the libraries it loads, our code) for containers of other people's images.

The bundle has its own loader and C library, so the image may have another C library (musl) or none. `bin/python` names
its loader and libraries by fixed paths in the volume, whatever LD_LIBRARY_PATH says. A launcher script would do the
same, but it would be one more program, and `sys.executable` would not be the program that runs. The file
`bin/python._pth` isolates Python: Python ignores the image's environment variables and the working directory.

Each pod has a copy, so the bundle is small: third-party code is included only in compiled form. Run this program with
the Python that goes into the bundle, in an environment with everything that the bridge imports. It needs patchelf,
strip and ldd.
"""

from __future__ import annotations

import argparse
import compileall
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path
from py_compile import PycInvalidationMode

VOLUME = Path("/agentpods")
LOADER = "ld.so"
# Parts of the standard library that are left out: programs with a screen, tests and build tools, and the extensions
# that need them.
NOT_BUNDLED = (
    "EXTERNALLY-MANAGED", "__pycache__", "_sysconfigdata*", "config-*", "curses", "dbm", "distutils", "ensurepip",
    "idlelib",
    "lib-dynload", "lib2to3", "pydoc_data", "sitecustomize.py", "site-packages", "dist-packages", "test", "tkinter",
    "turtle.py", "turtledemo", "venv",
)  # fmt: skip
EXTENSIONS_NOT_BUNDLED = re.compile(
    r"_codecs_.*|_test.*|_ctypes_test|_xxtestfuzz|xxlimited.*|_curses.*|_dbm|_gdbm|_tkinter|readline|nis|ossaudiodev|_crypt|audioop"
)
SOURCES = ("__pycache__", "*.pyx", "*.pxd", "*.pxi", "*.c", "*.h", "*.pyi", "tests", "*.hash")
IMPORTS = """
import json, sys
import agents.pod.bridge.__main__
print(json.dumps({name: module.__file__ for name, module in sys.modules.items() if getattr(module, "__file__", None)}))
"""
# The entry point group of third-party engines (agents/engines/packages.py).
ENGINE_PACKAGES = "agentpods.engines"


def bundle(app: Path, target: Path, programs: Iterable[Path] = ()) -> None:
    library = target / "lib" / f"python{sysconfig.get_python_version()}"
    (target / "bin").mkdir(parents=True)
    python = target / "bin" / "python"
    shutil.copy(Path(sys.executable).resolve(), python)
    _copy_standard_library(library)
    _copy_what_is_imported(app, library / "packages")
    _strip(library.rglob("*.so*"))
    others = [Path(shutil.copy(program, target / "bin" / program.name)) for program in programs]
    _copy_shared_libraries([python, *others, *library.rglob("*.so*")], target / "lib")
    for program in (python, *others):
        _rebind(program)
    paths = (library, library / "lib-dynload", library / "packages")
    lines = [os.path.relpath(path, python.parent) for path in paths]
    python.with_name("python._pth").write_text("\n".join(lines) + "\n")
    _compile(library)


def _copy_standard_library(library: Path) -> None:
    paths = sysconfig.get_paths()
    shutil.copytree(paths["stdlib"], library, ignore=shutil.ignore_patterns(*NOT_BUNDLED))
    (library / "lib-dynload").mkdir()
    for extension in Path(paths["stdlib"], "lib-dynload").glob("*.so"):
        if not EXTENSIONS_NOT_BUNDLED.fullmatch(extension.name.partition(".")[0]):
            shutil.copy(extension, library / "lib-dynload")


def _copy_what_is_imported(app: Path, packages: Path) -> None:
    """Copy our imported modules, all modules of engines and bridge (some are imported later), and whole packages."""
    said = subprocess.run([sys.executable, "-c", IMPORTS], cwd=app, check=True, capture_output=True).stdout
    imported: dict[str, str] = json.loads(said)
    for place in ("agents/engines", "agents/pod/bridge"):
        shutil.copytree(app / place, packages / place, ignore=shutil.ignore_patterns(*SOURCES))
    for file in (Path(file) for name, file in imported.items() if name.partition(".")[0] == "agents"):
        _copy(file, packages / file.relative_to(app))
    for top in sorted({*_tops_of_packages(imported), *map(_metadata, _engine_packages())}):
        if top.is_dir():
            shutil.copytree(top, packages / top.name, ignore=shutil.ignore_patterns(*SOURCES))
        else:
            _copy(top, packages / top.name)


def _copy(file: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(file, target)


def _tops_of_packages(imported: dict[str, str]) -> set[Path]:
    """The imported top-level entries of site-packages. A `.pth` file there may import more than the bridge does."""
    site = Path(sysconfig.get_paths()["purelib"])
    files = [Path(file) for file in imported.values() if Path(file).is_relative_to(site)]
    return {site / file.relative_to(site).parts[0] for file in files}


def _engine_packages() -> Iterator[importlib.metadata.Distribution]:
    for distribution in importlib.metadata.distributions():
        if any(point.group == ENGINE_PACKAGES for point in distribution.entry_points):
            yield distribution


def _metadata(distribution: importlib.metadata.Distribution) -> Path:
    """The metadata directory of the package: Python finds its entry points there, and not in its modules."""
    (listed,) = (file for file in distribution.files or [] if file.name == "entry_points.txt")
    return Path(str(listed.locate())).parent


def _copy_shared_libraries(programs: Iterable[Path], target: Path) -> None:
    """Copy the shared libraries under the names that the loader asks for, and the loader under our own name."""
    for program in programs:
        for name, path in _needs(program):
            wanted = target / (LOADER if name == path else Path(name).name)
            # Libraries inside a wheel stay where the wheel looks for them.
            if not wanted.exists() and not path.startswith(str(target)):
                shutil.copy(Path(path).resolve(), wanted)


def _needs(program: Path) -> Iterator[tuple[str, str]]:
    said = subprocess.run(["ldd", program], check=False, capture_output=True, text=True).stdout  # noqa: S607
    for line in said.splitlines():
        if found := re.match(r"\s*(\S+) => (/\S+) ", line) or re.match(r"\s*((/\S+)) \(", line):
            yield found[1], found[2]


def _strip(extensions: Iterable[Path]) -> None:
    subprocess.run(["strip", "--strip-unneeded", *extensions], check=True)  # noqa: S607


def _compile(library: Path) -> None:
    """Replace sources by compiled code. Engine sources stay too: they may be programs, and tracebacks show them."""
    mode = PycInvalidationMode.UNCHECKED_HASH
    kept = [library / "packages" / name for name in ("agents", *_modules_of_engine_packages())]
    for package in kept:
        compileall.compile_dir(package, quiet=1, invalidation_mode=mode)
    in_kept = re.compile("|".join(f"{re.escape(str(package))}/" for package in kept))
    compileall.compile_dir(library, quiet=1, invalidation_mode=mode, legacy=True, rx=in_kept)
    for source in library.rglob("*.py"):
        if not any(source.is_relative_to(package) for package in kept):
            source.unlink()


def _modules_of_engine_packages() -> Iterator[str]:
    """The modules of engine packages. A file of them may be an engine's program, which shows that it is installed."""
    for distribution in _engine_packages():
        yield from (point.module.partition(".")[0] for point in distribution.entry_points)


def _rebind(program: Path) -> None:
    """Set RPATH, the older kind of run path: it also applies to libraries of extensions and beats LD_LIBRARY_PATH."""
    options = ["--set-interpreter", str(VOLUME / "lib" / LOADER), "--force-rpath", "--set-rpath", str(VOLUME / "lib")]
    subprocess.run(["patchelf", *options, program], check=True)  # noqa: S607


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("app", type=Path, help="the project's directory")
    parser.add_argument("target", type=Path, help="what becomes the volume")
    parser.add_argument("--program", type=Path, action="append", default=[], help="what else the bridge starts")
    given = parser.parse_args()
    bundle(given.app, given.target, given.program)


if __name__ == "__main__":
    main()
