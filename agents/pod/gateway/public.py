"""The pod's public listener: a health check for the platform, and the page for its owner. While the engine is not
ready, all other requests get 503.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from aiohttp import web

from agents.pod.gateway import chat, pages
from agents.pod.gateway.a2a.endpoint import CARD_PATHS, A2a
from agents.pod.gateway.a2a.tasks import Tasks
from agents.pod.gateway.answers import Handler, Refusal, error_json, errors, read_form
from agents.pod.gateway.bridge import Bridge, BridgeState
from agents.pod.gateway.dashboard import DashboardProxy
from agents.pod.gateway.languages import preferred
from agents.pod.gateway.pod import Pod
from agents.pod.gateway.sessions import SESSION_SECONDS, Sessions, TooManyTries, has_password
from agents.pod.gateway.turns import GatewayTurns
from agents.pod.states import STATE_HEADER, AgentState
from agents.pod.tickets import InvalidTicket
from agents.runtimes.base import Phase

FORM_BYTES = 16 * 1024


class PageRefusal(Refusal):
    """A refusal that browsers see as a page with its own text."""

    def __init__(self, status: int, message: str, *, page: str) -> None:
        super().__init__(status, message)
        self.page = page


class Public:
    def __init__(
        self, pod: Pod, bridge: Bridge, turns: GatewayTurns, tasks: Tasks, dashboard: DashboardProxy | None
    ) -> None:
        self._pod = pod
        self._bridge = bridge
        self._turns = turns
        self._dashboard = dashboard
        self._sessions = Sessions(pod)
        self._a2a = A2a(pod, tasks)

    def app(self) -> web.Application:
        app = web.Application(middlewares=[errors(self._refused), self._only_when_ready], client_max_size=FORM_BYTES)
        app.on_response_prepare.append(_secure)
        app.router.add_get("/healthz", self.healthz)
        app.router.add_get("/ticket", self.ticket, allow_head=False)
        app.router.add_get("/login", self.login_form)
        app.router.add_post("/login", self.login)
        app.router.add_post("/logout", self.logout)
        app.router.add_get("/", self.page)
        app.router.add_get("/assets/{name}", self.asset)
        app.router.add_get("/state", self.state)
        app.router.add_post("/chat", self.chat)
        self._a2a.route(app)
        if self._dashboard:
            app.on_shutdown.append(self._dashboard.end)
            app.router.add_get("/dashboard", self.dashboard, allow_head=False)
            app.router.add_route("*", "/{path:.*}", self.engines_page)
        return app

    @web.middleware
    async def _only_when_ready(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path != "/healthz":
            state = await self._bridge.state()
            if state is None or not state.ready:
                wait = str(pages.LOOK_AGAIN_SECONDS)
                why = _state_of(state)
                raise Refusal(503, "the agent's engine is not ready", Retry_After=wait, Agent_State=why)
        return await handler(request)

    def _refused(self, request: web.Request, refusal: Refusal) -> web.Response:
        """A page for browsers, and for requests for a missing agent card; JSON for programs."""
        is_browser = "text/html" in request.headers.get("Accept", "")
        if request.path not in CARD_PATHS and not is_browser:
            return error_json(request, refusal)
        lang = self._lang(request) if is_browser else self._pod.config.lang
        waits = "failing" if refusal.headers.get(STATE_HEADER) == AgentState.FAILING else "starting"
        named = {503: waits, 404: "missing"}.get(refusal.status, "refused")
        page = refusal.page if isinstance(refusal, PageRefusal) else named
        text = refusal.message if page == "refused" else ""
        response = pages.notice(self._pod, lang, refusal.status, page, text=text)
        response.headers.update(refusal.headers)
        return response

    async def healthz(self, _: web.Request) -> web.Response:
        """The gateway is alive. The engine's state does not matter here."""
        return web.json_response({"status": "ok"})

    async def ticket(self, request: web.Request) -> web.Response:
        try:
            token = self._sessions.open_by_ticket(request.query.get("t", ""))
        except InvalidTicket as error:
            raise PageRefusal(403, "the link was used or is too old; ask for a new one", page="ticket") from error
        return self._signed_in(token)

    async def login_form(self, request: web.Request) -> web.Response:
        if not has_password(self._pod):
            raise self._closed()
        return pages.login(self._pod, self._lang(request))

    async def login(self, request: web.Request) -> web.Response:
        self._check_origin(request)
        if not has_password(self._pod):
            raise self._closed()
        form = await read_form(request, FORM_BYTES)
        try:
            token = self._sessions.open_by_password(form.get("username", ""), form.get("password", ""))
        except TooManyTries as error:
            response = pages.login(self._pod, self._lang(request), status=429, problem="login_wait")
            response.headers["Retry-After"] = str(error.retry_after)
            return response
        landing = "/dashboard" if self._page_of_the_engine else "/"
        if not token:
            return pages.login(self._pod, self._lang(request), status=401, problem="login_wrong")
        return self._signed_in(token, to=landing)

    async def logout(self, request: web.Request) -> web.Response:
        self._check_origin(request)
        self._sessions.close(request.cookies.get(self._cookie, ""))
        response = web.Response(status=303, headers={"Location": "/"})
        response.del_cookie(self._cookie, path="/", secure=self._secure, httponly=True, samesite="Lax")
        return response

    async def page(self, request: web.Request) -> web.Response:
        if closed := self._door(request):
            return closed
        is_owner = self._sessions.is_owner(request.cookies.get(self._cookie, ""))
        with_dashboard = self._page_of_the_engine is not None
        return pages.chat(self._pod, self._lang(request), with_dashboard=with_dashboard, is_owner=is_owner)

    async def dashboard(self, request: web.Request) -> web.Response:
        """Redirect to the entry of the engine's own page."""
        if closed := self._door(request):
            return closed
        if (page := self._page_of_the_engine) is None:
            raise web.HTTPNotFound
        return web.Response(status=303, headers={"Location": await page.entry()})

    async def engines_page(self, request: web.Request) -> web.StreamResponse:
        """All paths that the gateway does not use itself. Strangers get only the paths that the engine makes public."""
        page = self._page_of_the_engine
        if page and page.is_public(request.path):
            return await page.pass_on_stranger(request)
        if page is None or not self._is_signed_in(request):
            raise web.HTTPNotFound
        is_socket = request.headers.get("Upgrade", "").lower() == "websocket"
        if is_socket or request.method not in {"GET", "HEAD"}:
            self._check_origin(request)
        if is_socket:
            return await page.pass_on_socket(request, may_stay=lambda: self._is_signed_in(request))
        return await page.pass_on(request)

    @property
    def _page_of_the_engine(self) -> DashboardProxy | None:
        """The current page, or None: the owner may have set or removed its credentials."""
        return self._dashboard if self._dashboard and self._dashboard.is_open else None

    def _door(self, request: web.Request) -> web.Response | None:
        """None if the visitor is signed in; else a redirect to the sign-in form. Raises Notice if there
        is no password.
        """
        if self._is_signed_in(request):
            return None
        if has_password(self._pod):
            return web.Response(status=303, headers={"Location": "/login"})
        raise self._closed()

    async def asset(self, request: web.Request) -> web.StreamResponse:
        """Public, like any stylesheet. Browsers check the ETag each time, because the files are small."""
        asset = pages.assets().get(request.match_info["name"])
        if asset is None:
            return await self.engines_page(request)
        headers = {"ETag": f'"{asset.etag}"', "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
        if f'"{asset.etag}"' in request.headers.get("If-None-Match", ""):
            return web.Response(status=304, headers=headers)
        body = asset.body
        if "gzip" in request.headers.get("Accept-Encoding", ""):
            body, headers["Content-Encoding"] = asset.packed, "gzip"
        return web.Response(body=body, content_type=asset.content_type, charset="utf-8", headers=headers)

    async def state(self, request: web.Request) -> web.Response:
        self._check_signed_in(request)
        return web.json_response({"ready": True, "has_key": self._pod.has_key})

    async def chat(self, request: web.Request) -> web.StreamResponse:
        self._check_origin(request)
        self._check_signed_in(request)
        return await chat.answer(request, self._turns)

    def _lang(self, request: web.Request) -> str:
        """The language that the browser asks for; else the agent's language."""
        return preferred(request, otherwise=self._pod.config.lang)

    @property
    def _secure(self) -> bool:
        return (self._pod.start.public_url or "").startswith("https://")

    @property
    def _cookie(self) -> str:
        """The cookie's name. On loopback all pods share one cookie jar, whatever their ports, so the name contains the
        pod's namespace.
        """
        return "__Host-agent" if self._secure else f"agent-{self._pod.start.namespace}"

    def _signed_in(self, token: str, *, to: str = "/") -> web.Response:
        response = web.Response(status=303, headers={"Location": to})
        response.set_cookie(
            self._cookie, token, path="/", max_age=SESSION_SECONDS, secure=self._secure, httponly=True, samesite="Lax"
        )
        return response

    def _is_signed_in(self, request: web.Request) -> bool:
        return self._sessions.knows(request.cookies.get(self._cookie, ""))

    def _check_signed_in(self, request: web.Request) -> None:
        if not self._is_signed_in(request):
            raise self._closed()

    def _check_origin(self, request: web.Request) -> None:
        """Refuse requests from other sites. Browsers send the cookie with top-level requests of any site, so a change
        must come from our own page.
        """
        origin = urlsplit(request.headers.get("Origin", "")).netloc
        own = {request.headers.get("Host", ""), urlsplit(self._pod.start.public_url or "").netloc}
        if not origin or origin not in own:
            raise Refusal(403, "Origin: only the agent's own page may do this")

    def _closed(self) -> PageRefusal:
        return PageRefusal(403, "sign in with a link from the console first", page="closed")


def _state_of(state: BridgeState | None) -> AgentState:
    """The state that is shown for an engine that is not ready."""
    if state is not None and state.phase in {Phase.INSTALLING, Phase.STARTING} and not state.restarts:
        return AgentState.STARTING
    return AgentState.FAILING if state is not None and state.phase == Phase.FAILED else AgentState.RESTARTING


async def _secure(_: web.Request, response: web.StreamResponse) -> None:
    for name, value in pages.SECURITY_HEADERS.items():
        response.headers.setdefault(name, value)
