"""`make test-crash`: SEED, SECONDS, AGENTS, ACCOUNTS, ENGINE_CACHE and KEEP=1 come from the environment.

The service has its own home directory. The directory is deleted after a campaign without findings. After findings it is
kept, with logs and journals.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sys
import tempfile
from pathlib import Path

from tests.config.running import ROOT, Run


def main() -> int:
    seed = os.environ.get("SEED") or str(secrets.randbelow(1_000_000))
    base = Path(tempfile.mkdtemp(prefix="agentpods-crash-"))
    base.chmod(0o711)  # the embedded PostgreSQL's user must pass through when root runs this
    journal = base / "journal"
    journal.mkdir()
    cache = os.environ.get("ENGINE_CACHE") or str(ROOT / "var" / "engines")
    run = Run(base / "home", ENGINE_CACHE=cache)
    _become_its_reader(run)
    return _wage(seed, run, base, journal)


def _become_its_reader(run: Run) -> None:
    """Make Django in this process read the service's own database."""
    import django

    os.environ.update(AGENTPODS_HOME=str(run.home), DJANGO_SETTINGS_MODULE="config.settings", DATABASE_POOL_SIZE="2")
    for name in ("DATABASE_URL", "REDIS_URL"):
        os.environ.pop(name, None)
    django.setup()


def _wage(seed: str, run: Run, base: Path, journal: Path) -> int:
    from tests.crash.campaign import Options, prepared, say

    options = Options(
        seed=seed,
        seconds=float(os.environ.get("SECONDS") or 600),
        agents=int(os.environ.get("AGENTS") or 30),
        accounts=int(os.environ.get("ACCOUNTS") or 10),
        keep=os.environ.get("KEEP") == "1",
    )
    again = (
        f"make test-crash SEED={seed} SECONDS={options.seconds:.0f} AGENTS={options.agents} ACCOUNTS={options.accounts}"
    )
    say(f"seed {seed}; again: {again}")
    with prepared(options, run, journal) as campaign:
        try:
            campaign.wage()
        finally:
            campaign.write_journals()
            findings = campaign.findings
            for finding in findings:
                say(f"FOUND {finding}")
    if findings:
        say(f"FAILED with {len(findings)} findings, seed {seed}; logs and journals are in {base}; again: {again}")
        return 1
    say(f"PASSED, seed {seed}")
    shutil.rmtree(base, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
