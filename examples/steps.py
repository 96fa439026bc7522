"""The steps of the demo (`examples/demo.py`): what a customer of the service does, by the project's own client."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Literal

from agentpods import Agentpods, ChatDelta, ChatDone, types
from agentpods.errors import AgentpodsError, ApiError, NotSettledError
from examples.checks import AGENT_FIELDS, SETTLE_SECONDS, WEBHOOK_FIELDS, NotPrepared, Wrong, every, expect, refused
from examples.events import all_genuine, came
from examples.kept_session import KeptSession
from examples.outside import TIER, Outside
from examples.paying import Paying
from examples.peer import Peer
from examples.webhook_receiver import WebhookReceiver

BOOT_SECONDS = 600  # the first agent on a machine installs its engine
ASK_SECONDS = 0.2


class DemoSteps:
    """The steps of the demo; each step builds on the steps before it."""

    def __init__(self, base: str, outside: Outside, *, kept: KeptSession | None = None) -> None:
        self.base = base
        self.kept = kept  # None: the service ends with the demo, and so does the session
        self.public = Agentpods(base, "")  # without a credential
        self.old_keys: set[str] = set()  # of earlier runs with the same session
        self.account = self.pods = self.public  # with the session, and with the API key, once there are any
        self.model = outside.model
        self.receiver = WebhookReceiver()
        self.paying = Paying(self.public, self.receiver, outside)
        self.email = f"demo-{int(time.time())}@example.com"
        self.llm_key = f"sk-demo-{os.urandom(12).hex()}"
        self.peer = Peer()
        self.agent: types.Agent | None = None
        self.backup: str | None = None
        self.key_id = ""

    @property
    def id(self) -> str:
        expect(self.agent, "there is no agent yet")
        return self.agent["id"] if self.agent else ""

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
        """Sign in with a mailed code, or go on with the session of an earlier run."""
        account = self.kept and self.kept.account(self.base)
        if account:
            self.account = account
            self.old_keys = {key["id"] for key in account.api.each_of_keys()}
            self.paying.old = {one["id"] for one in account.api.each_of_subscriptions()}
            return
        asked = self.public.api.request_sign_in_code({"email": self.email})
        expect(asked["ok"] is True, f"not accepted: {asked}")
        if "devCode" not in asked:
            raise NotPrepared("it does not show sign-in codes (devCode), and this demo cannot read mail")
        answer = self.public.api.verify_sign_in_code({"email": self.email, "code": asked["devCode"]})
        expect(answer["user"]["email"] == self.email, f"another's account: {answer}")
        self.account = Agentpods(self.base, answer["token"])
        if self.kept:
            self.kept.keep(self.base, answer["token"])

    def make_key(self) -> None:
        """Make an API key and use it from now on; a key cannot make keys."""
        made = self.account.api.create_key({"name": "demo"})
        expect(made["secret"].startswith("ak_live_"), "the secret does not start with ak_live_")
        expect(made["key"]["prefix"] == made["secret"][:12], "the prefix is not the secret's")
        self.key_id, self.pods = made["key"]["id"], Agentpods(self.base, made["secret"])
        self.paying.pods = self.peer.pods = self.pods
        refused(lambda: self.pods.api.create_key({"name": "another"}), status=403)
        listed = [key["id"] for key in self.pods.api.each_of_keys() if key["id"] not in self.old_keys]
        expect(listed == [self.key_id], f"not the one key: {listed}")

    def read_catalog(self) -> None:
        """Read the catalog without a credential."""
        catalog = self.public.api
        self.persona = next(one for one in catalog.each_of_personas() if one["status"] == "builtin")
        expect(any(engine["id"] == "pi" for engine in catalog.list_engines()["engines"]), "no engine pi")
        expect(any(tier["id"] == TIER for tier in catalog.list_tiers()["tiers"]), f"no tier {TIER}")
        expect(catalog.list_tools()["tools"], "no tools")
        self.model_id = next(one["id"] for one in catalog.list_models()["models"] if one["provider"] == "openai")

    def create(self) -> None:
        """Create an agent on the engine pi, with a webhook."""
        try:
            made = self.pods.agents.create(
                personaId=self.persona["id"],
                tier=TIER,
                engine="pi",
                name="Demo",
                extraSoul="You are the demo's own agent.",
                timezone="Europe/Berlin",
                webhookUrl=self.receiver.url,
            )
        except ApiError as error:
            if "webhookUrl" in error.message:
                raise NotPrepared(f"it refuses {self.receiver.url} as a webhook receiver") from error
            raise
        agent = self.agent = made["agent"]
        self.paying.agent_id, self.receiver.secret = agent["id"], made.get("webhookSecret") or ""
        expect(set(agent) == AGENT_FIELDS | WEBHOOK_FIELDS, f"other fields: {set(agent) ^ AGENT_FIELDS}")
        expect(agent["status"] == "provisioning", f"not provisioning: {agent['status']}")
        expect(agent["personaId"] == self.persona["id"], "another persona")
        expect(self.receiver.secret.startswith("whsec_"), "no webhook secret")

    def come_up(self) -> None:
        """Wait until it runs (the first one installs its engine)."""
        agent = self.wait_for("running", seconds=BOOT_SECONDS)
        expect(agent["dseq"] and agent["endpointUrl"], f"no address: {agent}")
        self.wait_until_serving()
        came(self.receiver, "agent.running", {"from": "provisioning", "to": "running"})

    def say_nothing_without_key(self) -> None:
        """Without a model key it answers but says nothing."""
        answer = self.pods.agents.chat(self.id, "Are you there?")
        expect(answer["reply"] == "", f"it said {answer['reply']!r}")
        expect(not self.model.turns, "the model was asked")

    def install_key(self) -> None:
        """Install the model key; only its hash can be read back."""
        try:
            agent = self.pods.agents.set_llm_key(self.id, provider="openai", key=self.llm_key, model=self.model_id)
        except ApiError as error:
            if not self.model.asked and "key" in error.message:
                raise NotPrepared(f"it asks another server than {self.model.base_url} about openai keys") from error
            raise
        expect(agent["llmKeyHash"] == hashlib.sha256(self.llm_key.encode()).hexdigest(), "another hash")
        expect(self.llm_key not in str(agent), "the key is readable")
        expect(agent["status"] == "running", "it stopped running")

    def chat(self) -> None:
        """Talk: the model server sees the real key, the persona and the message."""
        try:
            answer = self.say("Please remember the word heron.")
            expect("heron" in answer["reply"], f"it said {answer['reply']!r}")
        except (ApiError, Wrong) as error:
            if not self.model.turns:
                raise NotPrepared(f"its agents ask another server than {self.model.base_url}") from error
            raise
        turn = self.model.turns[-1]
        expect(turn.authorization == f"Bearer {self.llm_key}", "the model server saw another key")
        expect("remember the word heron" in turn.text, "the message is not in the request")
        expect("You are the demo's own agent." in turn.text, "the soul is not in the request")
        self.chat_session = answer["sessionId"]

    def chat_in_context(self) -> None:
        """Talk on, and read the reply while it comes: the second turn knows the first."""
        words, reply = "", None
        for event in self.pods.agents.stream(self.id, "Which word was it?", session_id=self.chat_session):
            if isinstance(event, ChatDelta):
                words += event.text
            elif isinstance(event, ChatDone):
                reply = event.reply
        expect(reply is not None and "heron" in reply, f"it said {reply!r}")
        expect(words == reply, f"it said {words!r} first, and {reply!r} at the end")

    def ask_peer(self) -> None:
        """Make a second agent, name it as a peer, and have the first one ask it."""
        peer = self.peer.make(self.persona["id"], self.llm_key, self.model_id)
        said = ""
        agent = self.pods.api.set_agent_a2a(self.id, {"enabled": True, "peers": [peer]})["agent"]
        shown = [{name: value for name, value in peer.items() if name != "token"}]
        expect(agent["a2aPeers"] == shown, "a peer's token is readable")
        for _ in every(ASK_SECONDS, 40):
            said = self.say("Please ask your peer robin: Remember the word otter.")["reply"]
            if "My peer says" in said and "otter" in said:
                return
        raise Wrong(f"the peer did not answer; the agent said {said!r}")

    def read_memory(self) -> None:
        """Read its memory: the soul of its engine, and the conversation."""
        memory = self.pods.api.get_agent_memory(self.id)["memory"]
        expect("You are the demo's own agent." in str(memory["soul"]), "its soul is another one")
        expect((memory["sessionsCount"] or 0) >= 1, f"it keeps {memory['sessionsCount']} conversations")

    def read_logs(self) -> None:
        """Read what its pod said, page by page, with no key in it."""
        page = self.pods.agents.logs(self.id, after="oldest", limit=5)
        expect(page["live"] and page["logs"], f"no lines of a pod that runs: {page}")
        expect(self.llm_key not in str(page), "the model key is in its log")
        after = self.pods.agents.logs(self.id, after=page["cursor"], limit=5)
        expect(not after["gap"], "lines are missing between two pages")

    def back_up(self) -> None:
        """Back its data up, where backups are made: one more entry in the list."""
        try:
            backup = self.pods.backups.create(self.id)
        except ApiError as error:
            if "none are made here" not in error.message:
                raise
            return
        self.backup = backup["name"]
        entries = self.pods.backups.list(self.id)
        expect(backup in entries, f"it is not listed: {entries}")

    def test_webhook(self) -> None:
        """Ask for a test event."""
        delivery = self.pods.webhooks.test(self.id)
        expect(delivery["ok"] is True and delivery["attempts"] == 1, f"not delivered: {delivery}")
        expect(len(self.receiver.of_type("test")) == 1, "it did not arrive")

    def pause(self) -> None:
        """Pause: it stops, and chat is a conflict."""
        self.pods.agents.pause(self.id, wait=60)
        self.wait_for("stopped")
        came(self.receiver, "agent.stopped", {"from": "running", "to": "stopped"})
        refused(lambda: self.pods.agents.chat(self.id, "Still there?"), status=409)

    def resume(self) -> None:
        """Resume: it runs again."""
        self.pods.agents.resume(self.id, wait=60)
        self.wait_for("running")
        came(self.receiver, "agent.running", {"from": "stopped", "to": "running"}, skip=1)

    def rebuild(self) -> None:
        """Rebuild: another pod, the same data."""
        before = self.pods.agents.get(self.id)["dseq"]
        self.pods.agents.rebuild(self.id, wait=60)
        came(self.receiver, "agent.running", {"from": "running", "to": "running"}, skip=2)
        expect(self.wait_for("running")["dseq"] != before, "the pod was not replaced")

    def restore(self) -> None:
        """Restore that backup: a rebuild whose engine starts on the data of then."""
        if self.backup is None:
            return
        self.pods.backups.restore(self.id, self.backup, wait=60)
        came(self.receiver, "agent.running", {"from": "running", "to": "running"}, skip=3)
        expect(self.wait_for("running")["lastBackupAt"] is not None, "it shows no backup")

    def remember(self) -> None:
        """Talk again: the conversation outlived all of it."""
        self.wait_until_serving()
        answer = self.say("And now, which word?", session=self.chat_session)
        expect("heron" in answer["reply"], f"it said {answer['reply']!r}")

    def delete(self) -> None:
        """Delete: gone at once, and the event says so."""
        self.pods.agents.delete(self.id)
        refused(lambda: self.pods.agents.get(self.id), status=404)
        came(self.receiver, "agent.deleted", {"to": "deleted"})
        expect(self.id not in [agent["id"] for agent in self.pods.agents.list()], "it is still listed")

    def check_events(self) -> None:
        """Every event came signed, with its headers, once."""
        counts = {
            "agent.running": 3 if self.backup is None else 4,
            "agent.stopped": 1,
            "payment.confirmed": 2,
            "agent.deleted": 1,
        }
        all_genuine(self.receiver, agent_id=self.id, counts=counts)

    def revoke_key(self) -> None:
        """Revoke the key: it stops working at once."""
        self.account.api.delete_key(self.key_id)
        refusal = refused(lambda: list(self.pods.agents.list()), status=401)
        expect(refusal.message == "Invalid or revoked API key", f"another message: {refusal}")

    def sign_out(self) -> None:
        """Sign out, unless the next run on this machine goes on with the session."""
        if self.kept:
            return
        self.account.api.end_session()
        refused(self.account.api.get_account, status=401)

    # Helpers of the steps.

    def wait_for(self, status: Literal["running", "stopped"], *, seconds: float = SETTLE_SECONDS) -> types.Agent:
        """Wait until the agent has this status. Raises Wrong when the agent fails or does not get there in time."""
        try:
            agent = self.pods.agents.wait(self.id, until=status, seconds=seconds)
        except NotSettledError as error:
            why = self.pods.agents.explain(self.id)
            raise Wrong(f"{error} ({why['cause']}: {why['message']})") from error
        if agent is None:
            raise Wrong("it is deleted")
        self.agent = agent
        return agent

    def wait_until_serving(self) -> None:
        """Wait until the pod serves: after `running` it may still boot for up to three minutes."""
        liveness = None
        for _ in every(ASK_SECONDS, SETTLE_SECONDS):
            liveness = self.pods.api.get_agent_liveness(self.id)["liveness"]
            if liveness == {"reachable": True, "serving": True}:
                return
        raise Wrong(f"it does not serve: {liveness}")

    def say(self, message: str, *, session: str | None = None) -> types.Reply:
        """Send one message. A new key works within 30 seconds, so an empty reply is asked for again."""
        answer = self.pods.agents.chat(self.id, message, session_id=session)
        for _ in every(ASK_SECONDS, 40):
            if answer["reply"]:
                break
            answer = self.pods.agents.chat(self.id, message, session_id=session)
        return answer

    def clean_up(self) -> None:
        """Delete the demo's agents, also after a failure."""
        for agent in filter(None, (self.agent, self.peer.agent)):
            with suppress(AgentpodsError):  # it is deleted already, or the service is gone
                self.pods.agents.delete(agent["id"])
        if self.key_id:
            with suppress(AgentpodsError):
                self.account.api.delete_key(self.key_id)
        self.receiver.shutdown()
        self.receiver.server_close()
