// The core map in tiles: a level has columns of 2^k seconds, a tile 512 of them. What is loaded is
// drawn while finer tiles are under way, so panning never waits.

import type { CoreCells } from '../api'
import { ask, unpacked } from '../client'
import { length, type Span } from '../time'

export const COLUMNS = 512
/** 7.8 ms: less than samples are apart. */
const FINEST = -7
const KEPT = 160
const AT_ONCE = 4

export interface Tile {
  key: string
  level: number
  span: Span
  cells: CoreCells
  worst: Uint8Array
  mode: Uint8Array
  /** Recorded to the end of the tile; otherwise it is asked for again while there is more. */
  done: boolean
  /** The end of the recording when it was asked for. */
  until: number
}

export const columnSeconds = (level: number): number => 2 ** level

export const levelFor = (secondsPerPixel: number): number =>
  Math.max(FINEST, Math.ceil(Math.log2(secondsPerPixel) - 1e-9))

export const tileSpan = (level: number, index: number): Span => {
  const wide = COLUMNS * columnSeconds(level)
  return { start: index * wide, end: (index + 1) * wide }
}

export function tileIndexes(level: number, span: Span): number[] {
  const wide = COLUMNS * columnSeconds(level)
  const first = Math.floor(span.start / wide)
  const last = Math.ceil(span.end / wide) - 1
  return Array.from({ length: Math.max(0, Math.min(40, last - first + 1)) }, (_, i) => first + i)
}

interface Wanted {
  level: number
  index: number
}

export class Tiles {
  private tiles = new Map<string, Tile>()
  private under = new Map<string, AbortController>()
  private queue: Wanted[] = []
  private show = 'busy'
  failed: string | null = null

  constructor(private readonly changed: () => void) {}

  get busy(): boolean {
    return this.under.size > 0
  }

  use(show: string): void {
    if (show === this.show) return
    this.show = show
    this.queue = []
    for (const key of this.under.keys()) this.drop(key)
  }

  private drop(key: string): void {
    this.under.get(key)?.abort()
    this.under.delete(key)
  }

  /** Loaded tiles that show some of this, the coarsest first: finer ones are drawn over them. */
  covering(span: Span, level: number): Tile[] {
    const found: Tile[] = []
    for (const tile of this.tiles.values()) {
      if (!tile.key.startsWith(this.show + ' ') || tile.level < level) continue
      if (tile.span.end > span.start && tile.span.start < span.end) found.push(tile)
    }
    return found.sort((a, b) => b.level - a.level)
  }

  /** Asks for what is missing of this span, and then for what lies beside it. */
  want(span: Span, level: number, recorded: Span): void {
    const wide = length(span)
    const near = { start: span.start - wide / 2, end: span.end + wide / 2 }
    const seen = tileIndexes(level, span)
    const beside = tileIndexes(level, near).filter((index) => !seen.includes(index))
    this.queue = [...seen, ...beside]
      .map((index) => ({ level, index }))
      .filter((one) => this.isMissing(one, recorded))
    const wanted = new Set(this.queue.map((one) => this.key(one)))
    for (const key of this.under.keys()) if (!wanted.has(key)) this.drop(key)
    this.start(recorded)
  }

  private key(one: Wanted): string {
    return `${this.show} ${one.level} ${one.index}`
  }

  private isMissing(one: Wanted, recorded: Span): boolean {
    const span = tileSpan(one.level, one.index)
    if (span.end <= recorded.start || span.start >= recorded.end) return false
    const tile = this.tiles.get(this.key(one))
    if (!tile) return true
    return !tile.done && recorded.end > tile.until + 0.5
  }

  private start(recorded: Span): void {
    while (this.under.size < AT_ONCE && this.queue.length) {
      const one = this.queue.shift()!
      const key = this.key(one)
      if (!this.under.has(key)) void this.load(one, key, recorded)
    }
  }

  private async load(one: Wanted, key: string, recorded: Span): Promise<void> {
    const abort = new AbortController()
    this.under.set(key, abort)
    const span = tileSpan(one.level, one.index)
    try {
      const query = { ...span, columns: COLUMNS, show: this.show as CoreCells['mode'] & 'busy' }
      const cells = await ask('/api/cores', query, { signal: abort.signal })
      this.keep({
        key, level: one.level, span, cells, until: recorded.end,
        worst: unpacked(cells.worst), mode: unpacked(cells.worst_mode),
        done: span.end <= recorded.end,
      })
      this.failed = null
    } catch (error) {
      if (!abort.signal.aborted) {
        this.failed = error instanceof Error ? error.message : String(error)
        this.queue = []
      }
    }
    if (this.under.get(key) === abort) this.under.delete(key)
    this.changed()
    this.start(recorded)
  }

  private keep(tile: Tile): void {
    this.tiles.delete(tile.key)
    this.tiles.set(tile.key, tile)
    while (this.tiles.size > KEPT) this.tiles.delete(this.tiles.keys().next().value!)
  }
}
