import { effect } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { dark } from '../colours'
import { axis, filter, info, show, toggleCore } from '../state'
import { atPixel, box, GUTTER, fontSize, hover, laneWidth, plotWidth, scaled, schedule, sized, themed, xOf } from './geometry'
import { look, nodeLines, nodeStarts, problem, queueNames, seen, shownRows } from './map'
import { Pictures } from './paint'
import { worstSeen } from './sight'

const pictures = new Pictures()
const STRIPE = 9
const NO_CORES = 'No core is in this recording: mpstat, copies of /proc/stat and perf record -a have them.'

/** Whole pixels a row, so that all rows are equally high. */
export function rowHeight(cores: number, room: number): number {
  return Math.max(2, Math.min(scaled(26), Math.floor(room / Math.max(1, cores))))
}

export function MapLane({ room }: { room: number }) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const cores = shownRows.value.length
  const row = rowHeight(cores, room)
  const height = Math.max(row * cores, 24)
  useEffect(
    () =>
      effect(() => {
        void [axis.value, look.value, seen.value, laneWidth.value, filter.value, hover.value?.core, queueNames.value, nodeStarts.value]
        void dark.value
        schedule(draw)
      }),
    [row, height],
  )
  function draw(): void {
    if (!canvas.current) return
    const context = sized(canvas.current, laneWidth.value, height)
    context.clearRect(0, 0, laneWidth.value, height)
    context.save()
    context.beginPath()
    context.rect(GUTTER, 0, plotWidth.value, height)
    context.clip()
    context.imageSmoothingEnabled = false
    for (const tile of seen.value) {
      const x = atPixel(xOf(tile.span.start))
      const end = atPixel(xOf(tile.span.end))
      stripes(context, Math.max(GUTTER, x), Math.min(GUTTER + plotWidth.value, end))
      context.drawImage(pictures.of(tile, look.value), x, 0, end - x, row * cores)
    }
    gaps(context)
    dim(context)
    context.restore()
    labels(context)
    nodes(context)
    // For bench.page: when the first cells were there.
    if (seen.value.length && !performance.getEntriesByName('exhume:map').length) performance.mark('exhume:map')
  }
  /** Where nothing was recorded there are stripes: not zero, not known. */
  function gaps(context: CanvasRenderingContext2D): void {
    for (const gap of [...(info.value?.gaps ?? []), ...outside()]) {
      const from = Math.max(GUTTER, xOf(gap.start))
      const to = Math.min(GUTTER + plotWidth.value, xOf(gap.end))
      if (to - from >= 1) stripes(context, from, to)
    }
  }
  /** Also below the cells: those that were not recorded, as between two captures, let them through. */
  function stripes(context: CanvasRenderingContext2D, from: number, to: number): void {
    context.fillStyle = themed('--page')
    context.fillRect(from, 0, to - from, height)
    context.strokeStyle = themed('--rule')
    context.beginPath()
    for (let x = Math.floor((from - height) / STRIPE) * STRIPE; x < to; x += STRIPE) {
      const begin = Math.max(from, x)
      const end = Math.min(to, x + height)
      if (end <= begin) continue
      context.moveTo(begin, height - (begin - x))
      context.lineTo(end, height - (end - x))
    }
    context.stroke()
  }
  function outside(): { start: number; end: number }[] {
    const all = info.value?.window
    if (!all) return []
    return [
      { start: axis.value.start, end: Math.min(all.start, axis.value.end) },
      { start: Math.max(all.end, axis.value.start), end: axis.value.end },
    ].filter((one) => one.end > one.start)
  }
  /** With cores chosen the others step back. */
  function dim(context: CanvasRenderingContext2D): void {
    const chosen = filter.value.core
    if (!chosen.length) return
    context.fillStyle = themed('--veil')
    shownRows.value.forEach((core, index) => {
      if (!chosen.includes(core)) context.fillRect(GUTTER, index * row, plotWidth.value, row)
    })
  }
  function labels(context: CanvasRenderingContext2D): void {
    const size = fontSize() - 2
    context.font = `${size}px system-ui, sans-serif`
    context.textBaseline = 'middle'
    context.textAlign = 'right'
    const taken: number[] = []
    const put = (index: number, colour: string, bold = false): void => {
      const y = Math.min(height - size / 2, Math.max(size / 2, index * row + row / 2))
      if (taken.some((other) => Math.abs(other - y) < size + 1)) return
      taken.push(y)
      const core = shownRows.value[index]!
      const queue = queueNames.value.get(core)
      context.fillStyle = colour
      context.font = `${bold ? '600 ' : ''}${size}px system-ui, sans-serif`
      context.fillText(`${core}${queue ? ` ◄${queue}` : ''}`, GUTTER - 6, y)
    }
    const place = (core: number): number => shownRows.value.indexOf(core)
    const first = [hover.value?.core ?? -1, ...filter.value.core, hottest()]
    for (const core of first) if (core >= 0 && place(core) >= 0) put(place(core), themed('--ink'), true)
    for (const core of queueNames.value.keys()) if (place(core) >= 0) put(place(core), themed('--soft'))
    const step = Math.ceil((size + 6) / row)
    for (let index = 0; index < cores; index += step) put(index, themed('--faint'))
    context.textAlign = 'left'
  }
  /** A line where a NUMA node begins, and its number beside its rows. */
  function nodes(context: CanvasRenderingContext2D): void {
    const size = fontSize() - 2
    context.font = `600 ${size}px system-ui, sans-serif`
    for (const { row: first, rows, node } of nodeStarts.value) {
      const [top, bottom] = [first * row, (first + rows) * row]
      context.fillStyle = themed('--ink')
      if (first) context.fillRect(0, top - 1, GUTTER + plotWidth.value, 1)
      context.fillStyle = themed('--faint')
      context.fillRect(scaled(3), top + 2, 2, bottom - top - 4)
      context.fillStyle = themed('--soft')
      if (bottom - top >= size) context.fillText(node === null ? 'no node' : `N${node}`, scaled(9), (top + bottom) / 2)
    }
  }
  return (
    <div class="lane map" style={{ height: `${height}px` }}>
      <canvas
        ref={canvas}
        data-lane="map"
        data-row={row}
        tabIndex={0}
        style={box(laneWidth.value, height)}
        role="img"
        data-nodes={nodeStarts.value.map((one) => one.row).join(' ')}
        aria-label={`Core by time map of ${cores} cores${nodeStarts.value.length ? ` in ${nodeStarts.value.length} NUMA nodes` : ''}, ${show.value === 'busy' ? 'all modes' : show.value}; drag to select a range, click a number to choose a core`}
        onClick={(event) => {
          const core = shownRows.value[Math.floor(event.offsetY / row)]
          if (event.offsetX < GUTTER && core !== undefined) toggleCore(core)
        }}
      />
      {problem.value && <p class="lane-problem">{problem.value}</p>}
      {info.value?.cores.length === 0 && <p class="lane-note">{NO_CORES}</p>}
    </div>
  )
}

/** The core that is worst in what is seen, if it is bad at all. */
function hottest(): number {
  const { worst, core } = nodeLines.value
  const at = worstSeen(nodeLines.value, axis.value)
  return at >= 0 && (worst[at] ?? 0) >= 95 ? core[at]! : -1
}
