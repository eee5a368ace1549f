"""The built page: a few files that are read once, so that no path from outside reaches the disk."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

_TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
}
_FOR_EVER = "public, max-age=31536000, immutable"
_NOT_BUILT = """exhume answers questions here; the page itself was not built.

  make setup      builds it (needs Node.js 20.19 or newer, with npm)
  /api/openapi.json   describes the questions that are answered without it
"""


def is_built() -> bool:
    return (_static() / "index.html").is_file()


def routes() -> list[Route]:
    """One a file. Names of assets hold a hash of their content, so they may be kept for ever."""
    if not is_built():
        return [Route("/", _not_built)]
    found = [_route("/", _static() / "index.html", "no-cache")]
    assets = _static() / "assets"
    found += [
        _route(f"/assets/{entry.name}", entry, _FOR_EVER)
        for entry in (assets.iterdir() if assets.is_dir() else ())
        if entry.name.rpartition(".")[2] in _TYPES
    ]
    if (icon := _static() / "icon.svg").is_file():
        found.append(_route("/icon.svg", icon, "no-cache"))
    return found


async def _not_built(_: Request) -> Response:
    return Response(_NOT_BUILT, media_type="text/plain")


def _static() -> Traversable:
    return files("exhume.web") / "static"


def _route(path: str, file: Traversable, keep: str) -> Route:
    content, kind = file.read_bytes(), _TYPES[file.name.rpartition(".")[2]]

    async def send(_: Request) -> Response:
        return Response(content, media_type=kind, headers={"cache-control": keep})

    return Route(path, send, methods=["GET"])
