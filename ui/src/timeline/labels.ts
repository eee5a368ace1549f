// Marks and their labels in rows: no label over another, nor over a mark; the severe first.

export interface Marked {
  /** Where its first and its last event are. */
  x: number
  end: number
  severity: number
  /** Width its label would take. */
  wide: number
  /** Where the last of its crowd ends: the label lies behind that. */
  until?: number
  /** Another of its crowd speaks for it. */
  silent?: boolean
}

export interface Placed {
  row: number
  /** False where there was no room for the label. */
  labelled: boolean
}

const MARK = 6
const GAP = 5

export interface Crowd {
  /** How many others this one speaks for. */
  more: number
  until: number
  silent: boolean
}

const rowOf = (mark: Marked): number => (mark.severity >= 3 ? 0 : 1)

/** Marks in one row that all but touch: the first speaks for them. */
export function crowded(marks: readonly Marked[]): Crowd[] {
  const found = marks.map((mark): Crowd => ({ more: 0, until: mark.end, silent: false }))
  const heads: (number | undefined)[] = []
  const order = marks.map((_, index) => index).sort((a, b) => marks[a]!.x - marks[b]!.x)
  for (const index of order) {
    const mark = marks[index]!
    const head = heads[rowOf(mark)]
    const isNear = head !== undefined && mark.x - found[head]!.until < 3 * MARK && mark.x - marks[head]!.x < 60
    if (isNear) {
      found[head]!.more++
      found[head]!.until = Math.max(found[head]!.until, mark.end)
      found[index]!.silent = true
    } else heads[rowOf(mark)] = index
  }
  return found
}

/** `unit`: how much larger than on a laptop marks are drawn. Harm has the first row, the rest the others; a label lies right of its mark, in its row. */
export function placed(marks: readonly Marked[], rows: number, left: number, right: number, unit = 1): Placed[] {
  const found: Placed[] = marks.map((mark) => ({ row: Math.min(rows - 1, rowOf(mark)), labelled: false }))
  const taken: [number, number][][] = Array.from({ length: rows }, () => [])
  marks.forEach((mark, index) => taken[found[index]!.row]!.push([mark.x - MARK, mark.end + MARK]))
  const order = marks.map((_, index) => index)
  order.sort((a, b) => marks[b]!.severity - marks[a]!.severity || marks[a]!.x - marks[b]!.x)
  for (const index of order) {
    const mark = marks[index]!
    if (mark.silent) continue
    const from = labelStart(mark, left, unit)
    const to = from + mark.wide
    if (to > right) continue
    const [begin, end] = [mark.x - MARK, (mark.until ?? mark.end) + MARK]
    // Its own crowd may be under it, and a long bar carries its label itself.
    const row = taken[found[index]!.row]!
    const free = row.every(([a, b]) => (a >= begin && b <= end) || to + GAP < a || from - GAP > b)
    if (free) {
      row.push([from, to])
      found[index]!.labelled = true
    }
  }
  return found
}

/** Right of the last event, or inside a bar that is long enough to hold it. */
export function labelStart(mark: Marked, left: number, unit = 1): number {
  const begin = Math.max(mark.x, left)
  return mark.end - begin > mark.wide + 30 ? begin + 10 * unit : Math.max(mark.until ?? mark.end, left) + 8 * unit
}
