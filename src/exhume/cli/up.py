"""Record this node, and say where to look.

Keeps the recorder and a read-only server on loopback running, each a process of its own, and
starts them again should they die. Takes the options of `exhume record`, which is the recorder
without a page. Ctrl-C stops everything within two seconds.

Examples:
  exhume up
  exhume up --data /tmp/exhume --keep 3h
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
from pathlib import Path

from exhume.cli import common, record, serve

_OPTIONS = ("hz", "keep", "max_bytes", "max_pinned_bytes", "budget", "segment", "signatures")
_SWITCHES = ("no_samples", "trust_user_kmsg")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    record.add_arguments(parser)
    serve.add_labels(parser)
    parser.add_argument(
        "--port", type=int, default=serve.DEFAULT_PORT,
        help="of the server on loopback; 0 for any that is free "
        f"(default: {serve.DEFAULT_PORT})",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    from exhume.record.lock import refuse_second
    from exhume.record.supervise import Child, supervise

    record.settings(args)  # a wrong option should fail here, not in the child
    serve.labels(args)
    data = common.data_dir(args)
    refuse_second(data)  # before we say that all is well
    with serve.listen(serve.DEFAULT_ADDRESS, args.port) as tried:
        port = tried.getsockname()[1]  # one for good: the server may be started again
    children = [
        Child("recorder", _recorder(args)),
        Child("server", _server(args, port), is_vital=False),
    ]
    print(welcome(str(data), args.data is not None, port), flush=True)
    return supervise(children, lambda line: print(f"exhume: {line}", file=sys.stderr))


def _server(args: argparse.Namespace, port: int) -> list[str]:
    command = [sys.executable, "-m", "exhume", "serve", "--quiet", "--port", str(port)]
    command += ["--data", str(common.data_dir(args))]
    return command + [f"--label={label}" for label in args.label]


def _recorder(args: argparse.Namespace) -> list[str]:
    command = [sys.executable, "-m", "exhume", "record", "--data", str(common.data_dir(args))]
    for name in _OPTIONS:
        value = getattr(args, name)
        if value is not None:
            command += [f"--{name.replace('_', '-')}", str(value)]
    for path in args.follow:
        command += ["--follow", str(path)]
    return command + [f"--{name.replace('_', '-')}" for name in _SWITCHES if getattr(args, name)]


def welcome(data: str, is_chosen: bool, port: int) -> str:
    where = f" --data {shlex.quote(data)}" if is_chosen else ""
    address = f"http://{serve.DEFAULT_ADDRESS}:{port}/"
    return "\n".join(
        (
            f"exhume records this node into {data}. Ctrl-C stops it.",
            f"The page: {address}",
            "From another terminal:",
            *_path_hint(),
            f"  exhume status{where}                      what is recorded, and what that costs",
            f"  exhume cores{where} --last 10m            which cores were busy when",
            f"  exhume top{where} --last 30s              who was on them, in which functions",
            f"  exhume flame{where} --last 30s --core 0   the call tree of one core",
        )
    )


def _path_hint() -> tuple[str, ...]:
    """Nothing where `exhume` is found as it is; in a virtual environment it mostly is not."""
    own = Path(sys.executable).parent
    found = shutil.which("exhume")
    if (found and Path(found).parent.samefile(own)) or not (own / "exhume").exists():
        return ()
    return (f'  export PATH="$PATH:"{shlex.quote(str(own))}',)
