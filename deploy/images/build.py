"""`make images` builds the images of deploy/images/*/Dockerfile as OCI archives, without a daemon and a registry.

The base image is Debian as debootstrap unpacks it. The configuration with which this machine reaches its mirrors (apt's
sources and options, pip.conf, npmrc, certificates) is mounted into the build steps that need it. No image layer
contains it.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ("agentpods", "pi", "hermes", "opencode", "claude-code", "openclaw", "n8n")
# Engines whose lock file has a program for only one type of processor.
PROCESSORS = {"opencode": "x86_64"}
# Images that are built only on request: the image of an engine with the test double of its program inside.
DOUBLES = {"pi-double": "pi"}
SUITE = "bookworm"
BASE = f"localhost/debian:{SUITE}"
TOOLS = ("debootstrap", "buildah")  # the programs that the build needs; the Debian packages have the same names
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
MOUNTED_CERTIFICATES = "/run/secrets/certificates"
_SOURCE = "deb $(REPO_URI) $(RELEASE) $(COMPONENT)"
NOT_IN_BASE = ("usr/share/info", "usr/share/locale", "usr/share/man", "var/cache/apt", "var/lib/apt/lists")
# Debootstrap copies these files from this machine.
OF_THIS_MACHINE = ("etc/apt/sources.list", "etc/hostname", "etc/resolv.conf")


def run(*words: str | Path, quiet: bool = False) -> str:
    command = [str(word) for word in words]
    done = subprocess.run(command, check=False, text=True, stdout=subprocess.PIPE if quiet else None)
    if done.returncode != 0:
        sys.exit(f"failed ({done.returncode}): {' '.join(command[:3])} …\n{done.stdout or ''}")
    return done.stdout or ""


class Builder:
    """buildah with its own storage, which is deleted at the end."""

    def __init__(self, scratch: Path, volumes: Sequence[str]) -> None:
        self._scratch = scratch
        self._mounts = [word for path in volumes for word in ("--volume", f"{path}:{path}:ro")]
        for name, source in _client_configuration(scratch).items():
            self._mounts += ["--secret", f"id={name},src={source}"]

    def buildah(self, *words: str | Path, quiet: bool = False) -> str:
        return run(
            "buildah", "--root", self._scratch / "store", "--runroot", self._scratch / "run", *words, quiet=quiet
        )

    def make_base(self) -> None:
        system = self._scratch / "debian"
        sources = [line.split() for line in (self._scratch / "sources").read_text().splitlines()]
        mirror = next((address for _, address, suite, _ in sources if suite == SUITE), None)
        if mirror is None:
            sys.exit(f"apt knows no source of Debian {SUITE} on this machine: nothing to make the base of")
        run("debootstrap", "--variant=minbase", "--include=ca-certificates", SUITE, system, mirror, quiet=True)
        _cut(system)
        container = self.buildah("from", "scratch", quiet=True).strip()
        self.buildah("add", "--quiet", container, system, "/", quiet=True)
        self.buildah("commit", "--quiet", "--rm", container, BASE, quiet=True)
        shutil.rmtree(system)

    def build(self, name: str, *, base: str, tag: str, archive: Path) -> None:
        place = ROOT / ("tests/doubles/images" if name in DOUBLES else "deploy/images") / name
        image = f"localhost/{name}:{tag}"
        own = ["--pull-never"] if base.startswith("localhost/") else []
        self.buildah(
            # With `--layers`, the steps that two images share are built once and pulled once.
            "build", "--layers", "--isolation", "chroot", "--format", "oci", *own, *_open_files(),
            "--build-arg", f"BASE={base}", "--ignorefile", place / "Dockerfile.dockerignore",
            "--file", place / "Dockerfile", *self._mounts, "--tag", image, ROOT,
        )  # fmt: skip
        archive.unlink(missing_ok=True)
        self.buildah("push", "--quiet", image, f"oci-archive:{archive}:{image}")

    def close(self) -> None:
        """Unmount what a failed build left mounted: a mounted directory cannot be deleted."""
        mounted = [line.split()[1] for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()]
        for place in reversed([place for place in mounted if Path(place).is_relative_to(self._scratch)]):
            run("umount", place, quiet=True)


def _open_files() -> list[str]:
    """The largest number of open files that this machine allows: npm opens thousands at once."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    return ["--ulimit", f"nofile={most}:{most}"]


