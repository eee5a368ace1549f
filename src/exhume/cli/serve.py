"""Show a recording as a page, on loopback.

One page of everything the other commands show: the cores over time, what happened, and for any
range that you drag over who was on which core, in which functions. Read only. What you see is in
the address, so it can be copied and sent. The questions that the page asks are an HTTP API:
/api/openapi.json describes it. Any address but loopback needs a token (EXHUME_TOKEN) and
--insecure, or a proxy in front that speaks TLS.

/metrics is for Prometheus: docs/metrics.md lists what it has, and --label, or EXHUME_LABELS
(zone=a,pool=gpu), puts labels of the node on all of it.

Examples:
  exhume serve
  exhume serve --data /var/lib/exhume --port 7471
  exhume serve --label zone=a --label pool=gpu
  EXHUME_TOKEN=… exhume serve --address 0.0.0.0 --insecure
"""

from __future__ import annotations

import argparse
import errno
import logging
import os
import socket
from collections.abc import Mapping
from typing import TYPE_CHECKING

from exhume.cli import common
from exhume.cli.safe import printable
from exhume.config import labels_of, parse_labels
from exhume.errors import EXIT_USAGE, ExhumeError

if TYPE_CHECKING:
    import uvicorn
    from starlette.applications import Starlette

DEFAULT_ADDRESS = "127.0.0.1"
DEFAULT_PORT = 7471
_MAX_PORT = 65_535
_WAITING = 2048
"""Connections that may queue, as uvicorn has it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    common.add_data(parser)
    parser.add_argument(
        "--address", default=DEFAULT_ADDRESS, help=f"to listen on (default: {DEFAULT_ADDRESS})"
    )
    parser.add_argument(
        "--port", type=int, default=DEFAULT_PORT,
        help=f"0 for any that is free (default: {DEFAULT_PORT})",
    )  # fmt: skip
    add_labels(parser)
    parser.add_argument("--quiet", action="store_true", help="do not say where the page is")
    parser.add_argument(
        "--insecure", action="store_true", help="allow another address without TLS; needs a token"
    )


def add_labels(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--label", action="append", default=[], metavar="K=V",
        help="on every metric of /metrics, more than once (default: EXHUME_LABELS)",
    )  # fmt: skip


def labels(args: argparse.Namespace) -> Mapping[str, str]:
    """Of the node. A wrong one is told of before anything starts."""
    from exhume.export.metric_list import check_labels

    return check_labels(parse_labels(args.label) if args.label else labels_of(os.environ))


def run(args: argparse.Namespace) -> int:
    from exhume.web.app import make_app
    from exhume.web.page import is_built
    from exhume.web.security import is_loopback

    token = os.environ.get("EXHUME_TOKEN") or None
    if not is_loopback(args.address) and not (args.insecure and token):
        raise ExhumeError(
            f"{args.address} is not loopback: what was recorded would be open to the network",
            todo="set EXHUME_TOKEN and give --insecure, or serve on 127.0.0.1 behind a TLS proxy",
            exit_code=EXIT_USAGE,
        )
    app = make_app(common.data_dir(args), bind=args.address, token=token, labels=labels(args))
    server = server_of(app)
    with listen(args.address, args.port) as listening:
        if not args.quiet:
            print(_welcome(args, listening.getsockname()[1], is_built()), flush=True)
        server.run(sockets=[listening])
    return 0 if server.started else 1


def server_of(app: Starlette) -> uvicorn.Server:
    """Whoever stops it does not want to be told at length what was being answered just then."""
    import uvicorn

    config = uvicorn.Config(
        app, log_level="warning", access_log=False, ws="none", server_header=False,
        timeout_graceful_shutdown=1,
    )  # fmt: skip
    server = uvicorn.Server(config)
    logging.getLogger("uvicorn.error").addFilter(lambda _: not server.should_exit)
    return server


def listen(address: str, port: int) -> socket.socket:
    """Before anybody is told of the address: it may be taken, and of port 0 nobody knows it yet."""
    if not 0 <= port <= _MAX_PORT:
        raise common.usage(f"--port {port} is no port", f"from 0 to {_MAX_PORT}")
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        return socket.create_server((address, port), family=family, backlog=_WAITING)
    except OSError as error:
        is_taken = error.errno == errno.EADDRINUSE
        why = "somebody else does" if is_taken else error.strerror or error
        raise common.usage(
            f"cannot listen on {printable(address)}:{port}: {why}",
            "choose another --port" if is_taken else "choose another --port or --address",
        ) from None


def _welcome(args: argparse.Namespace, port: int, is_built: bool) -> str:
    host = f"[{args.address}]" if ":" in args.address else args.address
    what = "The page" if is_built else "No page was built (see `make page`); the API"
    return f"{what} of {printable(str(common.data_dir(args)))} is at http://{host}:{port}/"
