"""What to do about whoever leaves dead memory cgroups behind: now, for good, and how to undo it."""

from __future__ import annotations

from shlex import quote

from exhume.diagnose.holding import Holder
from exhume.diagnose.walkers import walker_in
from exhume.model.case import Actions, Party
from exhume.model.lifecycles import Lifecycle

_CRONS = ("cron", "crond", "CRON", "CROND", "anacron")
_INITS = ("systemd", "init")
_SHIMS = ("containerd-shim", "conmon", "dockerd", "containerd", "crio")
"""Names of processes have 15 letters at most."""
_Advice = tuple[tuple[str, ...], str, tuple[str, ...]]


def leak_actions(culprit: Party, holder: Holder, parent: str = "") -> Actions:
    """`parent`: who starts a bare process."""
    stop, good, undo = _about(culprit, parent)
    walker = walker_in(holder.occupant.frames)
    newer = "with a kernel of 7.2 or newer they do not come about"
    if walker is not None and walker.mended:
        newer = f"{walker.mended}; from 7.2 on they do not come about"
    return Actions(
        now=(
            *stop,
            "free what pins the dead cgroups: delete the files they left on tmpfs, or "
            "`echo 1 > /proc/sys/vm/drop_caches` for page cache; a reboot frees all",
        ),
        for_good=(good, newer),
        undo=undo,
        verify=(
            "exhume zombies --last 1h: the count stays flat",
            "exhume why --since-fix TIME: no more symptoms than chance",
        ),
    )


def starter_of(one: Lifecycle) -> str:
    """Who starts a bare process, or a program by a schedule; empty where a supervisor does."""
    return one.detail if one.kind == "process" or one.is_of_cron else ""


def _about(culprit: Party, parent: str) -> tuple[tuple[str, ...], str, tuple[str, ...]]:
    """What to do about it now, for good, and how to undo that; or how to find it."""
    name = culprit.name
    if parent in _CRONS and not culprit.unit:
        return _about_cron(name)
    if culprit.unit and "." not in culprit.unit:  # systemd's have a suffix
        own = quote(culprit.unit)
        stop = (
            f"stop {own} with what runs it: supervisorctl stop {own}, pm2 stop {own} or initctl "
            f"stop {own}"
        )
        good = f"take {own} out of its supervisor's configuration, or repair what makes it die"
        return (stop,), good, (f"start {own} again in the same way",)
    if culprit.unit:
        unit = quote(culprit.unit)
        good = f"systemctl disable {unit} in the image, or repair what makes it die"
        return (f"systemctl stop {unit}",), good, (f"systemctl enable --now {unit}",)
    if culprit.container:
        own = quote(culprit.container)
        find = (
            f"find what starts {culprit.container} again: systemctl list-units --all "
            "--state=activating, or its restart policy: docker inspect -f "
            f"'{{{{.HostConfig.RestartPolicy.Name}}}}' {own}"
        )
        good = f"repair or remove whatever runs {culprit.container}"
        undo = (f"start what ran {culprit.container} again",)
        return (find, f"stop that, and then docker stop {own}"), good, undo
    if culprit.comm and parent in _INITS:
        return _about_unit_of(name)
    if culprit.comm and parent in _SHIMS:
        return _about_container_of(name)
    if culprit.comm:
        stop = f"stop {parent}, which starts {name} again and again"
        if not parent:
            stop = f"stop what starts {name} again and again: ps -o ppid= -C {quote(name)} names it"
        return (stop,), f"repair {name}, or remove it", (f"start {parent or name} again",)
    if culprit.cgroup:
        stop = (
            f"stop what makes cgroups named {name}: exhume units --last 1h lists who starts often"
        )
        return (stop,), "repair or remove whoever makes them", ()
    return _FIND, "repair or remove whoever leaves them", ()


def _about_cron(name: str) -> _Advice:
    where = "/etc/crontab /etc/cron.* /var/spool/cron"
    return (
        (
            f"find the line that starts it: grep -rnF {quote(name)} {where}; put a # before it (a "
            "user's own with crontab -e -u USER); cron notices within a minute",
        ),
        f"take that line, or the package that brings it, out of the image; or repair {name}",
        ("take the # away again",),
    )


def _about_unit_of(name: str) -> _Advice:
    """Whoever starts everything is not to be stopped, and a unit's process may be a shell."""
    return (
        (
            f"find the unit that runs {name}, which systemd starts again and again: systemctl "
            "list-units --all --state=activating; or systemctl show '*.service' -p Id -p "
            "NRestarts twice, a minute apart: the one whose count has grown",
            "systemctl stop that unit",
        ),
        "systemctl disable that unit in the image, or repair what makes it die",
        ("systemctl enable --now that unit",),
    )


def _about_container_of(name: str) -> _Advice:
    return (
        (
            f"find the container that runs {name}: docker ps -a (or crictl ps -a) twice, a minute "
            "apart: the one whose id has changed; and what starts it again: its restart policy, a "
            "unit or an orchestrator",
            "stop that, and then the container",
        ),
        "repair or remove whatever runs that container",
        ("start what ran it again",),
    )


_FIND = (
    "find who leaves them, by recording: exhume record as root for ten minutes, then "
    "exhume zombies --last 10m names their cgroups, and exhume units --last 10m who loops",
    "or by hand, twice, a minute apart: systemctl show '*.service' -p Id -p NRestarts, and "
    "docker ps -a (or crictl ps -a): the one whose count or id has changed",
)
