import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { SubSecondCells } from '../api'
import { unpacked, useAnswer } from '../client'
import { dark, heatTable } from '../colours'
import { counted } from '../figures'
import { selected } from '../selected'
import { hasFilter, heat, info, pick, picked, utc } from '../state'
import { clock, contains, duration, length, type Span } from '../time'
import { box, fontSize, scaled, schedule, sized, themed } from '../timeline/geometry'
import { whyNoSamples } from './NoSamples'
import { Answered } from './parts'

/** Shown around a selection that is shorter: bursts are seen against what is quiet. */
const AROUND_SECONDS = 60
const SHARE_OF_SCREEN = 0.3

/** When within each second samples fell: a column is a second, from bottom to top its slices. */
export function SubSecond() {
  const [rows, setRows] = useState(50)
  const span = picked.value
  useEffect(() => {
    if (!span || (heat.value && contains(heat.value, span))) return
    const more = Math.max(0, AROUND_SECONDS - length(span)) / 2
    heat.value = { start: Math.floor(span.start - more), end: Math.ceil(span.end + more) }
  }, [span?.start, span?.end])
  const query = selected.value
  const asked = useAnswer('/api/sub-second', query && heat.value && { ...query, ...heat.value, rows })
  return (
    <>
      <div class="flame-bar">
        <label>
          slices of a second{' '}
          <select value={rows} onChange={(event) => setRows(Number(event.currentTarget.value))}>
            {[10, 20, 25, 50, 100].map((count) => <option value={count}>{count} ({1000 / count} ms)</option>)}
          </select>
        </label>
        <span class="faint">Drag from cell to cell to select that stretch.</span>
        <button onClick={() => widen(2)}>wider</button>
        <button onClick={() => widen(0.5)}>narrower</button>
      </div>
      <Answered of={asked}>{(cells) => <Heat cells={cells} />}</Answered>
    </>
  )
}

function widen(by: number): void {
  const now = heat.value
  if (!now || !picked.value) return
  const wide = Math.min(3600, Math.max(length(picked.value), 10, length(now) * by))
  const at = (picked.value.start + picked.value.end) / 2
  heat.value = { start: Math.floor(at - wide / 2), end: Math.ceil(at + wide / 2) }
}

function Heat({ cells }: { cells: SubSecondCells }) {
  const left = scaled(62)
  const bottom = scaled(18)
  const canvas = useRef<HTMLCanvasElement>(null)
  const place = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(800)
  const [from, setFrom] = useState<number | null>(null)
  const [at, setAt] = useState<number | null>(null)
  const counts = useMemo(() => new Uint16Array(unpacked(cells.counts).buffer), [cells])
  const picture = useMemo(() => painted(cells, counts, dark.value), [cells, dark.value])
  useLayoutEffect(() => {
    const watch = new ResizeObserver(() => setWidth(place.current!.clientWidth))
    watch.observe(place.current!)
    setWidth(place.current!.clientWidth)
    return () => watch.disconnect()
  }, [])
  const wide = Math.max(1, width - left)
  const step = wide / Math.max(1, cells.columns)
  const row = Math.max(3, Math.round((SHARE_OF_SCREEN * window.innerHeight) / cells.rows))
  const high = row * cells.rows
  useEffect(() => schedule(draw), [picture, width, from, at, picked.value])

  /** Cells in order of time: up a column, then the next. */
  const cellOf = (event: MouseEvent): number => {
    const x = Math.max(0, Math.min(cells.columns - 1, Math.floor((event.offsetX - left) / step)))
    const y = Math.max(0, Math.min(cells.rows - 1, cells.rows - 1 - Math.floor(event.offsetY / row)))
    return x * cells.rows + y
  }
  const timeOf = (cell: number): number => cells.start + cell / cells.rows

  function draw(): void {
    if (!canvas.current) return
    const context = sized(canvas.current, width, high + bottom)
    context.clearRect(0, 0, width, high + bottom)
    context.imageSmoothingEnabled = false
    context.drawImage(picture, left, 0, wide, high)
    const span = brushed() ?? picked.value
    if (span) outline(context, span)
    const size = fontSize() - 2
    context.font = `${size}px system-ui, sans-serif`
    context.fillStyle = themed('--soft')
    context.textBaseline = 'middle'
    for (const part of [0, 0.25, 0.5, 0.75]) {
      context.fillText(`+${part * 1000} ms`, 4, Math.max(size / 2, high - part * high - row / 2))
    }
    const label = size * 6
    const every = Math.ceil(label / step)
    for (let x = 0; x < cells.columns && x * step + label < wide; x += every) {
      context.fillText(clock(cells.start + x, utc.value), left + x * step, high + bottom / 2)
    }
  }
  function brushed(): Span | null {
    if (from === null || at === null) return null
    return { start: timeOf(Math.min(from, at)), end: timeOf(Math.max(from, at) + 1) }
  }
  function outline(context: CanvasRenderingContext2D, span: Span): void {
    const first = Math.max(0, Math.round((span.start - cells.start) * cells.rows))
    const last = Math.min(cells.rows * cells.columns, Math.round((span.end - cells.start) * cells.rows))
    context.fillStyle = themed('--picked')
    for (let x = Math.floor(first / cells.rows); x * cells.rows < last; x++) {
      const low = Math.max(0, first - x * cells.rows)
      const top = Math.min(cells.rows, last - x * cells.rows)
      context.fillRect(left + x * step, high - top * row, step, (top - low) * row)
    }
  }
  const hovered = at !== null && from === null ? counts[(at % cells.rows) * cells.columns + Math.floor(at / cells.rows)] : null
  return (
    <div ref={place}>
      <canvas
        ref={canvas}
        class="heat"
        style={box(width, high + bottom)}
        role="img"
        aria-label={`Sub-second heat map, ${cells.columns} seconds; the fullest cell has ${counted(cells.most, 'sample')}`}
        onPointerDown={(event) => {
          setFrom(cellOf(event))
          setAt(cellOf(event))
          event.currentTarget.setPointerCapture(event.pointerId)
        }}
        onPointerMove={(event) => setAt(cellOf(event))}
        onPointerLeave={() => from === null && setAt(null)}
        onPointerUp={() => {
          const span = brushed()
          setFrom(null)
          if (span) pick(span)
        }}
      />
      <p class="faint small" role="status">
        {hovered !== null && at !== null
          ? `${clock(timeOf(at), utc.value, 3)}: ${counted(hovered ?? 0, 'sample')} in ${duration(1 / cells.rows)}`
          : cells.most > 0 ? `The fullest cell has ${counted(cells.most, 'sample')}.` : whyNoSamples(info.value?.samples ?? 0, hasFilter.value)}
      </p>
    </div>
  )
}

function painted(cells: SubSecondCells, counts: Uint16Array, isDark: boolean): OffscreenCanvas {
  const picture = new OffscreenCanvas(Math.max(1, cells.columns), cells.rows)
  const context = picture.getContext('2d')!
  const image = context.createImageData(Math.max(1, cells.columns), cells.rows)
  const pixels = new Uint32Array(image.data.buffer)
  const table = heatTable(isDark)
  const most = Math.max(1, cells.most)
  for (let row = 0; row < cells.rows; row++) {
    for (let column = 0; column < cells.columns; column++) {
      const count = counts[row * cells.columns + column]!
      const value = count ? 20 + Math.round((count / most) * 235) : 0
      pixels[(cells.rows - 1 - row) * cells.columns + column] = table[value]!
    }
  }
  context.putImageData(image, 0, 0)
  return picture
}
