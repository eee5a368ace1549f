"""Softirq floods, queues that meet on one core, and limits of the network itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from shlex import quote

import numpy as np

from exhume.derive.rates import Intervals, rates
from exhume.detect import shown
from exhume.detect.network import flood, limits
from exhume.diagnose.cause import mean_of, party, weigh
from exhume.diagnose.holding import check_top
from exhume.diagnose.scene import Proof, Scene, Stall, Step, Suspicion, Usage
from exhume.model.case import Actions, Party
from exhume.model.finding import Finding
from exhume.model.window import Window

_LEAST_SHARE = 0.4
_LEAST_SENDING = 0.01
"""Of a core: a sender that its socket holds back needs little more."""
_ABOVE_USUAL = 3.0
_MOSTLY = 0.6
"""Of all that is sent more than usual."""


def softirq_flood(scene: Scene) -> Iterator[Suspicion]:
    """The victim's core was busy receiving packets, and somebody here may be sending them."""
    flooded = [
        stall
        for stall in scene.stalls
        if stall.close_up is not None and _softirq(stall) >= _LEAST_SHARE
    ]
    if scene.core is None or len(flooded) < 0.5 * max(1, len(scene.stalls)):
        return
    packets = scene.seen.instance("softnet.processed", str(scene.core))
    amount = mean_of(rates(packets).per_second) if packets is not None else None
    causes = [one.window for one in flood(scene.seen) if one.core == scene.core]
    causes = causes or [stall.window for stall in flooded]
    longest = max(flooded, key=lambda stall: stall.window.seconds)
    share = _softirq(longest)
    claim = f"CPU {scene.core} spent {100 * share:.0f} % of the time in softirqs"
    proofs = [
        Proof(
            "samples",
            claim,
            {"softirq_percent": round(100 * share, 1), "stalls": len(flooded)},
            longest.window,
            check_top(scene.core, longest.window) + " --mode softirq",
        )
    ]
    rate = float("nan")
    if amount is not None and np.isfinite(rate := amount(longest.window)):
        proofs.append(_packets(scene, rate, longest.window))
    sender = sender_of(scene.senders)
    culprit = Party(core=scene.core) if sender is None else party(scene.seen, sender.comm)
    if sender is not None:
        proofs.append(_sends(sender, longest.window))
    by = f" that {culprit.name} sends" if sender is not None else ""
    details: dict[str, str | int | float] = {"softirq_percent": round(100 * share, 1)}
    if np.isfinite(rate):
        details["packets_per_second"] = round(rate)
    tests = weigh(scene, causes, scene.place, amount)
    yield Suspicion(
        kind="softirq-flood",
        culprit=culprit,
        summary=f"CPU {scene.core} drowns in packets{by}, and {scene.symptom.victim.name} waits",
        steps=(Step(claim + by, "root_cause", tests, tuple(proofs)),),
        depth=2,
        payer=Party(core=scene.core),
        victim=scene.symptom.victim,
        details=details,
        actions=Actions(
            now=(f"stop or slow down {culprit.name}",)
            if sender is not None
            else ("find the sender: tcpdump -nn -c 1000 -i IFACE",),
            for_good=(
                "spread the queues over more cores (RPS, more queues, irqbalance), or limit the "
                "sender",
            ),
            undo=(f"start {culprit.name} again",) if sender is not None else (),
            verify=(f"exhume series softnet.processed {scene.core} --last 10m",),
        ),
        missing=()
        if sender is not None
        else ("who sends is not on this node, not sampled, or nobody stands out",),
    )


def _softirq(stall: Stall) -> float:
    return 0.0 if stall.close_up is None else stall.close_up.during.softirq_share


def _packets(scene: Scene, rate: float, window: Window) -> Proof:
    return Proof(
        "counters",
        f"{rate:,.0f} packets a second were taken off the network on CPU {scene.core}",
        {"packets_per_second": round(rate)},
        window,
        shown.series("softnet.processed", window, str(scene.core)),
    )


def sender_of(senders: Sequence[Usage]) -> Usage | None:
    """Whose sending came with the trouble, far above its own usual; nobody if none stands out."""
    first = max(senders, key=lambda one: (one.rise, one.comm), default=None)
    if first is None or first.during < max(_LEAST_SENDING, _ABOVE_USUAL * (first.usual or 0.0)):
        return None
    return first if first.rise >= _MOSTLY * sum(one.rise for one in senders) else None


