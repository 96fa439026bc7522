"""The API server: identifies the caller, applies the test's faults, and passes the request on."""

from __future__ import annotations

import random
import ssl
import threading
import time
from collections.abc import Callable
from typing import Any

from tests.doubles.kube import discovery, reviews, watch
from tests.doubles.kube.access import user
from tests.doubles.kube.api import Api, ApiRequest
from tests.doubles.kube.failures import Failure, expired, no_such_path, not_found
from tests.doubles.kube.https import KubeExchange, KubeHttps
from tests.doubles.kube.resources import BY_KIND, ResourceTarget, target
from tests.doubles.kube.selectors import selector
from tests.doubles.kube.trouble import Troubles
from tests.doubles.kube.watch import WatchDouble, Watches

Proxy = Callable[[str, str], Any]  # arguments: a node's name and a path of its kubelet


class Server:
    def __init__(self, api: Api, troubles: Troubles, watches: Watches, tls: ssl.SSLContext, proxy: Proxy) -> None:
        self.requests = self.writes = 0
        self._api, self._troubles, self._watches = api, troubles, watches
        self._tls, self._proxy = tls, proxy
        self._counting = threading.Lock()
        self.port = 0
        self._https: KubeHttps | None = None

    def start(self) -> None:
        self._troubles.stopping.clear()
        self._https = KubeHttps(self.port, self._tls, self._respond)
        self.port = self._https.port
        self._https.start()

    def stop(self) -> None:
        if self._https:
            self._troubles.stopping.set()
            self._watches.cut(silently=False)
            self._https.close()
            self._https = None

    def _respond(self, exchange: KubeExchange) -> None:
        with self._counting:
            self.requests += 1
            self.writes += exchange.command != "GET"
        try:
            self._troubles.meet(exchange.command, exchange.path)
            account = self._api.access.account(exchange.headers.get("Authorization"), exchange.certified)
            self._answer(exchange, account)
        except Failure as failure:
            exchange.answer(failure.code, failure.status, retry_after=failure.retry_after)

    def _answer(self, exchange: KubeExchange, account: str) -> None:
        found = target(exchange.route)
        if found is None:
            self._answer_about_itself(exchange, account)
            return
        request = ApiRequest(
            exchange.command,
            found,
            exchange.query,
            exchange.headers.get_content_type(),
            exchange.headers.get("Accept", ""),
            exchange.headers.get("User-Agent", ""),
            exchange.body,
        )
        if request.verb() == "watch":
            self._watch(exchange, request, account)
        elif found.subresource == "proxy":
            self._answer_by_kubelet(exchange, found, account)
        else:
            exchange.answer(*self._api.answer(request, account))

    def _answer_about_itself(self, exchange: KubeExchange, account: str) -> None:
        if exchange.command == "POST" and (review := reviews.answer(exchange.route, self._api.access, account)):
            exchange.answer(201, review(exchange.body))
            return
        if exchange.command != "GET":
            raise Failure(403, f'forbidden: User "{user(account)}" cannot {exchange.command} path "{exchange.route}"')
        if exchange.route in discovery.HEALTH:
            exchange.answer(200, b"ok")
            return
        document = discovery.document(exchange.route)
        if document is None:
            raise no_such_path()
        exchange.answer(200, document)

    def _answer_by_kubelet(self, exchange: KubeExchange, asked: ResourceTarget, account: str) -> None:
        self._api.access.check(account, "get", asked)
        self._api.judge(account, asked)("CONNECT", {"kind": "NodeProxyOptions", "path": f"/{asked.rest}"}, None)
        if self._api.registry.store.get("Node", "", asked.name) is None:
            raise not_found(BY_KIND["Node"], asked.name)
        exchange.answer(200, self._proxy(asked.name, f"/{asked.rest}"))

    def _watch(self, exchange: KubeExchange, request: ApiRequest, account: str) -> None:
        asked, query = request.target, request.query
        self._api.access.check(account, "watch", asked)
        if query.get("sendInitialEvents"):
            raise Failure(422, "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch")
        fields = query.get("fieldSelector", "")
        if asked.name:
            fields = f"metadata.name={asked.name},{fields}"
        wanted = selector(asked.resource.kind, query.get("labelSelector", ""), fields)
        seconds = float(query.get("timeoutSeconds") or random.uniform(1800, 3600))
        since, first = self._since(request, wanted)
        stream = WatchDouble(
            resource=asked.resource,
            namespace=asked.namespace,
            wanted=wanted,
            since=since,
            until=time.monotonic() + seconds,
            is_left=exchange.is_left,
            bookmarks=query.get("allowWatchBookmarks") in {"true", "1", "True"},
        )
        exchange.begin_stream()
        if first:
            exchange.send_chunk(first)
        if self._watches.serve(stream, exchange.send_chunk):
            exchange.send_chunk(b"")
        else:
            exchange.close_connection = True

    def _since(self, request: ApiRequest, wanted: Callable[[Any], bool]) -> tuple[int, bytes]:
        """The version from which a watch starts, and the first bytes to send."""
        store = self._api.registry.store
        with store.changed:
            asked = request.query.get("resourceVersion", "")
            if not asked.isdigit() and asked:
                raise Failure(400, f"invalid resource version {asked!r}")
            if asked not in ("", "0"):
                if int(asked) < store.oldest and not self._watches.expires_by_event:
                    raise expired(int(asked), store.oldest)
                return int(asked), b""
            found = store.all(request.target.resource.kind, request.target.namespace)
            return store.version, watch.initial([obj for obj in found if wanted(obj)])
