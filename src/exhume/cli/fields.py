"""The catalogue of all that is recorded: what each field means, and its unit.

A counter only rises, so its rate is what matters; a gauge is a level. Not every kernel offers every
field: absent is not zero. 'exhume series FIELD' shows one over time, docs/fields.md has all.

Examples:
  exhume fields               everything
  exhume fields memcg         what has that word in its id, unit or help
  exhume fields --json | jq -r '.fields[].id'
"""

from __future__ import annotations

import argparse

from exhume.cli import common
from exhume.model.evidence import Catalogue
from exhume.model.fields import EVENT_KINDS, FIELDS

ANSWER = Catalogue


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("word", nargs="*", metavar="WORD", help="only what has all of these")
    parser.add_argument("--json", action="store_true", help="the answer as JSON; see docs/schema/")


def run(args: argparse.Namespace) -> int:
    answer = ask(tuple(args.word))
    if not answer.fields and not answer.events:
        raise common.usage(
            f"no field has {' and '.join(map(repr, args.word))}", "'exhume fields' lists all"
        )
    if args.json:
        common.print_json(answer)
    else:
        from exhume.cli.render.fields import render

        screen = common.console()
        common.show(screen, render(answer, common.look_of(screen)))
    return 0


def ask(words: tuple[str, ...] = ()) -> Catalogue:
    wanted = [word.lower() for word in words]

    def has(*texts: str) -> bool:
        text = " ".join(texts).lower()
        return all(word in text for word in wanted)

    return Catalogue(
        tuple(field for field in FIELDS if has(field.id, field.unit, field.instance, field.help)),
        tuple(kind for kind in EVENT_KINDS if has(kind.id, kind.help)),
    )
