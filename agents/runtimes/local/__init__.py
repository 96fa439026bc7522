"""Pods as processes of this machine, for one tenant: a directory each, found by what their processes carry."""

from __future__ import annotations

from agents.runtimes.local.driver import LocalRuntime

__all__ = ["LocalRuntime"]
