"""What holds for the screens of all evidence commands: they fit, and hostile names stay names."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from rich.console import RenderableType

from exhume.cli.render import events, irqs, series, units, zombies
from tests.cli.made_up import HOSTILE, VIEW, assert_harmless, drawn, look
from tests.cli.render import evidence

Screen = Callable[[str, int, bool], RenderableType]
SCREENS: dict[str, Screen] = {
    "events": lambda name, width, colour: events.render(
        evidence.events(name, name), VIEW, look(width, colour=colour)
    ),
    "events, folded": lambda name, width, colour: events.render(
        evidence.events(name, name, many=60), VIEW, look(width, colour=colour)
    ),
    "units": lambda name, width, colour: units.render(
        evidence.units(name), VIEW, look(width, colour=colour)
    ),
    "units, all": lambda name, width, colour: units.render(
        evidence.units(name), VIEW, look(width, colour=colour), everything=True
    ),
    "zombies": lambda name, width, colour: zombies.render(
        evidence.zombies(name, kernel=name), VIEW, look(width, colour=colour)
    ),
    "irqs": lambda name, width, colour: irqs.render(
        evidence.irqs(name), VIEW, look(width, colour=colour), everything=True
    ),
    "series": lambda name, width, colour: series.render(
        evidence.series(name, resets=3), VIEW, look(width, colour=colour)
    ),
}


@pytest.mark.parametrize("width", [80, 120, 200])
@pytest.mark.parametrize("screen", SCREENS)
def test_every_line_fits_the_screen(screen: str, width: int) -> None:
    text = drawn(SCREENS[screen]("a-name-of-common-length", width, False), width)
    assert max(map(len, text.splitlines())) <= width


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("screen", SCREENS)
def test_hostile_names_stay_names(screen: str, name: str) -> None:
    for width in (60, 80, 200):
        assert_harmless(drawn(SCREENS[screen](name, width, False), width))


@pytest.mark.parametrize("screen", SCREENS)
def test_colour_changes_no_letter(screen: str) -> None:
    plain = drawn(SCREENS[screen]("name", 120, False), 120)
    coloured = drawn(SCREENS[screen]("name", 120, True), 120, colour=True)
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain
