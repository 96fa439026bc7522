"""One run of schemathesis with its usual command line, and the checks that count as findings."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import requests

from tests.coverage_scope import unmeasured

ROOT = Path(__file__).resolve().parent.parent.parent
# Without `positive_data_acceptance`: a rule may refuse a body that fits its schema, with status 400. For example, the
# tier may be too small for the engine.
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "missing_required_header",
    "unsupported_method",
    "allow_header_conformance",
    "use_after_free",
    "ensure_resource_availability",
    "ignored_auth",
)
REQUEST_SECONDS = 130  # seconds; the longest call waits for a receiver three times


@dataclass(frozen=True, slots=True, kw_only=True)
class FuzzCaller:
    """A person with an account: a session, an API key, and another session for requests that are not generated."""

    email: str
    session: str
    key: str
    own: str


def new_caller(base: str, email: str) -> FuzzCaller:
    session, own = (_sign_in(base, email) for _ in range(2))
    key = _post(base, "/keys", {"name": "fuzz"}, token=session)["secret"]
    return FuzzCaller(email=email, session=session, key=key, own=own)


def _sign_in(base: str, email: str) -> str:
    code = _post(base, "/auth/request", {"email": email})["devCode"]
    return _post(base, "/auth/verify", {"email": email, "code": code})["token"]


def _post(base: str, path: str, body: dict[str, str], token: str = "") -> dict[str, str]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    answer = requests.post(base + path, json=body, headers=headers, timeout=30)
    answer.raise_for_status()
    found: dict[str, str] = answer.json()
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class FuzzPlan:
    """How much to send. With `seconds` 0 the plan runs once; otherwise it is repeated for that long."""

    seed: int
    phases: str = "examples,coverage,fuzzing,stateful"
    examples: int = 200
    seconds: int = 0
    without: tuple[str, ...] = ()


def run(base: str, by: FuzzCaller, plan: FuzzPlan, *, token: str, receiver: str = "") -> bool:
    """Whether there are no findings. Each finding is printed with a curl command that reproduces it."""
    without = {*plan.without, *(["/auth/logout"] if token == by.session else [])}  # it would end the run's own session
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "run", f"{base}/openapi.json", "--url", base),
        *("--header", f"Authorization: Bearer {token}", "--checks", ",".join(CHECKS), "--phases", plan.phases),
        *("--max-examples", str(plan.examples), "--seed", str(plan.seed), "--request-timeout", str(REQUEST_SECONDS)),
        *("--continue-on-failure", "--no-color", "--suppress-health-check", "all", "--warnings", "off"),
        *("--generation-database", "none", "--output-sanitize", "false", "--output-truncate", "false"),
        *(f"--exclude-path={path}" for path in sorted(without)),
        *(["--max-time", str(plan.seconds)] if plan.seconds else []),
    ]
    told = {
        "FUZZ_BASE_URL": base,
        "FUZZ_SESSION": by.own,
        "FUZZ_RECEIVER": receiver,
        "FUZZ_SEED": str(plan.seed),
        "SCHEMATHESIS_HOOKS": "tests.fuzz.hooks",
        "PYTHONWARNINGS": "ignore",
    }
    return subprocess.run(command, cwd=ROOT, env={**unmeasured(), **told}, check=False).returncode == 0
