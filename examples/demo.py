"""The whole life of an agent, seen from outside: `make demo` runs against a running `make run`.

The demo knows only the public API, through the project's own client (`sdk/python`). It signs in, makes an API key,
reads the catalog, creates an agent, talks to it, pauses, resumes and rebuilds it, pays for it with a licence key and
with a stablecoin, and deletes it. It has its own model server, webhook receiver, seller of licence keys and blockchain,
and it checks each answer and each event. It exits with a non-zero status when anything differs from the documentation.

    python examples/demo.py [--base-url http://127.0.0.1:8000] [--model-port 8090] [--start "make run"]

The settings of the service must point to these servers on this machine. If they do not, the demo prints the settings to
start the service with. With `--start` (as in `make demo`) the demo leaves such a service alone, and starts its own
service in a temporary directory.
"""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
from pathlib import Path

# So that `python examples/demo.py` finds the other modules here, and the client, which need not be installed.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "sdk" / "python" / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from agentpods.errors import AgentpodsError, NoAnswerError
from examples.checks import NotPrepared, Wrong
from examples.kept_session import KeptSession
from examples.outside import Outside
from examples.own_service import own_service
from examples.steps import DemoSteps

PORT = 8090  # the demo uses this port and the next two


def run(base: str, outside: Outside, *, kept: KeptSession | None = None) -> None:
    """Run all steps against the service at `base`. Raises Wrong or NotPrepared."""
    print(f"Agentpods at {base}; model server at {outside.model.base_url}")
    demo = DemoSteps(base, outside, kept=kept)
    try:
        demo.walk()
    except NoAnswerError as error:
        raise NotPrepared("nothing answers there; PORT or BASE_URL say where your `make run` is") from error
    finally:
        print(flush=True)
        demo.clean_up()


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="The whole life of an agent, through the public interface.")
    port = os.environ.get("PORT") or "8000"  # the same variable that `make run` reads
    parser.add_argument("--base-url", default=os.environ.get("BASE_URL") or f"http://127.0.0.1:{port}")
    parser.add_argument(
        "--model-port",
        type=int,
        default=PORT,
        help="port of the model server; licences and chain use the next two ports",
    )
    parser.add_argument(
        "--start", metavar="COMMAND", help="command that starts another service if the demo cannot use the present one"
    )
    return parser.parse_args()


def main() -> int:
    chosen = options()
    # Also ends the programs that the demo started, as Ctrl-C does.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    print("Starting the servers that the service needs. The first time, npm installs the test chain.", flush=True)
    with Outside(chosen.model_port) as outside:
        try:
            run(chosen.base_url.rstrip("/"), outside, kept=KeptSession())
        except NotPrepared as reason:
            print(f"This demo cannot use {chosen.base_url}: {reason}.")
            if not chosen.start:
                given = (f"{name}={shlex.quote(value)}" for name, value in outside.settings().items())
                print(f"Start it with: {' '.join(given)} make run")
                return 2
            with own_service(chosen.start, settings=outside.settings()) as base:
                run(base, outside)
    print("All steps gave the results that the interface describes.")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Wrong, NotPrepared, AgentpodsError, OSError, RuntimeError) as problem:
        sys.exit(f"FAILED: {problem}")
