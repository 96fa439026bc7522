"""`python -m benchmarks.peers.cluster DIRECTORY`: the cluster's double, in a process of its own.

Prints its kubeconfig as a line of JSON. Each line of its input is a command in JSON; a line tells that it is done.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.processes import Program
from tests.doubles.kube_api import KubeApi


@dataclass(frozen=True)
class ClusterProgram:
    kubeconfig: str
    process: subprocess.Popen[str]

    @property
    def program(self) -> Program:
        return Program(self.process.pid)

    def copy(self, word: str, others: Sequence[Mapping[str, str]]) -> None:
        self._order({"copy": word, "others": others})

    def restart(self, container: str) -> None:
        """The container of this name ends and starts again in all pods."""
        self._order({"restart": container})

    def _order(self, command: dict[str, Any]) -> None:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(f"{json.dumps(command)}\n")
        self.process.stdin.flush()
        if not self.process.stdout.readline():
            raise RuntimeError("the cluster has ended")


@contextmanager
def cluster() -> Iterator[ClusterProgram]:
    pipe = subprocess.PIPE
    with tempfile.TemporaryDirectory(prefix="agentpods-cluster-") as directory:
        command = [sys.executable, "-m", "benchmarks.peers.cluster", directory]
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
            assert process.stdin
            assert process.stdout
            yield ClusterProgram(json.loads(process.stdout.readline()), process)
            process.stdin.close()


def main(directory: Path) -> None:
    with KubeApi(directory) as double:
        print(json.dumps(double.kubeconfig()), flush=True)
        for line in sys.stdin:
            _obey(double, json.loads(line))
            print("done", flush=True)


def _obey(double: KubeApi, command: dict[str, Any]) -> None:
    if "copy" in command:
        double.copy(command["copy"], command["others"])
        return
    for namespace in {pod["metadata"]["namespace"] for pod in double.objects("Pod")}:
        double.kill(namespace, command["restart"])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
