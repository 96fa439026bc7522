"""Rows about people and their agents on a busy platform: each line is a model, what follows FROM, and its columns."""

from __future__ import annotations

# Set by busy_platform.fill: how many agents of the full platform each agent stands for, so that a smaller platform has
# its rows spread over the same time.
SPREAD = "current_setting('busy.spread')::int"
_ID = "'{}_' || lpad(to_hex({}), 24, '0')"
_AGO = f"now() - ({{}} * {SPREAD} % {{}}) * interval '1 minute'"
_MONTH = 43_200  # minutes


def id_of(prefix: str, number: str) -> str:
    return _ID.format(prefix, number)


def ago(number: str, minutes: int = _MONTH) -> str:
    return _AGO.format(f"({number})", minutes)


_N = "i * 10 + k"
_TEN_EACH = "busy, generate_series(0, 9) k"
_STATE = f"CASE WHEN ({_N}) % 200 = 7 THEN 'pending' WHEN ({_N}) % 33 = 1 THEN 'failed' ELSE 'delivered' END"
_OWNERS = "(SELECT DISTINCT owner, i / 4 n FROM busy) o"
_EMAIL = "'owner-' || n || '@example.com'"

TABLES: tuple[tuple[str, str, dict[str, str]], ...] = (
    (
        "agents.Transition",
        "busy, generate_series(0, 5) k",
        {
            "agent_id": "agent",
            "from_status": "(ARRAY['', 'provisioning', 'running', 'stopped', 'provisioning', 'running'])[k + 1]",
            "to_status": "(ARRAY['provisioning', 'running', 'stopped', 'provisioning', 'running', status])[k + 1]",
            "reason": "(ARRAY['create', 'create', 'owner', 'resume', 'resume', 'owner'])[k + 1]",
            "actor": "'user:' || owner",
            "at": "created + k * interval '1 hour'",
        },
    ),
    (
        "agents.AgentQuota",
        "busy WHERE status <> 'deleted'",
        {
            "agent_id": "agent",
            "status": "CASE WHEN i % 500 = 0 THEN 'warn' ELSE 'ok' END",
            **dict.fromkeys(("memory_used_bytes", "disk_used_bytes"), "300000000"),
            **dict.fromkeys(("memory_limit_bytes", "disk_total_bytes"), "1000000000"),
        },
    ),
    (
        "webhooks.Hook",
        "busy WHERE status <> 'deleted'",
        {
            "agent_id": "agent",
            "url": "'https://hooks-' || i % 997 || '.example.com/agent'",
            "authority": "'hooks-' || i % 997 || '.example.com:443'",
            "last_status": "'200'",
            "last_at": ago("i"),
            "last_event": "'agent.running'",
        },
    ),
    (
        "webhooks.Event",
        _TEN_EACH,
        {
            "id": "'evt_' || lpad(to_hex(i * 10 + k), 32, '0')",
            "agent_id": "agent",
            "type": "(ARRAY['agent.running', 'agent.stopped', 'payment.confirmed'])[k % 3 + 1]",
            "body": "'{}'",
            "created_at": f"{ago(_N)} - k * interval '1 second'",
        },
    ),
    (
        "webhooks.Delivery",
        _TEN_EACH,
        {
            "event_id": "'evt_' || lpad(to_hex(i * 10 + k), 32, '0')",
            "agent_id": "agent",
            "state": _STATE,
            "attempts": f"CASE {_STATE} WHEN 'failed' THEN 12 ELSE 1 END",
            "claims": "1",
            "next_attempt_at": "now() + interval '1 day'",
            "http_status": f"CASE {_STATE} WHEN 'failed' THEN 503 ELSE 200 END",
            "error": f"CASE {_STATE} WHEN 'failed' THEN 'timeout' ELSE '' END",
            "duration_ms": "80",
            "created_at": f"{ago(_N)} - k * interval '1 second'",
            "finished_at": f"CASE {_STATE} WHEN 'pending' THEN NULL ELSE {ago(_N)} END",
        },
    ),
    (
        "agents.Repository",
        "busy WHERE status <> 'deleted'",
        {
            "agent_id": "agent",
            "made_at": "created",
            "failures": "CASE WHEN i % 1000 = 0 THEN 2 ELSE 0 END",
            "failure": "CASE WHEN i % 1000 = 0 THEN 'the store did not answer' ELSE '' END",
            "drill_due_at": "now() + interval '1 day'",
            "drilled_at": ago("i"),
        },
    ),
    (
        "agents.Backup",
        "busy, generate_series(0, 3) k WHERE status <> 'deleted'",
        {
            "id": id_of("bkp", "i * 4 + k"),
            "agent_id": "agent",
            "name": "'2026-11-2' || k || '-0300'",
            "kind": "'nightly'",
            "namespace": "'pod'",
            "generation": "1",
            "actor": "'nights'",
            "stage": "CASE WHEN (i + k) % 500 = 0 THEN 'failed' ELSE 'done' END",
            "asked_at": f"{ago('i')} - k * interval '1 day'",
            "taken_at": f"{ago('i')} - k * interval '1 day'",
            "ended_at": f"{ago('i')} - k * interval '1 day'",
            "size": "5000000",
        },
    ),
    (
        "agents.InboundMessage",
        "busy WHERE status = 'running'",
        {
            "agent_id": "agent",
            "channel": "'whatsapp'",
            "name": "'wamid.' || i",
            "received_at": ago("i", 1440),
            "ended": "'handed_over'",
            "ended_at": "now()",
        },
    ),
    (
        "agents.DomainClaim",
        "busy WHERE status = 'running' AND i % 9 = 0",
        {
            "id": id_of("dom", "i"),
            "domain": "'agent-' || i || '.example.org'",
            "user_id": "owner",
            "agent_id": "agent",
            "value": "i",
            "status": "'proved'",
            "claimed_at": "created",
            "proved_at": "created",
        },
    ),
    (
        "accounts.Letter",
        "busy, generate_series(0, 2) k",
        {
            "id": id_of("ltr", "i * 3 + k"),
            "user_id": "owner",
            "email": "'owner-' || i / 4 || '@example.com'",
            "subject": "(ARRAY['Your agent is ready', 'Your trial ends', 'Payment received'])[k + 1]",
            "text": "'Hello'",
            "lang": "'en'",
            "written_at": ago("i * 3 + k", 12 * _MONTH),
            "mailed_at": "CASE WHEN i % 100 = 0 THEN NULL ELSE now() END",
        },
    ),
    (
        "accounts.Session",
        f"{_OWNERS}, generate_series(0, 1) k",
        {
            "id": id_of("ses", "n * 2 + k"),
            "user_id": "owner",
            "digest": "'session' || n * 2 + k",
            "client": "'Firefox, Linux'",
            "created_at": ago("n"),
            "seen_at": ago("n", 600),
            "expires_at": "now() + interval '20 days'",
        },
    ),
    (
        "accounts.ApiKey",
        f"{_OWNERS}, generate_series(0, 1) k",
        {
            "id": id_of("key", "n * 2 + k"),
            "user_id": "owner",
            "name": "'laptop'",
            "prefix": "'ak_live_' || lpad(to_hex(n % 65536), 4, '0')",
            "digest": "'key' || n * 2 + k",
            "created_at": ago("n"),
        },
    ),
    (
        "accounts.SignInCode",
        _OWNERS,
        {
            "id": id_of("cod", "n"),
            "email": _EMAIL,
            "household": "'house' || n",
            "inbox": _EMAIL,
            "lang": "'en'",
            "created_at": ago("n"),
            "expires_at": ago("n"),
            "mailed_at": ago("n"),
            "used_at": ago("n"),
            "forget_at": "now() + interval '20 days'",
        },
    ),
    ("accounts.WrongTry", _OWNERS, {"email": _EMAIL, "household": "'h'", "network": "'n'", "at": ago("n", 1440)}),
    (
        "accounts.IdempotentReply",
        _OWNERS,
        {"user_id": "owner", "method": "'POST'", "path": "'/agents'", "key": "'once-' || n", "status": "200"},
    ),
    (
        "accounts.Suspension",
        f"{_OWNERS} WHERE n % 50 = 0",
        {
            "id": id_of("sus", "n"),
            "user_id": "owner",
            "reason": "'looked like spam'",
            "suspended_at": "now() - interval '500 days'",
            "suspended_by": "'operator:usr_1'",
            "restored_at": "now() - interval '499 days'",
            "restored_by": "'operator:usr_1'",
        },
    ),
    (
        "catalog.Author",
        f"{_OWNERS} WHERE n % 10 = 0",
        {"user_id": "owner", "name": "'Author ' || n", "created_at": ago("n")},
    ),
    (
        "config.AuditEntry",
        "(SELECT i * 2 + k n FROM busy, generate_series(0, 1) k) lines",
        {
            "at": ago("n", 12 * _MONTH),
            "who": "'operator-' || n % 9 || '@example.com'",
            "who_id": "'usr_operator_' || n % 9",
            "address": "'192.0.2.' || n % 250",
            "verb": "(ARRAY['Changed', 'Paused', 'Refunded', 'Signed in'])[n % 4 + 1]",
            "kind": "'agent'",
            "object_id": id_of("agt", "n % 100000 + 1"),
            "label": "'Owl ' || n",
            "reason": "'asked by its owner'",
        },
    ),
)
