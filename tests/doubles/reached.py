"""Where doubles listen that engines call: on loopback, or at an address of this machine that the pods of a real cluster
reach."""

from __future__ import annotations

import os

ADDRESS = os.environ.get("TEST_DOUBLES_ADDRESS", "127.0.0.1")
