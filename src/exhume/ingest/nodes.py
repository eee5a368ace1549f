"""Which node each input is of: as it says, by its name, or by what it has in common with others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

from exhume.ingest.boot_clocks import Anchor
from exhume.ingest.boot_marks import Marks, are_of_one_machine
from exhume.ingest.clocks import name_host
from exhume.ingest.node_names import host_named, numbered_alike
from exhume.ingest.work import PieceSummary, ReadTask

NAMELESS = "imported"
"""The node of inputs that do not say where they come from."""
STRANGERS = frozenset({NAMELESS, ""})
"""Under these names inputs of several machines may be."""
_OF_NOBODY = (
    "neither it nor its name says which of {} it is of, so it is in a recording of its own, {}; "
    "the node's name in the file's or the folder's would tell, or an import of each node's files "
    "with --name"
)
_BY_PROGRAMS = "of {}, by the programs that its captures found running at the same addresses"
_OF_ONLY = (
    "it does not say which node it is of: taken for {}, the only one that the other files tell of"
)
_SAYS_NODE = "perf.data"
"""Whole, it always says it."""

Read = tuple[ReadTask, Sequence[PieceSummary]]


class Nodes:
    def __init__(self, told: str, hosts: Set[str], anchors: Iterable[Anchor]) -> None:
        """`told` by the user; `hosts`: the machines that inputs come from, as far as it showed."""
        self._told = told
        self.hosts = _whole_names(hosts)
        self._boots = {(one.node, one.boot) for one in anchors if one.boot}

    def learn(self, inputs: Sequence[Read]) -> None:
        """What shows of nodes only when inputs are read, or by the names of others."""
        for _, pieces in inputs:
            # Of a perf.data that is compressed nobody has looked at the end before.
            said = {(one.hints.node, one.hints.boot) for one in pieces if one.rows}
            self.hosts = _whole_names(self.hosts | ({node for node, _ in said} - {""}))
            self._boots |= {(node, boot) for node, boot in said if node and boot}
        for task, pieces in inputs:
            if not self.said(task, pieces):
                self.hosts |= numbered_alike(task.input.path, self.hosts)

    def of(self, task: ReadTask, pieces: Sequence[PieceSummary]) -> str:
        said = self.said(task, pieces) or host_named(task.input.path, self.hosts)
        said = said or self._by_programs(pieces) or self.only or NAMELESS
        return next((host for host in self.hosts if host.startswith(f"{said}.")), said)

    def said(self, task: ReadTask, pieces: Sequence[PieceSummary]) -> str:
        said = next((piece.hints.node for piece in pieces if piece.hints.node), "")
        return self._told or said or name_host(task.input.path.name)

    def why(self, task: ReadTask, pieces: Sequence[PieceSummary], node: str) -> str:
        """Why it is in the recording of that node, where it could be in others as well."""
        if not self.hosts or self.said(task, pieces):
            return ""
        is_named = bool(host_named(task.input.path, self.hosts))
        if not is_named and self._by_programs(pieces):
            return _BY_PROGRAMS.format(node)
        if len(self.hosts) == 1:
            is_missing = task.format == _SAYS_NODE and not is_named
            return _OF_ONLY.format(node) if is_missing else ""
        if node == NAMELESS:
            return _OF_NOBODY.format(", ".join(sorted(self.hosts)), NAMELESS)
        return f"of {node}, by its name or its folder's"

    @property
    def only(self) -> str:
        return next(iter(self.hosts)) if len(self.hosts) == 1 else ""

    @property
    def strangers(self) -> Set[str]:
        """Names that may stand for several machines: then what one says of a clock is its own."""
        return STRANGERS if len(self.hosts) > 1 and not self._told else frozenset()

    def _by_programs(self, pieces: Sequence[PieceSummary]) -> str:
        """The node whose programs a capture found; empty where that is none, or several."""
        own: set[Marks] = {one.hints.boot for one in pieces if one.hints.boot}
        found = {
            node
            for node, boot in self._boots
            if node not in STRANGERS and any(are_of_one_machine(boot, marks) for marks in own)
        }
        return found.pop() if len(found) == 1 else ""


def _whole_names(hosts: Set[str]) -> set[str]:
    """System logs have `node-1` where perf has `node-1.example.org`: that is one machine."""
    return {host for host in hosts if not any(other.startswith(f"{host}.") for other in hosts)}
