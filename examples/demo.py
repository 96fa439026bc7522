"""The whole life of an agent, seen from outside: `make demo` runs against a running `make run`.

The demo knows only the public API. It signs in, makes an API key, reads the catalog, creates an agent, talks to it,
pauses, resumes and rebuilds it, pays for it with a licence key and with a stablecoin, and deletes it. It has its own
model server, webhook receiver, seller of licence keys and blockchain, and it checks each answer and each event. It
exits with a non-zero status when anything differs from the documentation.

    python examples/demo.py [--base-url http://127.0.0.1:8000] [--model-port 8090] [--start "make run"]

The settings of the service must point to these servers on this machine. If they do not, the demo prints the settings to
start the service with. With `--start` (as in `make demo`) the demo leaves such a service alone, and starts its own
service in a temporary directory.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shlex
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import requests

# So that `python examples/demo.py` finds the other modules here.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from examples.client import AGENT_FIELDS, SETTLE_SECONDS, WEBHOOK_FIELDS, Client, NotPrepared, Wrong, every, expect
from examples.events import all_genuine, came
from examples.outside import TIER, Outside
from examples.own_service import own_service
from examples.paying import Paying
from examples.peer import Peer
from examples.webhook_receiver import WebhookReceiver

PORT = 8090  # the demo uses this port and the next two
BOOT_SECONDS = 600  # the first agent on a machine installs its engine


class DemoSteps:
    """The steps of the demo; each step builds on the steps before it."""

    def __init__(self, base: str, outside: Outside) -> None:
        self.api = Client(base)
        self.model = outside.model
        self.receiver = WebhookReceiver()
        self.paying = Paying(self.api, self.receiver, outside)
        self.email = f"demo-{int(time.time())}@example.com"
        self.llm_key = f"sk-demo-{os.urandom(12).hex()}"
        self.agent: dict[str, Any] = {}
        self.peer = Peer(self.api)
        self.session = ""
        self.backup: str | None = None

    @property
    def path(self) -> str:
        return f"/agents/{self.agent['id']}"

    def walk(self) -> None:
        for number, step in enumerate(self.steps(), start=1):
            text = (step.__doc__ or "").strip().rstrip(".")
            print(f"{number:>3}. {text} ".ljust(78, "."), end=" ", flush=True)
            began = time.monotonic()
            step()
            print(f"{time.monotonic() - began:6.2f} s", flush=True)

    def steps(self) -> list[Callable[[], None]]:
        return [
            self.sign_in,
            self.make_key,
            self.read_catalog,
            self.paying.read_ways,
            self.create,
            self.come_up,
            self.say_nothing_without_key,
            self.install_key,
            self.chat,
            self.chat_in_context,
            self.ask_peer,
            self.read_memory,
            self.read_logs,
            self.back_up,
            self.test_webhook,
            self.pause,
            self.resume,
            self.rebuild,
            self.restore,
            self.remember,
            *self.paying.steps(),
            self.peer.delete,
            self.delete,
            self.check_events,
            self.revoke_key,
            self.sign_out,
        ]

    def sign_in(self) -> None:
        """Sign in with a mailed code."""
        asked = self.api.ask("POST", "/auth/request", {"email": self.email}, status=202)
        expect(asked["ok"] is True, f"not accepted: {asked}")
        if "devCode" not in asked:
            raise NotPrepared("it does not show sign-in codes (devCode), and this demo cannot read mail")
        answer = self.api.ask("POST", "/auth/verify", {"email": self.email, "code": asked["devCode"]})
        expect(answer["user"]["email"] == self.email, f"another's account: {answer}")
        self.session = answer["token"]

    def make_key(self) -> None:
        """Make an API key and use it from now on; a key cannot make keys."""
        made = self.api.ask("POST", "/keys", {"name": "demo"}, token=self.session)
        expect(made["secret"].startswith("ak_live_"), "the secret does not start with ak_live_")
        expect(made["key"]["prefix"] == made["secret"][:12], "the prefix is not the secret's")
        self.key_id, self.api.token = made["key"]["id"], made["secret"]
        self.api.ask("POST", "/keys", {"name": "another"}, status=403)
        listed = self.api.ask("GET", "/keys")["keys"]
        expect([key["id"] for key in listed] == [self.key_id], f"not the one key: {listed}")

    def read_catalog(self) -> None:
        """Read the catalog without a credential."""
        paths = {"personas": "personas", "tiers": "tiers", "engines": "engines", "models": "models", "tools": "tools"}
        got = {name: self.api.ask("GET", f"/{path}", token="")[name] for path, name in paths.items()}
        self.persona = next(one for one in got["personas"] if one["status"] == "builtin")
        expect(any(engine["id"] == "pi" for engine in got["engines"]), "no engine pi")
        expect(any(tier["id"] == TIER for tier in got["tiers"]), f"no tier {TIER}")
        self.model_id = next(one["id"] for one in got["models"] if one["provider"] == "openai")

    def create(self) -> None:
        """Create an agent on the engine pi, with a webhook."""
        body = {"personaId": self.persona["id"], "tier": TIER, "engine": "pi", "webhookUrl": self.receiver.url}
        body |= {"name": "Demo", "extraSoul": "You are the demo's own agent.", "timezone": "Europe/Berlin"}
        try:
            made = self.api.ask("POST", "/agents", body)
        except Wrong as error:
            if "webhookUrl" in str(error):
                raise NotPrepared(f"it refuses {self.receiver.url} as a webhook receiver") from error
            raise
        self.agent, self.receiver.secret = made["agent"], made["webhookSecret"]
        self.paying.agent_id = self.agent["id"]
        expect(set(self.agent) == AGENT_FIELDS | WEBHOOK_FIELDS, f"other fields: {set(self.agent) ^ AGENT_FIELDS}")
        expect(self.agent["status"] == "provisioning", f"not provisioning: {self.agent['status']}")
        expect(self.agent["personaId"] == self.persona["id"], "another persona")
        expect(self.receiver.secret.startswith("whsec_"), "no webhook secret")

    def come_up(self) -> None:
        """Wait until it runs (the first one installs its engine)."""
        self.wait_for("running", seconds=BOOT_SECONDS)
        expect(self.agent["dseq"] and self.agent["endpointUrl"], f"no address: {self.agent}")
        self.wait_until_serving()
        came(self.receiver, "agent.running", {"from": "provisioning", "to": "running"})

    def say_nothing_without_key(self) -> None:
        """Without a model key it answers but says nothing."""
        answer = self.api.ask("POST", f"{self.path}/chat", {"message": "Are you there?"})
        expect(answer["reply"] == "", f"it said {answer['reply']!r}")
        expect(not self.model.turns, "the model was asked")

    def install_key(self) -> None:
        """Install the model key; only its hash can be read back."""
        body = {"provider": "openai", "key": self.llm_key, "model": self.model_id}
        try:
            self.agent = self.api.ask("PATCH", f"{self.path}/llm-key", body)["agent"]
        except Wrong as error:
            if not self.model.asked and "key" in str(error):
                raise NotPrepared(f"it asks another server than {self.model.base_url} about openai keys") from error
            raise
        expect(self.agent["llmKeyHash"] == hashlib.sha256(self.llm_key.encode()).hexdigest(), "another hash")
        expect(self.llm_key not in str(self.agent), "the key is readable")
        expect(self.agent["status"] == "running", "it stopped running")

    def chat(self) -> None:
        """Talk: the model server sees the real key, the persona and the message."""
        try:
            answer = self.say("Please remember the word heron.")
            expect("heron" in answer["reply"], f"it said {answer['reply']!r}")
        except Wrong as error:
            if not self.model.turns:
                raise NotPrepared(f"its agents ask another server than {self.model.base_url}") from error
            raise
        turn = self.model.turns[-1]
        expect(turn.authorization == f"Bearer {self.llm_key}", "the model server saw another key")
        expect("remember the word heron" in turn.text, "the message is not in the request")
        expect("You are the demo's own agent." in turn.text, "the soul is not in the request")
        self.chat_session = answer["sessionId"]

    def chat_in_context(self) -> None:
        """Talk on: the second turn knows the first."""
        answer = self.say("Which word was it?", session=self.chat_session)
        expect("heron" in answer["reply"], f"it said {answer['reply']!r}")

    def ask_peer(self) -> None:
        """Make a second agent, name it as a peer, and have the first one ask it."""
        key = {"provider": "openai", "key": self.llm_key, "model": self.model_id}
        peers = [self.peer.make(self.persona["id"], key)]
        said = ""
        self.agent = self.api.ask("PUT", f"{self.path}/a2a", {"enabled": True, "peers": peers})["agent"]
        shown = [{name: value for name, value in peer.items() if name != "token"} for peer in peers]
        expect(self.agent["a2aPeers"] == shown, "a peer's token is readable")
        for _ in every(1, 40):
            said = self.say("Please ask your peer robin: Remember the word otter.")["reply"]
            if "My peer says" in said and "otter" in said:
                return
        raise Wrong(f"the peer did not answer; the agent said {said!r}")

    def read_memory(self) -> None:
        """Read its memory: the soul of its engine, and the conversation."""
        memory = self.api.ask("GET", f"{self.path}/memory")["memory"]
        expect("You are the demo's own agent." in memory["soul"], "its soul is another one")
        expect(memory["sessionsCount"] >= 1, f"it keeps {memory['sessionsCount']} conversations")

    def read_logs(self) -> None:
        """Read what its pod said, page by page, with no key in it."""
        page = self.api.ask("GET", f"{self.path}/logs?after=oldest&limit=5")
        expect(page["live"] and page["logs"], f"no lines of a pod that runs: {page}")
        expect(self.llm_key not in str(page), "the model key is in its log")
        after = self.api.ask("GET", f"{self.path}/logs?after={page['cursor']}&limit=5")
        expect(not after["gap"], "lines are missing between two pages")

    def back_up(self) -> None:
        """Back its data up, where backups are made: one more entry in the list."""
        try:
            backup = self.api.ask("POST", f"{self.path}/backups")["backup"]
        except Wrong as error:
            if "none are made here" not in str(error):
                raise
            return
        self.backup = backup["name"]
        entries = self.api.ask("GET", f"{self.path}/backups")["backups"]
        expect(backup in entries, f"it is not listed: {entries}")

    def test_webhook(self) -> None:
        """Ask for a test event."""
        delivery = self.api.ask("POST", f"{self.path}/webhook/test")["delivery"]
        expect(delivery["ok"] is True and delivery["attempts"] == 1, f"not delivered: {delivery}")
        expect(len(self.receiver.of_type("test")) == 1, "it did not arrive")

    def pause(self) -> None:
        """Pause: it stops, and chat is a conflict."""
        self.api.ask("POST", f"{self.path}/pause")
        self.wait_for("stopped")
        came(self.receiver, "agent.stopped", {"from": "running", "to": "stopped"})
        self.api.ask("POST", f"{self.path}/chat", {"message": "Still there?"}, status=409)

    def resume(self) -> None:
        """Resume: it runs again."""
        self.api.ask("POST", f"{self.path}/resume")
        self.wait_for("running")
        came(self.receiver, "agent.running", {"from": "stopped", "to": "running"}, skip=1)

    def rebuild(self) -> None:
        """Rebuild: another pod, the same data."""
        before = self.agent["dseq"]
        self.api.ask("POST", f"{self.path}/rebuild")
        came(self.receiver, "agent.running", {"from": "running", "to": "running"}, skip=2)
        self.wait_for("running")
        expect(self.agent["dseq"] != before, "the pod was not replaced")

    def restore(self) -> None:
        """Restore that backup: a rebuild whose engine starts on the data of then."""
        if self.backup is None:
            return
        self.api.ask("POST", f"{self.path}/backups/{self.backup}/restore")
        came(self.receiver, "agent.running", {"from": "running", "to": "running"}, skip=3)
        self.wait_for("running")
        expect(self.agent["lastBackupAt"] is not None, "it shows no backup")

    def remember(self) -> None:
        """Talk again: the conversation outlived all of it."""
        self.wait_until_serving()
        answer = self.say("And now, which word?", session=self.chat_session)
        expect("heron" in answer["reply"], f"it said {answer['reply']!r}")

    def delete(self) -> None:
        """Delete: gone at once, and the event says so."""
        self.api.ask("DELETE", self.path, status=204)
        self.api.ask("GET", self.path, status=404)
        came(self.receiver, "agent.deleted", {"to": "deleted"})
        expect(self.api.ask("GET", "/agents")["agents"] == [], "it is still listed")

    def check_events(self) -> None:
        """Every event came signed, with its headers, once."""
        counts = {
            "agent.running": 3 if self.backup is None else 4,
            "agent.stopped": 1,
            "payment.confirmed": 2,
            "agent.deleted": 1,
        }
        all_genuine(self.receiver, agent_id=self.agent["id"], counts=counts)

    def revoke_key(self) -> None:
        """Revoke the key: it stops working at once."""
        self.api.ask("DELETE", f"/keys/{self.key_id}", status=204, token=self.session)
        refused = self.api.ask("GET", "/agents", status=401)
        expect(refused["message"] == "Invalid or revoked API key", f"another message: {refused}")

    def sign_out(self) -> None:
        """Sign out."""
        self.api.ask("POST", "/auth/logout", status=204, token=self.session)
        self.api.ask("GET", "/me", status=401, token=self.session)

    # Helpers of the steps.

    def wait_for(self, status: str, *, seconds: float = SETTLE_SECONDS) -> None:
        """Poll the agent until it has this status. Raises Wrong when the agent fails or does not get there in time."""
        for _ in every(0.5, seconds):
            self.agent = self.api.ask("GET", self.path)["agent"]
            if self.agent["status"] == status:
                return
            if self.agent["status"] == "failed":
                break
        why = self.api.ask("GET", f"{self.path}/explain")["explanation"]
        raise Wrong(f"it is {self.agent['status']} instead of {status}: {why['cause']}: {why['message']}")

    def wait_until_serving(self) -> None:
        """Wait until the pod serves: after `running` it may still boot for up to three minutes."""
        liveness = None
        for _ in every(0.5, SETTLE_SECONDS):
            liveness = self.api.ask("GET", f"{self.path}/liveness")["liveness"]
            if liveness == {"reachable": True, "serving": True}:
                return
        raise Wrong(f"it does not serve: {liveness}")

    def say(self, message: str, *, session: str | None = None) -> dict[str, Any]:
        """Send one message. A new key works within 30 seconds, so an empty reply is asked for again."""
        body = {"message": message, **({"sessionId": session} if session else {})}
        answer: dict[str, Any] = {}
        for _ in every(1, 40):
            answer = self.api.ask("POST", f"{self.path}/chat", body)
            if answer["reply"]:
                break
        return answer

    def clean_up(self) -> None:
        """Delete the demo's agents, also after a failure."""
        for agent in filter(None, (self.agent, self.peer.agent)):
            bearer = {"Authorization": f"Bearer {self.api.token}"}
            requests.delete(f"{self.api.base}/agents/{agent['id']}", headers=bearer, timeout=30)
        self.receiver.shutdown()
        self.receiver.server_close()


def run(base: str, outside: Outside) -> None:
    """Run all steps against the service at `base`. Raises Wrong or NotPrepared."""
    print(f"Agentpods at {base}; model server at {outside.model.base_url}")
    demo = DemoSteps(base, outside)
    try:
        demo.walk()
    except requests.ConnectionError as error:
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
            run(chosen.base_url.rstrip("/"), outside)
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
    except (Wrong, NotPrepared, OSError, RuntimeError) as problem:
        sys.exit(f"FAILED: {problem}")
