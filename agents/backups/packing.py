"""`python -m agents.backups.packing`: writes one backup as a tar.gz to standard output, for an owner's download.

It reads what restic needs from standard input. It imports nothing of Django, so it starts fast and needs little memory.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile

from agents.pod import archive


def main() -> None:
    given = json.load(sys.stdin)
    command = [
        given["program"],
        "--quiet",
        "--no-cache",
        "--no-lock",
        "dump",
        given["snapshot"],
        "/",
        "--archive",
        "tar",
    ]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=given["environment"])
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("pipes were asked for")
    process.stdin.write(given["password"].encode())
    process.stdin.close()
    try:
        archive.repack(process.stdout, sys.stdout.buffer)
        while process.stdout.read(65_536):
            pass  # the padding after the end of the archive
        sys.stdout.flush()
        failed = process.wait() != 0
    except (archive.InvalidArchive, tarfile.TarError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        failed = True
    process.kill()
    os._exit(1 if failed else 0)  # nothing more is written, so that an incomplete archive is seen as incomplete


if __name__ == "__main__":
    main()
