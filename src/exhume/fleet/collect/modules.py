"""/sys/module: what is loaded, which version of it, and how it is set."""

from __future__ import annotations

import re
from pathlib import Path

from exhume.fleet import scrub
from exhume.fleet.collect.found import Found, line_of, names_in
from exhume.host import Host
from exhume.model.fingerprint import Kind

_PLAIN = re.compile(r"[-+]?\d[\d,.-]*|0x[0-9a-fA-F]+|[YNyn]|on|off|\(null\)|")
_COUNTER = re.compile(
    r"(?:.*_)?(?:random|seed|jiffies|passes|count|total|hits|kib)|reported.*"
    r"|(?:.*_)?(?:walked|scanned|dropped|skipped|failed|freed|reclaimed|received|sent)"
)
"""Some modules show counters as parameters: page_reporting.passes, page_reporting.walked."""


def collect(host: Host) -> Found:
    found = Found()
    folder = host.sys / "module"
    if not folder.is_dir():
        return found
    found.area("module")
    for name in names_in(folder):
        # Built into the kernel: parameters, but no state of loading.
        if (folder / name / "initstate").exists():
            found.put("module", name, "loaded", "state")
        version = line_of(folder / name / "version")
        source = line_of(folder / name / "srcversion")
        both = " ".join(part for part in (version, source) if part)
        found.put("module_version", name, both or None)
        _parameters(folder / name / "parameters", name, found)
    return found


def _parameters(folder: Path, module: str, found: Found) -> None:
    for name in names_in(folder):
        text = line_of(folder / name)
        if text is not None:
            is_plain = _PLAIN.fullmatch(text) and not scrub.is_secret_name(name)
            value = text if is_plain else scrub.value(name, text)
            kind: Kind = "volatile" if _COUNTER.fullmatch(name) else "config"
            found.put("module_parameter", f"{module}.{name}", value, kind)
