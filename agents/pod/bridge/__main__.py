"""`python -m agents.pod.bridge`: read one start document, then keep the engine running until a signal."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import sys

from agents.pod import hardening, processes
from agents.pod.bridge.program import AlreadyRunningError, serve
from agents.pod.start import BridgeStart, read

# The gateway has the first two exit codes too, with the same meaning.
EXIT_PORT = errno.EADDRINUSE
EXIT_START = 2
EXIT_DOUBLE = 3


def main() -> int:
    os.umask(0o077)
    # The engine runs as the same user. It must not read the bridge's environment, which is the operator's.
    hardening.forbid_dumps()
    try:
        start = BridgeStart.load(read("bridge"))
    except (OSError, ValueError, KeyError, TypeError) as error:
        # The document holds secrets, and the error's text may contain them.
        sys.stderr.write(f"bridge: unusable start document ({type(error).__name__})\n")
        return EXIT_START
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    log = logging.getLogger(__name__)
    try:
        asyncio.run(serve(start, os.environ[processes.HOME]))
    except AlreadyRunningError as error:
        log.error("another bridge is at work: %s", error)
        return EXIT_DOUBLE
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        log.error("%s", error.strerror)
        return EXIT_PORT
    return 0


if __name__ == "__main__":
    sys.exit(main())
