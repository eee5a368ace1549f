// Cores in the order of their NUMA nodes.

export interface NodeStart {
  row: number
  rows: number
  /** Null: cores of which nobody said. */
  node: number | null
}

/** Node by node, by number within; cores of no known node come last. */
export function byNode(cores: readonly number[], nodes: ReadonlyMap<number, number>): number[] {
  const of = (core: number): number => nodes.get(core) ?? Infinity
  return [...cores].sort((a, b) => (of(a) === of(b) ? a - b : of(a) - of(b)))
}

export function startsOf(rows: readonly number[], nodes: ReadonlyMap<number, number>): NodeStart[] {
  const found: NodeStart[] = []
  rows.forEach((core, row) => {
    const node = nodes.get(core) ?? null
    const last = found[found.length - 1]
    if (last && last.node === node) last.rows++
    else found.push({ row, rows: 1, node })
  })
  return found
}
