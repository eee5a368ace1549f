// Tiles → pictures: one ImageData a tile, made once for each order of rows, mode and theme.

import type { Tile } from './tiles'
import { COLUMNS } from './tiles'

export interface Look {
  /** Core numbers from top to bottom. */
  rows: readonly number[]
  table: Uint32Array
  modes: readonly string[]
  show: string
  /** Changes whenever any of the above does. */
  stamp: string
}

const NONE = 255

export class Pictures {
  private made = new Map<string, { stamp: string; tile: Tile; canvas: OffscreenCanvas }>()

  of(tile: Tile, look: Look): OffscreenCanvas {
    const known = this.made.get(tile.key)
    if (known && known.stamp === look.stamp && known.tile === tile) return known.canvas
    const canvas = painted(tile, look)
    this.made.set(tile.key, { stamp: look.stamp, tile, canvas })
    while (this.made.size > 200) this.made.delete(this.made.keys().next().value!)
    return canvas
  }
}

function painted(tile: Tile, look: Look): OffscreenCanvas {
  const height = Math.max(1, look.rows.length)
  const canvas = new OffscreenCanvas(COLUMNS, height)
  const context = canvas.getContext('2d')!
  const image = context.createImageData(COLUMNS, height)
  const pixels = new Uint32Array(image.data.buffer)
  const place = new Map(tile.cells.cores.map((core, row) => [core, row]))
  const fixed = look.show === 'busy' ? -1 : look.modes.indexOf(look.show)
  const unknown = look.table[NONE]!
  look.rows.forEach((core, row) => {
    const from = place.get(core)
    const begin = row * COLUMNS
    if (from === undefined) {
      pixels.fill(unknown, begin, begin + COLUMNS)
      return
    }
    for (let column = 0; column < COLUMNS; column++) {
      const at = from * COLUMNS + column
      const mode = fixed >= 0 ? fixed : tile.mode[at]! === NONE ? look.modes.length : tile.mode[at]!
      pixels[begin + column] = look.table[mode * 256 + tile.worst[at]!]!
    }
  })
  context.putImageData(image, 0, 0)
  return canvas
}

/** Rows by how hot they are in what is seen: the hottest first, equal ones by number. */
export function byHeat(cores: readonly number[], tiles: readonly Tile[], start: number, end: number): number[] {
  const heat = new Map<number, number>(cores.map((core) => [core, 0]))
  for (const tile of tiles) {
    const step = (tile.span.end - tile.span.start) / COLUMNS
    const first = Math.max(0, Math.floor((start - tile.span.start) / step))
    const last = Math.min(COLUMNS, Math.ceil((end - tile.span.start) / step))
    tile.cells.cores.forEach((core, row) => {
      let sum = 0
      for (let column = first; column < last; column++) {
        const value = tile.worst[row * COLUMNS + column]!
        // Full cells count far more than warm ones: a burst is what one looks for.
        if (value !== NONE) sum += value >= 190 ? value * 50 : value
      }
      heat.set(core, (heat.get(core) ?? 0) + sum)
    })
  }
  return [...cores].sort((a, b) => (heat.get(b) ?? 0) - (heat.get(a) ?? 0) || a - b)
}

export interface Cell {
  percent: number | null
  mode: string
  start: number
  seconds: number
}

/** What the finest loaded tile says of a core at an instant. */
export function cellAt(tiles: readonly Tile[], core: number, time: number, modes: readonly string[]): Cell | null {
  for (let index = tiles.length - 1; index >= 0; index--) {
    const tile = tiles[index]!
    if (time < tile.span.start || time >= tile.span.end) continue
    const step = (tile.span.end - tile.span.start) / COLUMNS
    const column = Math.floor((time - tile.span.start) / step)
    const row = tile.cells.cores.indexOf(core)
    if (row < 0) return null
    const value = tile.worst[row * COLUMNS + column]!
    const mode = tile.mode[row * COLUMNS + column]!
    return {
      percent: value === NONE ? null : value / 2,
      mode: mode === NONE ? '' : (modes[mode] ?? ''),
      start: tile.span.start + column * step,
      seconds: step,
    }
  }
  return null
}
