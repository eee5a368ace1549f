from __future__ import annotations

from exhume.fleet.diff import diff
from tests.fleet.made import Given, fingerprint

BASE: Given = {
    "unit": {"ecs.service": ("state", "off"), "sshd.service": ("state", "runs")},
    "package": {"bash": "5.1", "curl": "7.88"},
    "sysctl": {"vm.swappiness": "60"},
    "label": {"zone": ("state", "a")},
    "node": {"hostname": ("identity", "one")},
    "load": {"zombies": ("load", 3)},
}
SIDES = ("a.json", "b.json")


def changed(**areas: dict[str, object]) -> Given:
    return {area: {**entries, **areas.get(area, {})} for area, entries in BASE.items()}  # type: ignore[dict-item]


def test_the_same_is_the_same_whatever_the_load() -> None:
    two = fingerprint(
        "two", changed(load={"zombies": ("load", 9)}, node={"hostname": ("identity", "2")})
    )
    found = diff(fingerprint("one", BASE), two, SIDES)
    assert (found.verdict, found.groups) == ("same", ())
    assert found.hidden == {"identity": 1, "load": 1}


def test_what_runs_comes_before_packages_before_settings_before_labels() -> None:
    two = changed(
        unit={"ecs.service": ("state", "runs")},
        package={"jq": "1.6"},
        sysctl={"vm.swappiness": "10"},
        label={"zone": ("state", "b")},
    )
    found = diff(fingerprint("one", BASE), fingerprint("two", two), SIDES)
    assert [group.area for group in found.groups] == ["unit", "package", "sysctl", "label"]
    assert found.verdict == "differs"
    (jq,) = found.groups[1].changes
    assert (jq.name, jq.what, jq.before, jq.after) == ("jq", "added", None, "1.6")


def test_a_state_alone_is_shown_and_is_no_difference_of_configuration() -> None:
    two = fingerprint("two", changed(unit={"ecs.service": ("state", "runs")}))
    found = diff(fingerprint("one", BASE), two, SIDES)
    assert found.verdict == "same"
    assert found.groups[0].changes[0].after == "runs"


def test_an_area_that_could_not_be_read_can_not_be_compared() -> None:
    partial = {area: entries for area, entries in BASE.items() if area != "package"}
    two = fingerprint("two", partial, {"package": "Permission denied"})
    found = diff(fingerprint("one", BASE), two, SIDES)
    assert (found.verdict, found.groups) == ("unknown", ())
    assert found.unknown == ("packages: Permission denied (b.json)",)


def test_an_area_nobody_speaks_of_is_unknown_too() -> None:
    partial = {area: entries for area, entries in BASE.items() if area != "sysctl"}
    found = diff(fingerprint("one", partial), fingerprint("two", BASE), SIDES)
    assert found.verdict == "unknown"
    assert "a.json" in found.unknown[0]


def test_a_field_that_could_not_be_read_on_one_side_is_not_gone() -> None:
    partial = {**BASE, "sysctl": {}}
    two = fingerprint("two", partial, {"sysctl/vm.swappiness": "Permission denied"})
    found = diff(fingerprint("one", BASE), two, SIDES)
    assert (found.verdict, found.groups) == ("unknown", ())


def test_what_neither_may_read_does_not_matter() -> None:
    missing = {"sysctl/net.x": "Permission denied"}
    found = diff(fingerprint("one", BASE, missing), fingerprint("two", BASE, missing), SIDES)
    assert found.verdict == "same"


def test_all_shows_every_class() -> None:
    two = fingerprint("two", changed(load={"zombies": ("load", 9)}))
    found = diff(fingerprint("one", BASE), two, SIDES, everything=True)
    assert [group.area for group in found.groups] == ["load"]


def test_a_difference_counts_even_where_other_parts_are_missing() -> None:
    two = fingerprint("two", changed(sysctl={"vm.swappiness": "10"}), {"package": "broken"})
    assert diff(fingerprint("one", BASE), two, SIDES).verdict == "differs"
