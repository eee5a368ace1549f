from __future__ import annotations

from exhume.ingest.boot_clocks import NS, Anchor, settle, settle_all
from exhume.ingest.piece import Claim, ClockKind, Trust

KERNEL = ClockKind.KERNEL_LOG
HOUR_S = 3600


def test_pieces_of_one_boot_get_one_offset_and_another_boot_its_own() -> None:
    anchors: list[Anchor] = []

    def place(offset_s: float, trust: Trust = Trust.FILE_NAME, node: str = "a") -> float:
        claim = settle(node, KERNEL, Claim(int(offset_s * NS), trust, ""), anchors)
        assert claim is not None
        return claim.offset_ns / NS

    assert place(100) == 100
    assert place(101.4) == 100
    assert place(5000) == 5000  # rebooted
    assert place(5001) == 5000
    assert place(100.3, node="b") == 100.3
    assert place(900, Trust.FILE_TIME) == 100  # a guess gives way to anything better
    assert place(100.2, Trust.MEASURED) == 100.2
    assert place(100.9) == 100.2


def test_a_guess_is_no_anchor_for_guesses_of_who_knows_what_boot() -> None:
    anchors: list[Anchor] = []
    for offset_s in (100, 200):
        guess = Claim(offset_s * NS, Trust.FILE_TIME, "")
        assert settle("a", KERNEL, guess, anchors) == guess
    assert settle("a", KERNEL, None, anchors) is not None
    assert settle("a", ClockKind.OWN, None, anchors) is None


