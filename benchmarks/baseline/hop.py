"""The least work that sends a word from one process to another through Redis: one pushes to a list, the other pops."""

from __future__ import annotations

import sys

import redis

from benchmarks.recording import note

LIST = "baseline.hop"


def main(socket: str) -> None:
    with redis.Redis(unix_socket_path=socket) as client:
        while True:
            popped = client.brpop([LIST])
            note("hop", popped[1].decode())


if __name__ == "__main__":
    main(sys.argv[1])
