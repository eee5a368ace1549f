"""Where the cloud says the node is: IMDSv2, asked only when the user wants it.

A request to a link-local address is still a request: without --cloud nothing leaves this node.
"""

from __future__ import annotations

import http.client
import re
from collections.abc import Callable

from exhume.fleet import scrub
from exhume.fleet.collect.found import Found
from exhume.model.fingerprint import Kind

ADDRESS = "169.254.169.254"
TIMEOUT_SECONDS = 1.0
_TOKEN = "/latest/api/token"
# Path, name and class.
FACTS: tuple[tuple[str, str, Kind], ...] = (
    ("meta-data/ami-id", "ami", "state"),
    ("meta-data/instance-type", "instance type", "state"),
    ("meta-data/placement/availability-zone", "zone", "state"),
    ("meta-data/placement/region", "region", "state"),
    ("meta-data/placement/tenancy", "tenancy", "state"),
    ("meta-data/instance-id", "instance", "identity"),
)
USER_DATA = "user-data"
_PLAIN = re.compile(r"[\w.:/-]{1,100}")

Request = Callable[[str, str, dict[str, str]], "str | None"]
"""Method, path and headers; the body, None for any status but 200."""


def collect(request: Request | None = None) -> Found:
    ask = request or _request
    found = Found()
    try:
        ttl = {"X-aws-ec2-metadata-token-ttl-seconds": "60"}
        token = ask("PUT", _TOKEN, ttl)
        if token is None:
            found.lack("cloud", "no IMDSv2 answers here")
            return found
        headers = {"X-aws-ec2-metadata-token": token}
        for path, name, kind in FACTS:
            text = ask("GET", f"/latest/{path}", headers)
            if text is not None and _PLAIN.fullmatch(text.strip()):
                found.put("cloud", name, text.strip(), kind)
        data = ask("GET", f"/latest/{USER_DATA}", headers)
        found.put("cloud", "user data", "none" if data is None else scrub.text_hash(data))
    except (OSError, http.client.HTTPException) as error:
        found.lack("cloud", f"no instance metadata: {error}")
    return found


def _request(method: str, path: str, headers: dict[str, str]) -> str | None:
    connection = http.client.HTTPConnection(ADDRESS, timeout=TIMEOUT_SECONDS)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        body = answer.read(1 << 20).decode("utf-8", "replace")
        return body if answer.status == 200 else None
    finally:
        connection.close()
