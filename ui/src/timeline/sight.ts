// What lanes say of the stretch that the axis shows: more than that is loaded.

import type { GaugeLine } from '../api'
import type { Span } from '../time'
import type { NodeLines } from './map'

type Values = readonly (number | null)[]

/** Columns with a value whose middle lies within. */
const within = (times: readonly number[], values: Values, { start, end }: Span): number[] =>
  times.flatMap((time, at) => (time >= start && time <= end && values[at] != null ? [at] : []))

/** Over all columns, as the terminal has it. */
export function meanSeen({ times, mean }: NodeLines, span: Span): number | null {
  const inside = within(times, mean, span)
  return inside.length ? inside.reduce((sum, at) => sum + mean[at]!, 0) / inside.length : null
}

/** The last value: of a column there is only the highest, so the very last one is told by its line. */
export function lastSeen(times: readonly number[], { values, last }: GaugeLine, span: Span): number | null {
  const at = within(times, values, span).pop()
  if (at === undefined) return null
  return values.slice(at + 1).some((value) => value != null) ? values[at]! : last
}

const AS_BAD_PERCENT = 0.5

/**
 * Which column says how bad it was, -1 for none: many cores may be full for a second, so of all
 * columns as bad as the worst one those of the core that was so most often, and of these the first.
 */
export function worstSeen({ times, worst, core }: NodeLines, span: Span): number {
  const inside = within(times, worst, span)
  const most = inside.reduce((highest, at) => Math.max(highest, worst[at]!), -Infinity)
  const bad = inside.filter((at) => worst[at]! >= most - AS_BAD_PERCENT)
  const columns = new Map<number, number>()
  for (const at of bad) columns.set(core[at]!, (columns.get(core[at]!) ?? 0) + 1)
  const often = Math.max(...columns.values())
  return bad.find((at) => columns.get(core[at]!) === often) ?? -1
}
