"""Answer questions about a recording over HTTP, on loopback.

A read-only JSON API over what the other commands show; GET / lists the questions. Any address
but loopback needs a token (EXHUME_TOKEN) and --insecure, or a proxy in front that speaks TLS.

Examples:
  exhume serve
  exhume serve --data /var/lib/exhume --port 7471
  EXHUME_TOKEN=… exhume serve --address 0.0.0.0 --insecure
"""

from __future__ import annotations

import argparse
import os

from exhume.cli import common
from exhume.errors import EXIT_USAGE, ExhumeError

DEFAULT_ADDRESS = "127.0.0.1"
DEFAULT_PORT = 7471


def add_arguments(parser: argparse.ArgumentParser) -> None:
    common.add_data(parser)
    parser.add_argument("--address", default=DEFAULT_ADDRESS, help=f"default: {DEFAULT_ADDRESS}")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help=f"default: {DEFAULT_PORT}")
    parser.add_argument(
        "--insecure", action="store_true", help="allow another address without TLS; needs a token"
    )


def run(args: argparse.Namespace) -> int:
    import uvicorn

    from exhume.web.app import make_app
    from exhume.web.security import is_loopback

    token = os.environ.get("EXHUME_TOKEN") or None
    if not is_loopback(args.address) and not (args.insecure and token):
        raise ExhumeError(
            f"{args.address} is not loopback: what was recorded would be open to the network",
            todo="set EXHUME_TOKEN and give --insecure, or serve on 127.0.0.1 behind a TLS proxy",
            exit_code=EXIT_USAGE,
        )
    app = make_app(common.data_dir(args), bind=args.address, token=token)
    config = uvicorn.Config(
        app, host=args.address, port=args.port, log_level="warning", access_log=False, ws="none",
        server_header=False, timeout_graceful_shutdown=1,
    )  # fmt: skip
    server = uvicorn.Server(config)
    try:
        server.run()
    except SystemExit:  # uvicorn's way to say that it could not start
        raise ExhumeError(
            f"cannot listen on {args.address}:{args.port}",
            todo="somebody else does? choose another --port",
            exit_code=EXIT_USAGE,
        ) from None
    return 0 if server.started else 1
