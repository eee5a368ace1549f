"""Keeps secrets out of fingerprints: what looks like one becomes four hex digits.

Sixteen bits tell that two values differ, and are too few to guess a password by. A text that is
only hashed is scrubbed first all the same: who knows the rest of it could try passwords otherwise.
Where anything may stand (kernel command line, mount options) only what is known to be harmless is
kept in clear.
"""

from __future__ import annotations

import hashlib
import re

_NAME = re.compile(
    r"passw(?:or)?d|passphrase|secret|token|credential|auth(?!or)|bearer|cookie"
    r"|(?:^|[^a-z])(?:pass|pw|pwd|psk|pin|otp|salt|key|keys|sig)(?![a-z])"
    r"|(?:api|access|private|shared|signing|encryption|master|license)_?-?key|dsn|webhook"
    r"|connection_?string",
    re.IGNORECASE,
)
_TOKEN = re.compile(
    r"AKIA[0-9A-Z]{12,}|ASIA[0-9A-Z]{12,}|eyJ[\w-]{8,}|gh[pousr]_\w{16,}|github_pat_\w{16,}"
    r"|glpat-[\w-]{16,}|xox[a-z]-[\w-]{8,}|sk-[\w-]{16,}|hvs\.[\w-]{16,}|AIza[\w-]{20,}"
    r"|-----BEGIN|\$(?:1|2[aby]|5|6|y|argon2\w*)\$[^\s]{8,}"
)
_LONG_WORD = re.compile(r"[A-Za-z0-9+_=-]{20,}|[A-Za-z0-9+/_=-]{40,}")
_USERINFO = re.compile(r"([a-z][a-z0-9+.-]{0,20}://)([^/\s@]{1,200})@", re.IGNORECASE)
_BARE_USERINFO = re.compile(r"(?<![\w:/])([^/\s:@=]{1,100}:[^/\s@]{1,100})@(?=[\w.-]+[/:])")
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)

# In a text: NAME=value, "name": "value", name: value, --name=value; the value is looked ahead at,
# so that it may hold a pair itself. And `password hunter2`, as in netrc or behind --.
_PAIR = re.compile(
    r"""(?<![\w.-])-*(?P<name>[A-Za-z_][\w.-]{0,80})["']?\s*[=:]\s*"""
    r"""(?=(?P<value>"[^"\n]*"|'[^'\n]*'|[^\s,;"']+))"""
)
_SPACED = re.compile(
    r"(?<![\w.])-*[\w-]{0,40}(?:password|passwd|passphrase|secret|token|psk|key)[ \t]+(?=(\S+))",
    re.IGNORECASE,
)
_AUTHORIZATION = re.compile(r"(\b(?:basic|bearer)\s+)(\S+)", re.IGNORECASE)
_ENVIRONMENT = re.compile(r"^(\s*(?:Environment|PassEnvironment|SetCredential\w*)\s*=)(.*)$", re.M)
_MAX_TEXT = 1 << 20


def short(secret: str) -> str:
    """`#3fa2`: differs where the secret differs."""
    return "#" + hashlib.blake2b(secret.encode(), digest_size=2).hexdigest()


def is_secret_name(name: str) -> bool:
    return bool(_NAME.search(name))


def is_secret_value(value: str) -> bool:
    """By its form: known tokens, and long words of mixed letters and digits."""
    if _TOKEN.search(value):
        return True
    for match in _LONG_WORD.finditer(_UUID.sub("", value)):
        word = match[0]
        kinds = (str.isupper, str.islower, str.isdigit)
        mixed = sum(any(is_kind(letter) for letter in word) for is_kind in kinds)
        digits = sum(letter.isdigit() for letter in word)
        if mixed == 3 or (len(word) >= 32 and digits >= 6 and len(set(word)) >= 10):
            return True
    return False


def value(name: str, text: str) -> str:
    """The value of a setting, in clear unless its name or form says otherwise."""
    if text and (is_secret_name(name) or is_secret_value(text)):
        return short(text)
    scrubbed = without_users(text)
    inner, equals, rest = scrubbed.partition("=")
    if equals and is_secret_name(inner):
        return f"{inner}={short(rest)}"
    return scrubbed


def without_users(text: str) -> str:
    """user:password@ of addresses, hashed."""
    if "@" not in text:
        return text
    text = _USERINFO.sub(lambda match: f"{match[1]}{short(match[2])}@", text)
    return _BARE_USERINFO.sub(lambda match: f"{short(match[1])}@", text)


def text_hash(text: str) -> str:
    """For files of which only the difference matters: units, cron tables, configuration."""
    return hashlib.blake2b(scrubbed_text(text).encode(), digest_size=8).hexdigest()


def scrubbed_text(text: str) -> str:
    text = _ENVIRONMENT.sub(lambda match: f"{match[1]}{short(match[2])}", text[:_MAX_TEXT])
    text = _AUTHORIZATION.sub(lambda match: f"{match[1]}{short(match[2])}", text)
    places = [m.span("value") for m in _PAIR.finditer(text) if is_secret_name(m["name"])]
    places += [match.span(1) for match in _SPACED.finditer(text)]
    text = without_users(_replaced(text, places))
    return _LONG_WORD.sub(
        lambda match: short(match[0]) if is_secret_value(match[0]) else match[0], text
    )


def _replaced(text: str, places: list[tuple[int, int]]) -> str:
    pieces: list[str] = []
    done = 0
    for start, end in sorted(places):
        if end <= done:
            continue  # within one that is gone already
        start = max(start, done)
        pieces += [text[done:start], short(text[start:end])]
        done = end
    return "".join([*pieces, text[done:]])