def _cut(system: Path) -> None:
    for path in NOT_IN_BASE:
        shutil.rmtree(system / path, ignore_errors=True)
    for path in OF_THIS_MACHINE:
        (system / path).unlink(missing_ok=True)
    for file in (system / "usr/share/doc").rglob("*"):
        if file.is_file() and file.name != "copyright":  # licence texts stay in the image
            file.unlink()


def _client_configuration(scratch: Path) -> dict[str, Path]:
    """The configuration files that the Dockerfiles mount, as far as this machine has them."""
    told = run("apt-get", "indextargets", "--format", _SOURCE, "Created-By: Packages", "Origin: Debian", quiet=True)
    (scratch / "sources").write_text("".join(f"{line}\n" for line in dict.fromkeys(told.splitlines())))
    options = [line for line in run("apt-config", "dump", quiet=True).splitlines() if line.startswith("Acquire::")]
    options.append(f'Acquire::https::CaInfo "{MOUNTED_CERTIFICATES}";')
    (scratch / "apt").write_text("".join(f"{line}\n" for line in options))
    home = Path.home()
    candidates: dict[str, list[Path | str]] = {
        "sources": [scratch / "sources"],
        "apt": [scratch / "apt"],
        "pip": [os.environ.get("PIP_CONFIG_FILE", ""), home / ".config" / "pip" / "pip.conf", "/etc/pip.conf"],
        "npm": [os.environ.get("NPM_CONFIG_USERCONFIG", ""), home / ".npmrc"],
        "certificates": [CERTIFICATES],
    }
    found = {name: [Path(path) for path in paths if Path(path).is_file()] for name, paths in candidates.items()}
    return {name: paths[0] for name, paths in found.items() if paths}


def _check_machine() -> None:
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if os.geteuid() != 0:
        needed = f"; also missing: {', '.join(missing)}" if missing else ""
        sys.exit(f"debootstrap and the builds' chroots need root: sudo make images{needed}")
    if missing and shutil.which("apt-get"):
        run("apt-get", "-qqy", "install", "--no-install-recommends", *missing)
    elif missing:
        sys.exit(f"missing, and only Debian's apt-get could be asked for them here: {', '.join(missing)}")


def _for_this_machine() -> list[str]:
    lacking = [name for name, processor in PROCESSORS.items() if processor != platform.machine()]
    if lacking:
        sys.stderr.write(f"not for {platform.machine()}, so not made: {', '.join(lacking)}\n")
    return [name for name in IMAGES if name not in lacking]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--tag", default="latest")
    parser.add_argument("--base", help="an image to build on, instead of one that debootstrap makes")
    parser.add_argument(
        "--only", action="append", choices=[*IMAGES, *DOUBLES], help="not all images; may be repeated, in this order"
    )
    parser.add_argument("--volume", action="append", default=[], help="a directory that pip.conf or npmrc names")
    given = parser.parse_args()
    _check_machine()
    given.output.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix=".build-", dir=given.output.absolute()) as scratch,
        contextlib.closing(Builder(Path(scratch), given.volume)) as builder,
    ):
        if not given.base:
            builder.make_base()
        for name in given.only or _for_this_machine():
            base = f"localhost/{DOUBLES[name]}:{given.tag}" if name in DOUBLES else given.base or BASE
            builder.build(name, base=base, tag=given.tag, archive=given.output / f"{name}.tar")


if __name__ == "__main__":
    main()
