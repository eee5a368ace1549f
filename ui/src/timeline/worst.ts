import type { Span } from '../time'
import type { NodeLines } from './map'

const AS_BAD_PERCENT = 0.5

/**
 * Which column says how bad it was, -1 for none: many cores may be full for a second, so of all
 * columns as bad as the worst one those of the core that was so most often, and of these the first.
 */
export function worstSeen({ times, worst, core }: NodeLines, span: Span): number {
  const inside = times.flatMap((time, at) => (time >= span.start && time <= span.end && worst[at] != null ? [at] : []))
  const most = inside.reduce((highest, at) => Math.max(highest, worst[at]!), -Infinity)
  const bad = inside.filter((at) => worst[at]! >= most - AS_BAD_PERCENT)
  const columns = new Map<number, number>()
  for (const at of bad) columns.set(core[at]!, (columns.get(core[at]!) ?? 0) + 1)
  const often = Math.max(...columns.values())
  return bad.find((at) => columns.get(core[at]!) === often) ?? -1
}