def _sends(sender: Usage, window: Window) -> Proof:
    usual = "" if sender.usual is None else f", {100 * sender.usual:.1f} % of one before or after"
    figures: dict[str, str | int | float] = {"percent_of_a_core": round(100 * sender.during, 1)}
    if sender.usual is not None:
        figures["usual_percent"] = round(100 * sender.usual, 2)
    return Proof(
        "samples",
        f"{sender.comm} spent {100 * sender.during:.1f} % of a core on sending meanwhile{usual}",
        figures,
        window,
        f"exhume flame --at {window.start_ns / 1e9:.3f} --for {max(1.0, window.seconds):.1f}s "
        f"--comm {quote(sender.comm)}",
    )


def imbalance(scene: Scene) -> Iterator[Suspicion]:
    """Several queues of one card interrupt the core that was overloaded."""
    for crowd in scene.seen.crowds:
        if crowd.core != scene.core:
            continue
        busy = [stall for stall in scene.stalls if _softirq(stall) >= 0.3]
        if not busy:
            continue
        claim = (
            f"{crowd.queues} of {crowd.of_queues} queues of {crowd.device} interrupt CPU "
            f"{crowd.core}, and it spends its time on them"
        )
        window = busy[0].window
        proofs = (
            Proof(
                "interrupts",
                claim,
                {"queues": crowd.queues, "of_queues": crowd.of_queues},
                window,
                f"exhume irqs {shown.span_from(window.start_ns, 60)}",
            ),
            Proof(
                "samples",
                f"CPU {crowd.core} was in softirqs for {100 * _softirq(busy[0]):.0f} % of it",
                {"softirq_percent": round(100 * _softirq(busy[0]), 1)},
                window,
                check_top(scene.core, window),
            ),
        )
        tests = weigh(scene, [stall.window for stall in busy], scene.place)
        yield Suspicion(
            kind="interrupt-imbalance",
            culprit=Party(comm=crowd.device, core=crowd.core),
            summary=f"the queues of {crowd.device} all interrupt CPU {crowd.core}",
            steps=(Step(claim, "root_cause", tests, proofs),),
            depth=1,
            victim=scene.symptom.victim,
            actions=Actions(
                now=(f"spread them: set_irq_affinity or irqbalance for {crowd.device}",),
                for_good=("have irqbalance run, or set affinities at boot",),
                undo=("write the old smp_affinity back",),
                verify=("exhume irqs --last 10m",),
            ),
        )


def network_limit(scene: Scene) -> Iterator[Suspicion]:
    """The cloud's own limit of the card, or a table of connections that is full."""
    over = [one for one in limits(scene.seen) if _near(scene, one.window)]
    lines = [
        event
        for event in scene.seen.events
        if event.fields.get("class") == "limit"
        and event.kind == "kernel-log"
        and _near(scene, Window(event.wall_ns, event.wall_ns + 1))
    ]
    if scene.symptom.kind not in ("job-failure", "network-reset", "limit-reached"):
        return
    if over:
        yield _limit(scene, over[0])
    elif lines:
        event = lines[0]
        claim = f"the kernel says: {event.text}"
        window = Window(event.wall_ns, event.wall_ns + 1)
        proof = Proof(
            "kernel log", claim, {"count": event.count}, window,
            f"exhume events {shown.span_from(event.wall_ns, 5)}",
        )  # fmt: skip
        tests = weigh(scene, [window], "passed")
        yield Suspicion(
            kind="network-limit",
            culprit=Party(comm=event.subject),
            summary=f"a limit of the kernel was reached: {event.text}",
            steps=(Step(claim, "root_cause", tests, (proof,)),),
            depth=1,
            victim=scene.symptom.victim,
        )


def _limit(scene: Scene, one: Finding) -> Suspicion:
    proof = Proof("driver counters", one.claim, one.figures, one.window, one.check)
    series = scene.seen.instance("nic.stat", one.subject)
    amount = None
    if series is not None:
        found: Intervals = rates(series).per_second
        amount = mean_of(found)
    tests = weigh(scene, [one.window], "passed", amount)
    return Suspicion(
        kind="network-limit",
        culprit=Party(comm=one.subject),
        summary=f"the network card's allowance was exceeded ({one.subject})",
        steps=(Step(one.claim, "root_cause", tests, (proof,)),),
        depth=1,
        victim=scene.symptom.victim,
        actions=Actions(
            now=("send less, or spread over more nodes",),
            for_good=("a larger instance type has a larger allowance",),
            verify=(one.check,),
        ),
    )


def _near(scene: Scene, window: Window) -> bool:
    wide = Window(window.start_ns - 30_000_000_000, window.end_ns + 30_000_000_000)
    return any(wide.overlaps(one.window) for one in scene.like)
