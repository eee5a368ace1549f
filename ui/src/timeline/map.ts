// The one set of tiles that the map, the lines below it and the minimap are drawn from.

import { computed, effect, signal } from '@preact/signals'
import type { CoreNode, CoreQueues } from '../api'
import { dark, pixelTable } from '../colours'
import { axis, follow, info, order, show, whole } from '../state'
import { length } from '../time'
import { plotWidth } from './geometry'
import { byNode, type NodeStart, startsOf } from './numa'
import { byHeat, type Look } from './paint'
import { COLUMNS, levelFor, type Tile, Tiles } from './tiles'

/** Rises with each tile that arrives. */
export const arrived = signal(0)
export const problem = signal('')
export const tiles = new Tiles(() => {
  arrived.value++
  problem.value = tiles.failed ?? ''
})
export const queues = signal<CoreQueues[]>([])
/** Null until the server has said; empty where it was not recorded. */
export const numaNodes = signal<CoreNode[] | null>(null)
const nodeOf = computed(() => new Map((numaNodes.value ?? []).map((one) => [one.core, one.numa_node])))

const pixels = (): number => plotWidth.value * (window.devicePixelRatio || 1)

/** While following, whole seconds are enough: naming the live samples takes the server long. */
const LIVE_LEVEL = 0
export const level = computed(() => {
  const fine = levelFor(length(axis.value) / pixels())
  return follow.value ? Math.max(LIVE_LEVEL, fine) : fine
})
/** The same list while it holds the same tiles: what is made of them is then not made anew. */
let kept: Tile[] = []
export const seen = computed<Tile[]>(() => {
  void [arrived.value, show.value]
  const now = tiles.covering(axis.value, level.value)
  if (now.length !== kept.length || now.some((tile, index) => tile !== kept[index])) kept = now
  return kept
})

/** Some of what is seen is counted from samples. */
export const bySamples = computed(() => seen.value.some((tile) => tile.cells.source === 'samples'))

const rows = computed<readonly number[]>(() => {
  const cores = info.value?.cores ?? []
  if (order.value === 'numa') return byNode(cores, nodeOf.value)
  if (order.value === 'number') return cores
  return byHeat(cores, seen.value.filter((tile) => tile.level === level.value), axis.value.start, axis.value.end)
})
/** From top to bottom. The same list while the order stays: pictures are made anew when it changes. */
let before: readonly number[] = []
export const shownRows = computed<readonly number[]>(() => {
  const now = rows.value
  if (now.length !== before.length || now.some((core, index) => core !== before[index])) before = now
  return before
})

/** Where in `shownRows` each NUMA node begins; empty in any other order. */
export const nodeStarts = computed<NodeStart[]>(() =>
  order.value === 'numa' && nodeOf.value.size ? startsOf(shownRows.value, nodeOf.value) : [],
)

const table = computed(() => pixelTable(info.value?.modes ?? [], dark.value))

export const look = computed<Look>(() => ({
  rows: shownRows.value,
  table: table.value,
  modes: info.value?.modes ?? [],
  show: show.value,
  stamp: [dark.value, show.value, shownRows.value.join()].join('|'),
}))

/** What core × time is asked for, whenever the axis, the mode or the recording has moved. */
export function keepLoading(): () => void {
  let timer = 0
  return effect(() => {
    if (!info.value) return
    void [axis.value, whole.value, level.value]
    tiles.use(show.value)
    clearTimeout(timer)
    // A quick zoom passes through levels that nobody looks at.
    const wait = tiles.covering(axis.value, level.value).length ? 60 : 0
    timer = window.setTimeout(() => tiles.want(axis.peek(), level.peek(), whole.peek()), wait)
  })
}

export interface NodeLines {
  times: number[]
  mean: (number | null)[]
  worst: (number | null)[]
  core: number[]
}

/** Mean and worst core of what is seen: of each stretch the finest tile that is loaded. */
export const nodeLines = computed<NodeLines>(() => {
  const found: NodeLines = { times: [], mean: [], worst: [], core: [] }
  const finest = new Map<number, Tile>()
  const all = seen.value
  const chosen = all.filter((tile) => tile.level === level.value)
  const used = chosen.length ? chosen : all.slice(0, 2)
  for (const tile of used) finest.set(tile.span.start, tile)
  for (const tile of [...finest.values()].sort((a, b) => a.span.start - b.span.start)) {
    const step = length(tile.span) / COLUMNS
    for (let column = 0; column < COLUMNS; column++) {
      found.times.push(tile.span.start + (column + 0.5) * step)
      found.mean.push(tile.cells.node_mean_percent_of_machine[column] ?? null)
      found.worst.push(tile.cells.node_worst_percent_of_core[column] ?? null)
      found.core.push(tile.cells.node_worst_core[column] ?? -1)
    }
  }
  return found
})

/** `q5` or `q0–3` by core. */
export const queueNames = computed(() => {
  const found = new Map<number, string>()
  for (const one of queues.value) {
    const numbers = one.queues
    const text = numbers.length > 2 ? `q${numbers[0]}…${numbers[numbers.length - 1]}` : numbers.map((n) => `q${n}`).join(',')
    found.set(one.core, found.has(one.core) ? `${found.get(one.core)}+` : text)
  }
  return found
})
