"""The client for one cluster's API server, with raw JSON. Every call has a time limit, and a server that is down gets
no calls for a while.
The official client handles connections and credentials, and each thread has its own instance. It is imported on first
use, so that processes which use no cluster start without it.
"""

from __future__ import annotations

import http.client
import json
import logging
import re
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import urllib3

from agents.cause import Cause
from agents.clusters.api import credentials, names
from agents.clusters.api.breaker import Breaker
from agents.runtimes.base import RuntimeFailure

if TYPE_CHECKING:
    from kubernetes.client import ApiClient, Configuration

log = logging.getLogger(__name__)

CONNECT_SECONDS = 3.0
CALL_SECONDS = 10.0
WHOLE_FACTOR = 3  # the whole answer may take this many times the limit for one wait
# How long a call waits for another call to end, and how long before it is repeated.
TURN_SECONDS = 5.0
PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 2.0
TRIES = 2
MAX_ANSWER_BYTES = 256 * 2**20

APPLY = "application/apply-patch+yaml"  # JSON is allowed in this type
MERGE = "application/merge-patch+json"
JSON = "application/json"

_PLURALS = {"NetworkPolicy": "networkpolicies", "Ingress": "ingresses"}

Json = dict[str, Any]
T = TypeVar("T")
Stream = Generator[bytes, None, None]  # a caller who stops early must close it


class ClusterFailure(RuntimeFailure):
    """The API server was not reached, or could not answer. It is not known whether it has done anything."""

    def __init__(self, cluster: str, message: str) -> None:
        super().__init__(f"cluster {cluster}: {message}", cause=Cause.CLUSTER)


class ApiRefused(RuntimeFailure):
    """The API server refused the call. The message is its own."""

    def __init__(self, cluster: str, status: int, reason: str, message: str) -> None:
        super().__init__(f"cluster {cluster}: {message}", cause=_CAUSES.get(status, Cause.CLUSTER))
        self.status = status
        self.reason = reason

    @property
    def lacks_rights(self) -> bool:
        """Whether our account lacks the right for this. A refusal by a policy or a quota gives False."""
        return self.status == 403 and _LACKS_RIGHTS.search(str(self)) is not None


_LACKS_RIGHTS = re.compile(r'User ".*" cannot \w+ resource')
_CAUSES = {401: Cause.CREDENTIALS, 403: Cause.FORBIDDEN, 422: Cause.INVALID}


def path_of(manifest: Mapping[str, Any]) -> str:
    """The API path of the object."""
    group, kind = manifest["apiVersion"], manifest["kind"]
    root = f"/apis/{group}" if "/" in group else f"/api/{group}"
    namespace = manifest["metadata"].get("namespace")
    inside = f"/namespaces/{namespace}" if namespace else ""
    return f"{root}{inside}/{_PLURALS.get(kind, kind.lower() + 's')}/{manifest['metadata']['name']}"