def test_of_the_guesses_of_one_boot_the_earliest_holds() -> None:
    anchors: list[Anchor] = []
    first, second = (1, 2), (3,)
    guesses = {
        Claim(900 * NS, Trust.FILE_TIME, "copied"): (2, 9),
        Claim(100 * NS, Trust.FILE_TIME, "kept"): first,
        Claim(5000 * NS, Trust.FILE_TIME, "rebooted"): second,
        Claim(103 * NS, Trust.FILE_TIME, "no marks, but near"): (),
        Claim(600 * NS, Trust.FILE_TIME, "no marks"): (),
    }
    settle_all([Anchor("a", KERNEL, guess, boot) for guess, boot in guesses.items()], anchors)
    placed = {
        guess.how: settle("a", KERNEL, guess, anchors, boot) for guess, boot in guesses.items()
    }
    seconds = {how: claim.offset_ns // NS for how, claim in placed.items() if claim}
    assert seconds == {
        "copied": 100, "kept": 100, "rebooted": 5000, "no marks, but near": 100, "no marks": 600,
    }  # fmt: skip
    told = {how: claim.how for how, claim in placed.items() if claim}
    assert told["kept"] == "kept"
    assert told["copied"].startswith("guessed: by another capture of that boot")
    named = Claim(99 * NS, Trust.FILE_NAME, "")
    assert settle("a", KERNEL, named, anchors) == named
    assert settle("a", KERNEL, next(iter(guesses)), anchors) == named


def placed(*said: tuple[Trust, float, float], by: Trust | None = None) -> list[float]:
    """Of each claim (seconds, how far its clock counted) what holds; of those of one trust."""
    anchors: list[Anchor] = []
    pieces = [
        Anchor("a", KERNEL, Claim(round(offset_s * NS), trust, str(trust)), (), round(until_s * NS))
        for trust, offset_s, until_s in said
    ]
    settle_all(pieces, anchors)
    settled = [settle("a", KERNEL, one.claim, anchors, (), one.until_ns) for one in pieces]
    return [
        claim.offset_ns / NS
        for claim, one in zip(settled, pieces, strict=True)
        if claim is not None and by in (None, one.claim.trust)
    ]


def test_whoever_comes_first_the_surest_claim_holds_for_all_of_a_boot() -> None:
    said = [
        (Trust.NONE, 99_000.0, 60),
        (Trust.FILE_TIME, 2000.0, 340),
        (Trust.HARDWARE_CLOCK, 1001.0, 60),
        (Trust.FILE_NAME, 998.0, 340),
        (Trust.UPTIME, 1000.0, 0),
    ]
    assert placed(*said) == placed(*reversed(said)) == [1000] * 5
    assert placed(*said[:4]) == [998] * 4
    assert placed(*said[:3]) == [1001] * 3
    assert placed(*said[:2]) == [2000] * 2


def test_a_capture_written_before_the_hardware_clock_spoke_is_of_another_boot() -> None:
    assert placed((Trust.HARDWARE_CLOCK, 5000, 60), (Trust.FILE_TIME, 1000, 340)) == [5000, 1000]


def test_a_hardware_clock_in_local_time_is_told_by_any_that_is_a_whole_zone_off() -> None:
    local = (Trust.HARDWARE_CLOCK, 50_000 + 2 * HOUR_S, 60)
    for trust in (Trust.FILE_TIME, Trust.FILE_NAME, Trust.UPTIME):
        assert placed((trust, 50_001, 340), local) == [50_001] * 2


def test_a_log_of_another_boot_than_the_captures_keeps_its_hardware_clock() -> None:
    said = [(Trust.FILE_NAME, 1000, 340), (Trust.HARDWARE_CLOCK, 1500, 60)]
    assert placed(*said) == [1000, 1500]
    # A machine has one boot at a time: this hardware clock is two minutes off.
    assert placed(said[0], (Trust.HARDWARE_CLOCK, 1120, 60)) == [1000, 1000]


def test_of_several_boots_it_is_the_one_that_fits() -> None:
    boots = [(Trust.UPTIME, 1000.0, 130.0), (Trust.UPTIME, 1240.0, 125.0)]
    for trust in (Trust.HARDWARE_CLOCK, Trust.FILE_NAME, Trust.FILE_TIME):
        assert placed(*boots, (trust, 1001, 100), (trust, 1242, 100), by=trust) == [1000, 1240]
    copied_later = (Trust.FILE_TIME, 90_000, 100)
    assert placed(*boots, copied_later, by=Trust.FILE_TIME) == [1240]


def test_a_capture_that_found_the_programs_of_another_is_of_its_boot() -> None:
    anchors: list[Anchor] = []
    settle_all(
        [
            Anchor("a", KERNEL, Claim(1000 * NS, Trust.UPTIME, "")),
            Anchor("a", KERNEL, Claim(5000 * NS, Trust.UPTIME, "")),
            Anchor("a", KERNEL, Claim(1001 * NS, Trust.FILE_NAME, ""), (1, 2)),
        ],
        anchors,
    )
    copied = settle("a", KERNEL, Claim(9000 * NS, Trust.FILE_TIME, ""), anchors, (2, 3))
    assert copied is not None
    assert copied.offset_ns == 1000 * NS


def test_what_a_stranger_says_of_its_clock_holds_only_for_who_agrees_or_found_its_programs() -> (
    None
):
    strangers = frozenset({"", "imported"})
    told = Claim(1000 * NS, Trust.UPTIME, "by readings")
    anchors = [Anchor("", KERNEL, told, (1, 2))]

    def settled(claim: Claim | None, boot: tuple[int, ...] = ()) -> Claim | None:
        return settle("a", KERNEL, claim, list(anchors), boot, 0, strangers)

    far, near = (Claim(at * NS, Trust.FILE_TIME, "by its file") for at in (9000, 1003))
    assert settled(far) == far
    assert settled(near) == told
    assert settled(far, (2, 3)) == told
    # Who knows nothing is put there, and that is said.
    for nothing in (None, Claim(9000 * NS, Trust.NONE, "")):
        found = settled(nothing)
        assert found is not None
        assert (found.offset_ns, found.how) == (
            1000 * NS, "guessed: as if both were of one node, by readings",
        )  # fmt: skip
    assert settle("a", KERNEL, far, list(anchors)) == told  # of one node all is on one clock
