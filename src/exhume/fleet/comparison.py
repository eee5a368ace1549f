"""What separates ill nodes from well ones: the answer of `exhume compare`."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from exhume.model.fingerprint import Tier

MAX_MEMBERS = 100


class Attribute(Struct, frozen=True):
    """One field with one test of it: `unit/ecs.service = runs`."""

    area: str
    name: str
    test: str
    """`is there`, `= runs`, `> 4096`, `< 2.10.0`, `has multi-user.target.wants`."""
    tier: Tier
    on_ill: bool
    """True where it holds on the ill ones; false where it holds on the others."""
    known_nodes: int


class SplitClass(Struct, frozen=True):
    """Attributes that divide the nodes in the same way: no statistics can tell them apart."""

    lead: Attribute
    """The most telling one: what runs, before what is set, before where it stands."""
    members: tuple[Attribute, ...]
    member_count: int
    ill_with: int
    """Ill nodes with the lead's side of the split, of `ill_known` where it is known."""
    ill_known: int
    well_with: int
    well_known: int
    p: float
    """One-sided, corrected for choosing a threshold where there is one; 0 where below 1e-300."""
    log10_p: float
    q: float
    """After Benjamini and Hochberg, over all classes and both directions."""
    odds_ratio: float
    odds_ratio_low: float
    odds_ratio_high: float
    """95 % interval."""
    separates: bool
    """q ≤ 0.05."""
    is_perfect: bool
    """On all of the ill and none of the well."""
    named_by_cases: int
    """Cases of the ill nodes whose diagnosis names a member of this class."""
    is_answer: bool
    """It separates, and the diagnosis names it: cause and difference agree."""
    explained_by: str = ""
    """The lead of a class that accounts for this one: given that, this says nothing more."""
    alongside: bool = False
    """A level that may be the illness itself rather than its cause."""


class Comparison(Struct, frozen=True):
    """What separates the ill nodes from the well ones."""

    verdict: Literal["separates", "nothing", "unknown"]
    """Of causes: a level that separates (`alongside`) may be the illness itself, so of nodes it
    alone makes no `separates`. `unknown`: too few nodes for a cause to stand out from chance."""
    unit: Literal["node", "window"]
    """What was compared: nodes of a fleet, or windows of one node."""
    ill: int
    well: int
    left_out: int
    """In neither group, or not known in which."""
    attributes: int
    classes_tested: int
    """Different splits; each tested in both directions."""
    smallest_p: float
    """Of a perfect separator of so many nodes: less is not to be had."""
    perfect_by_chance: float
    """How many of the splits would separate perfectly, were the ill drawn by lot."""
    classes: tuple[SplitClass, ...]
    notes: tuple[str, ...] = ()
