"""The official Kubernetes client is imported on first use, even if several threads use it first at the same time."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.unmeasured

# Imports each part of the library slowly, so that another thread asks for it in the meantime.
FIRST_USES = """
import sys, threading, time

class Slowly:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("kubernetes"):
            time.sleep(0.002)

sys.meta_path.insert(0, Slowly())
from agents.clusters.api import volumes
from agents.clusters.api.client import Connection

CONFIG = '''
apiVersion: v1
kind: Config
clusters: [{name: one, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: one, user: {token: one}}]
contexts: [{name: one, context: {cluster: one, user: one}}]
current-context: one
'''
CLAIM = {"metadata": {"namespace": "pod-abc-1"}, "spec": {"resources": {"requests": {"storage": "1Gi"}}}}
shared = Connection("shared", CONFIG)

def use(number):
    time.sleep(number * 0.01)
    if number % 3 == 2:
        volumes.grow_to(shared, CLAIM, wanted_bytes=1)
    elif number % 3 == 1:
        Connection("own", CONFIG).bearer()
    else:
        shared._client()
    done.append(number)

done = []
threads = [threading.Thread(target=use, args=(number,)) for number in range(30)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
sys.exit(len(done) != 30)
"""


def test_threads_that_come_first_at_once_all_get_the_whole_of_it() -> None:
    subprocess.run([sys.executable, "-c", FIRST_USES], check=True, timeout=60)
