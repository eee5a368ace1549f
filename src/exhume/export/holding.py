"""Everything of a window at once, for the formats that need it, as long as it fits."""

from __future__ import annotations

import numpy as np

from exhume.errors import EXIT_USAGE, ExhumeError
from exhume.export import firefox
from exhume.export.words import window_text
from exhume.model.answers import EventAnswer, Filter
from exhume.model.profile import Profile, SampleBatch
from exhume.model.window import Window
from exhume.store import queries
from exhume.store.queries.sample_stream import SampleStream
from exhume.store.recording import Recording


def held(
    recording: Recording,
    window: Window,
    wanted: Filter,
    format: str,  # noqa: A002
    at_most: int,
) -> Profile:
    """All samples at once, for formats that need that."""
    stream = SampleStream(recording, window, wanted)
    batches: list[SampleBatch] = []
    count = 0
    for batch in stream:
        count += len(batch)
        if count > at_most:
            # By how fast they came, nine tenths of what fits: a round figure to try.
            took = (int(batch.wall_ns[-1]) - window.start_ns) / 1e9
            fits = took * at_most / count * 0.9
            raise ExhumeError(
                f"more than {at_most:,} samples in {window_text(window)}: "
                f"the format {format} can't hold that",
                todo=f"ask for less (about {fits:,.0f} s fit), or for fewer with --core, --comm, "
                "--unit; pprof takes more, folded and svg windows of any length",
                exit_code=EXIT_USAGE,
            )
        batches.append(batch)
    return Profile(stream.tables(), _joined(batches))


def _joined(batches: list[SampleBatch]) -> SampleBatch:
    kinds = {"wall_ns": np.int64, "core": np.uint16, "weight_ns": np.int64}
    return SampleBatch(
        **{
            column: np.concatenate(
                [
                    np.empty(0, kinds.get(column, np.int32)),
                    *(getattr(batch, column) for batch in batches),
                ]
            )
            for column in SampleBatch.__struct_fields__
        }
    )


def marked_events(
    recording: Recording, window: Window
) -> tuple[list[EventAnswer], tuple[str, ...]]:
    """All, unless they are too many: then without those that come by the thousand."""
    found = queries.events(recording, window)
    if len(found) <= firefox.MAX_EVENTS:
        return found, ()
    kept = [event for event in found if event.kind not in ("exec", "exit")]
    notes = [f"{len(found) - len(kept):,} exec and exit events are left out"]
    if len(kept) > firefox.MAX_EVENTS:
        notes.append(f"of {len(kept):,} other events only the first {firefox.MAX_EVENTS:,} are in")
    return kept[: firefox.MAX_EVENTS], tuple(notes)
