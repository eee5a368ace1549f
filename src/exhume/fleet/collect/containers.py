"""Images of the containers that run, and the runtime's version.

Only what the list of containers says: their environment and arguments are never asked for.
"""

from __future__ import annotations

import json
import re

from exhume.errors import ParseError
from exhume.fleet import scrub
from exhume.fleet.collect.found import Found
from exhume.host import Host
from exhume.model.container import Container
from exhume.sources import cri, docker

_DIGEST = re.compile(r"(?:sha256:)?([0-9a-f]{64})")


def collect(host: Host) -> Found:
    found = Found()
    containers: dict[str, Container] = {}
    digests: dict[str, str] = {}
    asked = False
    for name, read in (("CRI", cri.read), ("Docker", docker.read)):
        try:
            listed = read(host)
        except (OSError, ParseError) as error:
            found.lack("image", f"{name} does not answer: {error}")
            continue
        if listed is not None:
            asked = True
            containers.update((one.id, one) for one in listed)
    path = docker.socket_of(host)
    if path is not None and "image" not in found.missing:
        try:
            digests = parse_images(docker.get(path, "/images/json?digests=1"))
        except (OSError, ParseError) as error:
            found.lack("image", f"Docker does not answer: {error}")
    if asked and "image" not in found.missing:
        found.area("image")
        for one in containers.values():
            if one.state in ("running", "restarting", "created"):
                name = image_name(one.image)
                found.put("image", name, digests.get(one.image, "runs"), "state")
    return found


def image_name(image: str) -> str:
    """Without the digest, and without whoever may pull it."""
    if _DIGEST.fullmatch(image):
        return f"sha256:{_DIGEST.fullmatch(image)[1][:12]}"  # type: ignore[index]
    return scrub.without_users(re.sub(r"@sha256:[0-9a-f]{64}$", "", image))


def parse_images(data: bytes) -> dict[str, str]:
    """Digest by tag, from GET /images/json."""
    try:
        rows = json.loads(data)
    except (ValueError, RecursionError):
        raise ParseError("answer of docker", "/images/json", "JSON") from None
    if not isinstance(rows, list):
        raise ParseError("answer of docker", "/images/json", "a list of images")
    found: dict[str, str] = {}
    for row in rows:
        if not isinstance(row, dict):
            continue
        match = _DIGEST.search(str(row.get("Id", "")))
        tags = row.get("RepoTags")
        for tag in tags if isinstance(tags, list) else ():
            if match:
                found[str(tag)] = f"sha256:{match[1][:12]}"
    return found
