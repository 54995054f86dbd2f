"""The server of `soffit app`: loopback only, one page, a token for every request."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import socket
from collections.abc import AsyncIterator
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any

from soffit.app.view import Unknown, View
from soffit.report.html import text

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

HOST = "127.0.0.1"
_TOKEN = "x-soffit-token"
# Longest request: a selection of a million objects as numbers.
_LARGEST_BODY = 2**24
_SCRIPTS = ("scatter.js", "explorer.js", "http.js")
_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
# Seconds between looks for news, and between signs of life for the browser.
_LOOK = 0.1
_ALIVE = 15.0


def asset(name: str) -> str:
    """A file of the page."""
    return files("soffit.app").joinpath(name).read_text(encoding="utf-8")


def page(title: str) -> tuple[str, str]:
    """The document, and the policy that lets only its own script run."""
    nonce = secrets.token_urlsafe(18)
    content = Template(asset("page.html")).substitute(
        title=text(title),
        nonce=nonce,
        style=asset("style.css"),
        script="\n".join(asset(name) for name in _SCRIPTS),
    )
    policy = (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; "
        "img-src 'self' blob: data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )
    return content, policy


class Guard:
    """Lets a request pass if it names this server, comes from its own page and has the token.

    The checks of Host and Origin keep out pages of other sites, also by DNS rebinding; the token
    keeps out other programs and users of the machine.
    """

    def __init__(self, app: Any, token: str, port: int) -> None:
        self._app, self._token = app, token
        self._hosts = {f"{name}:{port}" for name in (HOST, "localhost")}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        from starlette.requests import Request
        from starlette.responses import PlainTextResponse

        request = Request(scope)
        reason = self._refusal(request)
        if reason:
            await PlainTextResponse(reason, 403, headers=_HEADERS)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _refusal(self, request: Request) -> str:
        """Why a request is refused; empty if it is not."""
        if request.headers.get("host", "") not in self._hosts:
            return "This address is not served here."
        origin = request.headers.get("origin")
        if origin is not None and origin not in {f"http://{host}" for host in self._hosts}:
            return "Requests from other sites are refused."
        if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return "Requests from other sites are refused."
        # A step is only taken with the header, which no other site can set; an address may be seen.
        given = request.headers.get(_TOKEN, "")
        if not given and request.method == "GET":
            given = request.query_params.get("token", "")
        if not secrets.compare_digest(given.encode(), self._token.encode()):
            return "The address lacks the token. Open the address that soffit app has printed."
        return ""


def make_server(view: View, token: str, port: int) -> Any:
    """The application, guarded."""
    from starlette.applications import Starlette
    from starlette.routing import Route

    def route(path: str, answer: Any, method: str = "GET") -> Route:
        async def endpoint(request: Request) -> Response:
            found: Response = await answer(view, request)
            return found

        return Route(path, endpoint, methods=[method])

    app = Starlette(
        routes=[
            route("/", _page),
            route("/events", _events),
            route("/get/{what}", _get),
            route("/file/{name}", _file),
            route("/do/{step}", _do, "POST"),
        ]
    )
    return Guard(app, token, port)


async def _page(view: View, _: Request) -> Response:
    from starlette.responses import HTMLResponse

    content, policy = page(view.title)
    return HTMLResponse(content, headers=_HEADERS | {"Content-Security-Policy": policy})


async def _get(view: View, request: Request) -> Response:
    from starlette.concurrency import run_in_threadpool
    from starlette.responses import Response

    what, given = request.path_params["what"], dict(request.query_params)
    try:
        found = await run_in_threadpool(view.get, what, given)
    except Unknown as error:
        return _answer({"error": str(error)}, 404)
    if isinstance(found, bytes):
        kind = view.picture_type(given) if what == "picture" else "application/octet-stream"
        return Response(found, media_type=kind, headers=_HEADERS)
    return _answer(found)


async def _do(view: View, request: Request) -> Response:
    from starlette.concurrency import run_in_threadpool

    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _LARGEST_BODY:
            return _answer({"error": "The request is too large. Select fewer objects."}, 413)
    try:
        given = json.loads(body or b"{}")
        if not isinstance(given, dict):
            raise ValueError("The request must be a JSON object.")
        found = await run_in_threadpool(view.do, request.path_params["step"], given)
    except Unknown as error:
        return _answer({"error": str(error)}, 404)
    except (ValueError, OSError) as error:
        return _answer({"error": str(error)}, 400)
    return _answer(found)


async def _file(view: View, request: Request) -> Response:
    from starlette.responses import FileResponse

    try:
        path = view.file(request.path_params["name"])
    except Unknown as error:
        return _answer({"error": str(error)}, 404)
    return FileResponse(path, filename=path.name, headers=_HEADERS)


async def _events(view: View, request: Request) -> Response:
    from starlette.responses import StreamingResponse

    async def news() -> AsyncIterator[str]:
        told, quiet = -1, 0.0
        while not await request.is_disconnected():
            worker = view.worker
            if worker.sequence != told:
                told, quiet = worker.sequence, 0.0
                said = {
                    "sequence": told,
                    "version": view.outcome.version,
                    "busy": worker.is_busy,
                    "phase": worker.phase,
                    "error": worker.error,
                }
                yield f"data: {json.dumps(said)}\n\n"
            elif quiet >= _ALIVE:
                quiet = 0.0
                yield ": still here\n\n"
            await asyncio.sleep(_LOOK)
            quiet += _LOOK

    return StreamingResponse(news(), media_type="text/event-stream", headers=_HEADERS)


def _answer(value: dict[str, Any], code: int = 200) -> Response:
    from starlette.responses import Response

    content = json.dumps(value, allow_nan=False)
    return Response(content, code, media_type="application/json", headers=_HEADERS)


def listening(port: int) -> socket.socket:
    """A socket on the loopback address; port 0 takes any that is free.

    It listens already: a browser that is told the address at once waits, and is not refused.
    """
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((HOST, port))
        sock.listen()
    except OSError as error:
        sock.close()
        raise ValueError(
            f"Port {port} of {HOST} cannot be used ({error.strerror}). Pass another --port, or "
            "leave it out."
        ) from None
    return sock


def serve(view: View, sock: socket.socket, token: str) -> None:
    """Serve until Ctrl-C."""
    import uvicorn

    app = make_server(view, token, sock.getsockname()[1])
    config = uvicorn.Config(
        app,
        log_level="error",
        access_log=False,
        server_header=False,
        lifespan="off",
        timeout_graceful_shutdown=1,
    )
    # uvicorn stops at Ctrl-C and then raises it again; this is how the app is meant to end.
    with contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[sock])
