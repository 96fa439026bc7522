"""`python -m agents.backups.packing`: one backup as a tar.gz on standard output, for an owner who downloads it.

What restic needs comes on standard input. Imports nothing of Django: it starts in a moment and takes little memory.
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
            pass  # the padding behind the archive's end
        sys.stdout.flush()
        failed = process.wait() != 0
    except (archive.Refused, tarfile.TarError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        failed = True
    process.kill()
    os._exit(1 if failed else 0)  # nothing more is written: a broken archive must look broken


if __name__ == "__main__":
    main()
