"""The address where doubles listen for engines: loopback, or an address that the pods of a real cluster can reach."""

from __future__ import annotations

import os

ADDRESS = os.environ.get("TEST_DOUBLES_ADDRESS", "127.0.0.1")
