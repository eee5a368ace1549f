"""What `systemctl list-units` and `systemctl show` print → units as systemd itself tells of them.

The list has states only. `show` has NRestarts, the invocation and the result: with those a loop
shows that `systemctl --failed` never does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from exhume.errors import ParseError
from exhume.model.event import Event
from exhume.model.reading import Reading
from exhume.sources import units
from exhume.sources.units import Unit

LIST_PATH, SHOW_PATH = "systemctl list-units", "systemctl show"
_UNIT = re.compile(r"[\w:\\.@-]+\.service")
_PROPERTY = re.compile(r"([A-Z]\w*)=(.*)")
_LOAD = ("loaded", "not-found", "bad-setting", "error", "masked", "merged", "stub")
_FAILED = "failed"
_NONE = re.compile(rb"^0 (?:loaded )?units listed", re.MULTILINE)
_BULLETS = "●○×↻*"
# `ExecMainStartTimestamp=Sun 2026-11-15 20:15:32 UTC`; of other zones the name does not say enough.
_WALL = re.compile(r"\w+ (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) (?:UTC|GMT)")


class UnitLooks(Struct):
    """Look after look, those of a list and those of `show` apart: they say different things."""

    _before: dict[str, dict[str, Unit]] = field(default_factory=dict)

    def look(
        self, found: tuple[Unit, ...], path: str, wall_ns: int
    ) -> tuple[tuple[Reading, ...], tuple[Event, ...]]:
        before = self._before.setdefault(path, {})
        events = units.events(before, found, wall_ns)
        new = tuple(unit for unit in found if unit.name not in before)
        if path == LIST_PATH:
            events += _seen_to_start(before, found, wall_ns)
        # Later looks of `show` count the starts; a list has nothing but the state.
        events += _seen_to_wait(found if path == LIST_PATH else new, wall_ns)
        events += _seen_to_have_failed(new, wall_ns)
        before.update((unit.name, unit) for unit in found)
        return units.readings(found), events


def parse_list(text: bytes) -> tuple[Unit, ...]:
    """Services only; the rest are no processes."""
    found: dict[str, Unit] = {}
    for line in text.decode("utf-8", "replace").split("\n"):
        cells = line.split()
        if cells and cells[0] in _BULLETS:
            del cells[0]
        if len(cells) < 4:
            if found and not cells:
                break  # what follows explains the columns
            continue
        name, load, active, sub = cells[:4]
        if _UNIT.fullmatch(name) and load in _LOAD:
            result = _FAILED if active == _FAILED else None
            found[name] = Unit(name, "", load, active, sub, result=result)
    if not found and _NONE.search(text) is None:
        raise ParseError(LIST_PATH, 2, "services")
    return tuple(found.values())


def parse_show(text: bytes, name: str, to_wall_us: Callable[[int], int] | None) -> tuple[Unit, ...]:
    """`name`: of the unit, where its properties do not say. `to_wall_us`: from time since boot."""
    found: dict[str, Unit] = {}
    for index, part in enumerate(re.split(r"\n\s*\n", text.decode("utf-8", "replace"))):
        lines = filter(None, part.split("\n"))
        values = {m[1]: m[2] for line in lines if (m := _PROPERTY.fullmatch(line.rstrip("\r")))}
        one = values.get("Id", name)
        if values and _UNIT.fullmatch(one):
            found[one] = _shown(one, values, to_wall_us)
        elif values and not one:
            raise ParseError(
                SHOW_PATH,
                f"unit {index + 1}",
                "its Id (`-p Id -p NRestarts`), or in the file's name",
            )
    return tuple(found.values())


def _shown(name: str, values: Mapping[str, str], to_wall_us: Callable[[int], int] | None) -> Unit:
    typed: dict[str, tuple[str, Any]] = {
        key: ("t", int(text))
        if text.isascii() and text.isdigit() and len(text) < 19
        else ("s", text)
        for key, text in values.items()
    }
    unit = Unit(
        name,
        values.get("InvocationID", ""),
        values.get("LoadState"),
        **units.parse_details((typed,)),
    )
    # On wall time, as all that is imported; or not at all.
    return replace(
        unit,
        main_start_us=_wall_us(values, "ExecMainStartTimestamp", to_wall_us),
        main_exit_us=_wall_us(values, "ExecMainExitTimestamp", to_wall_us),
    )


def _wall_us(
    values: Mapping[str, str], key: str, to_wall_us: Callable[[int], int] | None
) -> int | None:
    since_boot = values.get(f"{key}Monotonic", "")
    if to_wall_us is not None and since_boot.isascii() and since_boot.isdigit():
        return to_wall_us(int(since_boot)) if 0 < int(since_boot) < 1 << 53 else 0
    if found := _WALL.fullmatch(values.get(key, "")):
        try:
            at = datetime.strptime(found[1], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
        except ValueError:
            return None
        return int(at.timestamp()) * 1_000_000
    return None


def _seen_to_start(
    before: Mapping[str, Unit], found: Iterable[Unit], wall_ns: int
) -> tuple[Event, ...]:
    """The list counts nothing; one that did not run and now does was started."""
    return tuple(
        Event(wall_ns, "unit-start", unit.name, fields={"sub_state": unit.sub_state or ""})
        for unit in found
        if unit.active_state == "active"
        and (old := before.get(unit.name)) is not None
        and old.active_state not in ("active", "reloading", "deactivating")
    )


def _seen_to_wait(found: Iterable[Unit], wall_ns: int) -> tuple[Event, ...]:
    """Of one that loops most starts fall between two looks: that it waits again is what shows."""
    return tuple(
        Event(wall_ns, "unit-waiting", unit.name, fields=_told(unit))
        for unit in found
        if unit.sub_state == "auto-restart"
    )


def _seen_to_have_failed(found: Iterable[Unit], wall_ns: int) -> tuple[Event, ...]:
    """By the first look; when that was, a list does not say."""
    return tuple(
        Event(wall_ns, "unit-seen", unit.name, _failed_words(unit), fields=_told(unit))
        for unit in found
        if unit.active_state == _FAILED
    )


def _failed_words(unit: Unit) -> str:
    return "failed" if unit.result in (None, _FAILED) else f"failed, with result '{unit.result}'"


def _told(unit: Unit) -> dict[str, str | int | float]:
    told = ("sub_state", "result", "main_status", "restarts_total")
    return {name: value for name in told if (value := getattr(unit, name)) is not None}
