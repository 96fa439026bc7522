"""`python -m agents.pod.gateway`: read one start document, then serve three listeners until a signal."""

from __future__ import annotations

import asyncio
import errno
import logging
import sys

from agents.pod import hardening
from agents.pod.gateway.listeners import serve
from agents.pod.gateway.pod import Pod
from agents.pod.lifeline import told_to_end
from agents.pod.masking import MaskingFormatter
from agents.pod.start import GatewayStart, read

# The runtime shows these exit codes as the causes PORT and BAD_START.
EXIT_PORT = errno.EADDRINUSE
EXIT_START = 2


def main() -> int:
    hardening.forbid_dumps()
    try:
        pod = Pod(GatewayStart.load(read("gateway")))
    except (OSError, ValueError, KeyError, TypeError) as error:
        # The document holds secrets, and the error's text may contain them.
        sys.stderr.write(f"gateway: unusable start document ({type(error).__name__})\n")
        return EXIT_START
    _log_to_stderr(pod)
    try:
        asyncio.run(serve(pod, told_to_end()))
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        logging.getLogger(__name__).error("%s", error.strerror)
        return EXIT_PORT
    return 0


def _log_to_stderr(pod: Pod) -> None:
    output = logging.StreamHandler(sys.stderr)
    output.setFormatter(MaskingFormatter(pod.secret_texts))
    logging.basicConfig(level=logging.INFO, handlers=[output])


if __name__ == "__main__":
    sys.exit(main())
