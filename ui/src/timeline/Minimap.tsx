import { effect, signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { CoreCells } from '../api'
import { HUES, css, dark } from '../colours'
import { ask } from '../client'
import { axis, follow, info, limits, look, picked, show, whole } from '../state'
import { length, range, within } from '../time'
import { box, GUTTER, laneWidth, plotWidth, scaled, schedule, sized, themed, timeAt, xOf } from './geometry'
import { utc } from '../state'
import { arrived } from './map'

const COLUMNS = 800
const RELOAD_SHARE = 0.004
const overview = signal<CoreCells | null>(null)

/** User mode is what cores are for; at a glance one looks for what else took one. */
const shown = (): Exclude<typeof show.value, 'busy'> => (show.value === 'busy' ? 'system' : show.value)

/** The whole recording at a glance; the frame is what the axis shows. */
export function Minimap() {
  const HIGH = scaled(34)
  const canvas = useRef<HTMLCanvasElement>(null)
  const drag = useRef<{ at: number; from: { start: number; end: number } } | null>(null)
  useEffect(() => {
    let asked = ''
    let until = 0
    const load = effect(() => {
      if (!info.value || !arrived.value) return // the map first
      const span = limits.value
      // A live recording grows: asked again when that would show.
      const grown = span.end - until > length(span) * RELOAD_SHARE
      if (asked === show.value && !grown) return
      asked = show.value
      until = span.end
      ask('/api/cores', { ...span, columns: COLUMNS, show: shown() })
        .then((answer) => (overview.value = answer))
        .catch(() => undefined)
    })
    const paint = effect(() => {
      void [axis.value, overview.value, laneWidth.value, dark.value, picked.value, limits.value]
      schedule(draw)
    })
    return () => {
      load()
      paint()
    }
  }, [HIGH])
  function draw(): void {
    if (!canvas.current) return
    const context = sized(canvas.current, laneWidth.value, HIGH)
    context.clearRect(0, 0, laneWidth.value, HIGH)
    const all = limits.value
    context.fillStyle = themed('--lane')
    context.fillRect(GUTTER, 0, plotWidth.value, HIGH)
    const cells = overview.value
    if (cells) {
      const step = length(cells.window) / cells.columns
      const wide = Math.max(1, (step / length(all)) * plotWidth.value + 0.5)
      const bars = (values: (number | null)[], colour: string): void => {
        context.fillStyle = colour
        values.forEach((value, column) => {
          if (!value) return
          const high = (Math.min(100, value) / 100) * (HIGH - 3)
          context.fillRect(xOf(cells.window.start + column * step, all), HIGH - high, wide, high)
        })
      }
      bars(cells.node_worst_percent_of_core, css(HUES[shown()]!, 0.8))
      bars(cells.node_mean_percent_of_machine, themed('--soft'))
    }
    for (const gap of info.value?.gaps ?? []) {
      context.fillStyle = themed('--page')
      context.fillRect(xOf(gap.start, all), 0, xOf(gap.end, all) - xOf(gap.start, all), HIGH)
    }
    const from = xOf(axis.value.start, all)
    const to = xOf(axis.value.end, all)
    if (to - from < plotWidth.value - 2) {
      context.fillStyle = themed('--veil')
      context.fillRect(GUTTER, 0, from - GUTTER, HIGH)
      context.fillRect(to, 0, GUTTER + plotWidth.value - to, HIGH)
      context.strokeStyle = themed('--accent')
      context.lineWidth = 1.5
      context.strokeRect(from, 0.75, Math.max(2, to - from), HIGH - 1.5)
    }
    if (picked.value) {
      context.fillStyle = themed('--accent')
      const x = xOf(picked.value.start, all)
      context.fillRect(x, 0, Math.max(2, xOf(picked.value.end, all) - x), 3)
    }
  }
  function move(event: PointerEvent): void {
    if (!drag.current) return
    const by = timeAt(event.offsetX, limits.value) - drag.current.at
    follow.value = false
    look({ start: drag.current.from.start + by, end: drag.current.from.end + by })
  }
  return (
    <div class="lane minimap" style={{ height: `${HIGH}px` }}>
      <span class="lane-name">whole</span>
      <canvas
        ref={canvas}
        style={box(laneWidth.value, HIGH)}
        role="img"
        title={`The worst core by ${shown()} time, and the mean of all; drag to move`}
        aria-label={`Whole recording, ${range(whole.value, utc.value)}; shown: ${range(axis.value, utc.value)}`}
        onPointerDown={(event) => {
          const at = timeAt(event.offsetX, limits.value)
          if (at < axis.value.start || at > axis.value.end) {
            const half = length(axis.value) / 2
            look(within({ start: at - half, end: at + half }, limits.value))
          }
          drag.current = { at, from: axis.value }
          event.currentTarget.setPointerCapture(event.pointerId)
        }}
        onPointerMove={move}
        onPointerUp={() => (drag.current = null)}
      />
    </div>
  )
}