class Connection:
    """The connection to one cluster. Threads may share it."""

    def __init__(self, name: str, kubeconfig: str | None, *, calls: int = 8) -> None:
        self.name = name
        self._kubeconfig = kubeconfig
        self._calls = calls
        self._turns = threading.BoundedSemaphore(calls)
        self._breaker = Breaker()
        self._own = threading.local()
        self._clients: list[ApiClient] = []
        self._configuring = threading.Lock()
        self._configured: Configuration | None = None
        self._username: str | None = None
        self._threads: ThreadPoolExecutor | None = None
        self._is_closed = False

    def get(self, path: str, query: Mapping[str, str] | None = None, *, seconds: float = CALL_SECONDS) -> Json:
        """The object or list at this path. Raises Refused (also for status 404) and ClusterFailure."""
        return self._call("GET", path, query, seconds=seconds)

    def find(self, path: str) -> Json | None:
        """The object, or None if it does not exist. Raises Refused, ClusterFailure."""
        try:
            return self.get(path)
        except ApiRefused as refusal:
            if refusal.status == 404:
                return None
            raise

    def post(self, path: str, body: Json) -> Json:
        """Create an object, or call an API that needs POST. Raises Refused, with status 409 if the object exists."""
        return self._call("POST", path, {"fieldManager": names.FIELD_MANAGER}, body=body, content=JSON)

    def apply(self, manifest: Json, *, dry: bool = False) -> Json:
        """Create the object or set the given fields. Fields that others have set stay. `dry`: only check whether this
        would work.
        """
        query = {"fieldManager": names.FIELD_MANAGER, "force": "true", **({"dryRun": "All"} if dry else {})}
        return self._call("PATCH", path_of(manifest), query, body=manifest, content=APPLY)

    def replace(self, manifest: Json) -> Json:
        """Replace the whole object by this one, including fields that others have set."""
        return self._call("PUT", path_of(manifest), {"fieldManager": names.FIELD_MANAGER}, body=manifest, content=JSON)

    def merge(self, path: str, body: Json) -> Json:
        """Change only these fields; null removes a field."""
        return self._call("PATCH", path, {"fieldManager": names.FIELD_MANAGER}, body=body, content=MERGE)

    def delete(self, path: str) -> None:
        """Delete the object. If it does not exist, that is fine."""
        try:
            self._call("DELETE", path, None)
        except ApiRefused as refusal:
            if refusal.status != 404:
                raise

    def at_once(self, calls: Sequence[Callable[[], T]]) -> list[T]:
        """Run these calls at the same time and return their results in the same order. If one fails, its exception is
        raised after all have ended.
        Several failures count as one failure for the breaker, because the calls were made at the same moment.
        """
        try:
            made = [self._pool().submit(self._in_wave, call) for call in calls]
        except RuntimeError as error:  # the pool was shut down by `close`
            raise ClusterFailure(self.name, "the credentials were changed meanwhile") from error
        wait(made)
        if any(isinstance(one.exception(), ClusterFailure) for one in made):
            self._breaker.failed()
        return [one.result() for one in made]

    def _pool(self) -> ThreadPoolExecutor:
        with self._configuring:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(self._calls, thread_name_prefix=f"calls-{self.name}")
            return self._threads

    def _in_wave(self, call: Callable[[], T]) -> T:
        self._own.is_in_wave = True
        return call()

    def _failed(self) -> None:
        if not getattr(self._own, "is_in_wave", False):
            self._breaker.failed()

    def lines(self, path: str, query: Mapping[str, str] | None = None, *, seconds: float) -> Stream:
        """Yield the lines of a stream until it ends. The first line is empty and shows that the stream is open. At most
        `seconds` may pass without a byte.
        Raises Refused and ClusterFailure.
        """
        with self._answer("GET", path, query, seconds=seconds) as answer:
            self._check(answer)
            yield b""
            rest = b""
            try:
                for chunk in answer.stream(2**16, decode_content=True):
                    *whole, rest = (rest + chunk).split(b"\n")
                    yield from whole
            except (urllib3.exceptions.HTTPError, http.client.HTTPException, OSError) as error:
                raise ClusterFailure(self.name, f"the stream broke off ({type(error).__name__})") from error

    def username(self) -> str:
        """The name of our account at the API server. It is asked for only once."""
        if self._username is None:
            review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
            said = self.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", review)
            self._username = str(said["status"]["userInfo"]["username"])
        return self._username

    def bearer(self) -> str | None:
        """Our current token; None for other kinds of credentials."""
        said = self._configuration().get_api_key_with_prefix("BearerToken", alias="authorization")
        # the library writes the scheme before the token, with or without a prefix
        return str(said).split()[-1] if said else None

    def certificate(self) -> tuple[str, str] | None:
        """The files with our certificate and its key; None for other kinds of credentials."""
        found = self._configuration()
        return (found.cert_file, found.key_file) if found.cert_file and found.key_file else None

    def authority(self) -> str | None:
        """The file with the certificate of the cluster's own authority, or None."""
        found: str | None = self._configuration().ssl_ca_cert
        return found

    def close(self) -> None:
        """Close all connections. A call that is made later closes its own connection."""
        with self._configuring:
            self._is_closed = True
            clients, self._clients = self._clients, []
            threads, self._threads = self._threads, None
        if threads:
            threads.shutdown(wait=False)
        for client in clients:
            client.rest_client.pool_manager.clear()

    # Making one call.

    def _call(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        *,
        body: Json | None = None,
        content: str | None = None,
        seconds: float = CALL_SECONDS,
    ) -> Json:
        """Make a call, and repeat it once if the server was too busy or failed. All calls in this module may be made
        twice.
        """
        for left in reversed(range(TRIES)):
            with self._turn():
                found, pause = self._attempt(method, path, query, body=body, content=content, seconds=seconds)
            if found is not None:
                return found
            if left and pause <= LONGEST_PAUSE_SECONDS:
                time.sleep(pause)
        raise ClusterFailure(self.name, f"{method} {path} failed {TRIES} times; the API server is busy or in trouble")

    def _attempt(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        *,
        body: Json | None,
        content: str | None,
        seconds: float,
    ) -> tuple[Json | None, float]:
        """The answer; or None, and the seconds to wait before another try."""
        with self._answer(method, path, query, body=body, content=content, seconds=seconds) as answer:
            if answer.status == 429 or answer.status >= 500:
                log.info("cluster %s answered %s to %s %s", self.name, answer.status, method, path)
                self._failed()
                return None, _pause(answer)
            self._breaker.worked()
            self._check(answer)
            return self._body(answer, until=time.monotonic() + WHOLE_FACTOR * seconds), 0.0

    @contextmanager
    def _turn(self) -> Iterator[None]:
        if not self._breaker.lets_through():
            raise ClusterFailure(self.name, "not called for some seconds, because it did not answer several times")
        if not self._turns.acquire(timeout=TURN_SECONDS):
            raise ClusterFailure(self.name, "too many calls at once")
        try:
            yield
        finally:
            self._turns.release()

    @contextmanager
    def _answer(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        *,
        body: Json | None = None,
        content: str | None = None,
        seconds: float,
    ) -> Iterator[urllib3.BaseHTTPResponse]:
        client = self._client()
        _, url, headers, *_ = client.param_serialize(
            method,
            path,
            query_params=list((query or {}).items()),
            header_params={"Accept": JSON, **({"Content-Type": content} if content else {})},
            auth_settings=["BearerToken"],
        )
        data = json.dumps(body).encode() if body is not None else None
        timeout = urllib3.Timeout(connect=CONNECT_SECONDS, read=seconds)
        try:
            answer = client.rest_client.pool_manager.request(
                method, url, body=data, headers=headers, timeout=timeout, preload_content=False, retries=False
            )
        except (urllib3.exceptions.HTTPError, http.client.HTTPException, OSError) as error:
            self._failed()
            raise ClusterFailure(self.name, f"{method} {path} was not answered ({type(error).__name__})") from error
        whole = False
        try:
            yield answer
            whole = answer.length_remaining == 0
        finally:
            # The unread rest of an answer must not be taken for the next answer.
            answer.release_conn() if whole else answer.close()
            if self._is_closed:
                client.rest_client.pool_manager.clear()

    def _check(self, answer: urllib3.BaseHTTPResponse) -> None:
        if answer.status < 300:
            return
        raw = answer.read(2**16)
        try:
            said = json.loads(raw)
            reason, message = str(said.get("reason") or ""), str(said["message"])
        except (ValueError, KeyError, AttributeError):
            reason, message = "", f"it answered {answer.status}"
        raise ApiRefused(self.name, answer.status, reason, message)

    def _body(self, answer: urllib3.BaseHTTPResponse, *, until: float) -> Json:
        """The JSON body of the answer. It has a time limit, also for a body that arrives byte by byte."""
        raw = bytearray()
        try:
            while chunk := answer.read1(2**16):
                raw += chunk
                if time.monotonic() > until or len(raw) > MAX_ANSWER_BYTES:
                    raise ClusterFailure(self.name, f"the answer did not end, after {len(raw)} bytes")
            body = json.loads(bytes(raw))
        except (urllib3.exceptions.HTTPError, http.client.HTTPException, OSError, ValueError) as error:
            raise ClusterFailure(self.name, f"the answer broke off ({type(error).__name__})") from error
        if not isinstance(body, dict):
            raise ClusterFailure(self.name, "the answer is not an object")
        return body

    # Using the official client.

    def _client(self) -> ApiClient:
        client: ApiClient | None = getattr(self._own, "client", None)
        if client is None:
            made: ApiClient = credentials.official_client().client.ApiClient(self._configuration())
            client = self._own.client = made
            with self._configuring:
                self._clients.append(client)
        return client

    def _configuration(self) -> Configuration:
        with self._configuring:
            if self._configured is None:
                try:
                    self._configured = credentials.configuration(self._kubeconfig)
                except ValueError as error:
                    raise ClusterFailure(self.name, f"its kubeconfig cannot be used ({error})") from error
            return self._configured


def _pause(answer: urllib3.BaseHTTPResponse) -> float:
    """The pause in seconds that the server asks for, else PAUSE_SECONDS."""
    try:
        return float(answer.headers.get("Retry-After", PAUSE_SECONDS))
    except ValueError:
        return PAUSE_SECONDS
