"""A fingerprint of the recorded node, kept where something changed. Runs beside the recorder.

python -m exhume.fleet.recorded DATA --recorder PID
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from exhume.fleet import codec
from exhume.fleet.fingerprint import fingerprint
from exhume.host import Host
from exhume.processes import die_with
from exhume.store import fingerprints


def keep(data: Path, host: Host) -> bool:
    """Whether a new one was written; else the last one is confirmed."""
    found = fingerprint(host)
    stored = fingerprints.stored(data)
    # A clock that was set back must not hide it behind a later one.
    if stored and stored[-1].hash == found.hash and stored[-1].wall_ns <= found.wall_ns:
        fingerprints.confirm(stored[-1], found.wall_ns)
        return False
    fingerprints.write(data, found.wall_ns, found.hash, codec.encode(found))
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--recorder", type=int, required=True, help="ends with this process")
    chosen = parser.parse_args()
    die_with(chosen.recorder)
    os.nice(10)
    keep(chosen.data, Host())


if __name__ == "__main__":
    main()
