"""Runs pods as processes of this machine, for a single tenant. Each pod has a directory, and its processes are found by
their marks.
"""

from agents.runtimes.local.driver import LocalRuntime

__all__ = ["LocalRuntime"]
