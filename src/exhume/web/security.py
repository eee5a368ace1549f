"""Who may ask: by the Host header (DNS rebinding), and by a token anywhere but on loopback."""

from __future__ import annotations

import hmac
import ipaddress

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS = {
    # No inline script or style, no other host, and no way from a string to markup or code: a
    # process name stays text even where the page should make a mistake.
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' blob:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; "
    "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
RECORDED = ("/api/", "/metrics")
"""Paths that tell of what was recorded."""
LOOPBACK_NAMES = {"localhost"}


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host in LOOPBACK_NAMES


class Guard:
    """Only GET and HEAD, only by a host name of ours, only with the token where one is set."""

    def __init__(self, app: ASGIApp, *, bind: str, token: str | None) -> None:
        self._app = app
        self._bind = bind
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope["method"], scope["path"], Headers(scope=scope))
        if refusal is not None:
            refusal.headers.update(HEADERS)
            await refusal(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {name for name, _ in message["headers"]}
                added = [
                    (name.encode(), value.encode())
                    for name, value in HEADERS.items()
                    if name.encode() not in own
                ]
                message["headers"] = [*message["headers"], *added]
            await send(message)

        await self._app(scope, receive, with_headers)

    def _refusal(self, method: str, path: str, headers: Headers) -> JSONResponse | None:
        if method not in ("GET", "HEAD"):
            return JSONResponse({"error": "this server only answers questions"}, 405)
        if not self._is_our_name(headers.get("host", "")):
            return JSONResponse({"error": "this server does not go by that host name"}, 421)
        # The page itself holds nothing that was recorded; it asks for the token when it needs it.
        if self._token is not None and path.startswith(RECORDED):
            given = headers.get("authorization", "").removeprefix("Bearer ")
            if not hmac.compare_digest(given.encode(), self._token.encode()):
                todo = "send the header `Authorization: Bearer TOKEN`"
                return JSONResponse({"error": "a token is needed", "todo": todo}, 401)
        return None

    def _is_our_name(self, host_header: str) -> bool:
        name = host_header.rsplit(":", 1)[0] if not host_header.endswith("]") else host_header
        if self._token is not None:
            return True  # who knows the token may come by any name
        return is_loopback(name) or name == self._bind
