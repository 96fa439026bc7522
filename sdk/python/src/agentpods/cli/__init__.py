"""The command `agentpods`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command. Needs the extra `cli`."""
    try:
        from agentpods.cli.app import run  # noqa: PLC0415  # the client itself works without Typer
    except ModuleNotFoundError as error:
        if error.name not in {"typer", "click", "rich", "shellingham"}:
            raise
        sys.exit('The command needs Typer. Install "agentpods[cli]", or run: uvx --from "agentpods[cli]" agentpods')
    run()
