import { useComputed } from '@preact/signals'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { CoreMoment } from '../api'
import { ask } from '../client'
import { percent, plain } from '../figures'
import { axis, follow, info, lanes, look, pick, picked, utc, zoom } from '../state'
import { clock, decimalsFor, duration, length } from '../time'
import { EventsLane } from './EventsLane'
import { GaugeLane } from './GaugeLane'
import { GUTTER, hover, laneWidth, measure, plotWidth, scaled, timeAt, xOf } from './geometry'
import { keepLoading, queueNames, seen, shownRows } from './map'
import { MapLane } from './MapLane'
import { MeanLane } from './MeanLane'
import { Minimap } from './Minimap'
import { cellAt } from './paint'
import { Ruler } from './Ruler'

const CLICK_PIXELS = 4
const EDGE_PIXELS = 6
const LINE_HIGH = 46

interface Drag {
  kind: 'brush' | 'pan' | 'start' | 'end'
  x: number
  core: number | null
  from: { start: number; end: number }
  moved: boolean
}

/** All lanes on one axis, and what the pointer does on them. */
export function Timeline({ room }: { room: number }) {
  const place = useRef<HTMLDivElement>(null)
  const drag = useRef<Drag | null>(null)
  const [brush, setBrush] = useState<{ from: number; to: number } | null>(null)
  useEffect(() => keepLoading(), [])
  useLayoutEffect(() => {
    const fit = (): void => {
      measure()
      laneWidth.value = place.current!.clientWidth
    }
    const watch = new ResizeObserver(fit)
    watch.observe(place.current!)
    fit()
    return () => watch.disconnect()
  }, [])

  function at(event: PointerEvent | WheelEvent | MouseEvent): { x: number; y: number; lane: string; core: number | null } {
    const box = place.current!.getBoundingClientRect()
    const target = event.target as HTMLElement
    const lane = (target.closest('[data-lane]') as HTMLElement | null)?.dataset['lane'] ?? ''
    const row = Number(target.dataset['row'])
    const core = lane === 'map' && row ? (shownRows.value[Math.floor(event.offsetY / row)] ?? null) : null
    return { x: event.clientX - box.left, y: event.clientY - box.top, lane, core }
  }

  function down(event: PointerEvent): void {
    const { x, lane, core } = at(event)
    if (!lane || x < GUTTER || event.button > 1) return
    const onEdge = (time: number): boolean => Math.abs(xOf(time) - x) < EDGE_PIXELS
    const chosen = picked.value
    const kind =
      lane === 'ruler' || event.button === 1 || event.altKey ? 'pan'
      : chosen && onEdge(chosen.end) ? 'end'
      : chosen && onEdge(chosen.start) ? 'start'
      : 'brush'
    drag.current = { kind, x, core, from: axis.value, moved: false }
    place.current!.setPointerCapture(event.pointerId)
    event.preventDefault()
  }

  function move(event: PointerEvent): void {
    const { x, y, lane, core } = at(event)
    const one = drag.current
    if (!one) {
      const inside = x >= GUTTER && x <= GUTTER + plotWidth.value && lane !== ''
      hover.value = inside ? { time: timeAt(x), x, y, core, lane } : null
      return
    }
    if (Math.abs(x - one.x) >= CLICK_PIXELS) one.moved = true
    if (!one.moved) return
    if (one.kind === 'pan') {
      const by = ((one.x - x) / plotWidth.value) * length(one.from)
      follow.value = false
      look({ start: one.from.start + by, end: one.from.end + by })
      return
    }
    hover.value = { time: timeAt(x), x, y, core: one.core, lane }
    const chosen = picked.value
    if (one.kind === 'brush') setBrush({ from: timeAt(one.x), to: timeAt(x) })
    else if (chosen) {
      const fixed = one.kind === 'end' ? chosen.start : chosen.end
      setBrush({ from: fixed, to: timeAt(x) })
    }
  }

  function up(event: PointerEvent): void {
    const one = drag.current
    drag.current = null
    if (!one) return
    if (one.moved && brush && one.kind !== 'pan') {
      const span = { start: Math.min(brush.from, brush.to), end: Math.max(brush.from, brush.to) }
      const cores = event.shiftKey && one.core !== null ? between(one.core, coreUnder(event)) : undefined
      if (span.end - span.start >= 0.001) pick(span, cores)
    } else if (!one.moved && one.kind === 'brush' && one.core !== null) cell(one.core, timeAt(one.x))
    setBrush(null)
  }

  function coreUnder(event: PointerEvent): number | null {
    const map = place.current!.querySelector<HTMLCanvasElement>('canvas[data-lane="map"]')!
    const row = Number(map.dataset['row'])
    const y = event.clientY - map.getBoundingClientRect().top
    const index = Math.max(0, Math.min(shownRows.value.length - 1, Math.floor(y / row)))
    return shownRows.value[index] ?? null
  }

  function between(first: number, last: number | null): number[] {
    const a = shownRows.value.indexOf(first)
    const b = last === null ? a : shownRows.value.indexOf(last)
    return shownRows.value.slice(Math.min(a, b), Math.max(a, b) + 1)
  }

  /** A click takes the cell: its core, its time, at least a second. */
  function cell(core: number, time: number): void {
    const found = cellAt(seen.value, core, time, info.value?.modes ?? [])
    if (!found) return
    const wide = Math.max(1, found.seconds)
    const start = found.seconds >= 1 ? found.start : Math.floor(time)
    pick({ start, end: start + wide }, [core])
  }

  function wheel(event: WheelEvent): void {
    const { x, lane } = at(event)
    if (!lane || event.ctrlKey === undefined) return
    event.preventDefault()
    follow.value = false
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      const by = (((event.deltaX || event.deltaY) * 1.2) / plotWidth.value) * length(axis.value)
      look({ start: axis.value.start + by, end: axis.value.end + by })
    } else {
      const lines = event.deltaMode === 1 ? 24 : 1
      const strength = Math.max(-0.7, Math.min(0.7, event.deltaY * lines * 0.0022))
      zoom(Math.exp(strength), timeAt(Math.max(GUTTER, x)))
    }
  }

  useEffect(() => {
    const element = place.current!
    element.addEventListener('wheel', wheel, { passive: false })
    return () => element.removeEventListener('wheel', wheel)
  }, [])

  return (
    <div
      class="timeline"
      ref={place}
      onPointerDown={down}
      onPointerMove={move}
      onPointerUp={up}
      onPointerLeave={() => !drag.current && (hover.value = null)}
      onDblClick={() => {
        const chosen = picked.value
        if (chosen) look({ start: chosen.start - length(chosen) * 0.1, end: chosen.end + length(chosen) * 0.1 })
      }}
    >
      <Minimap />
      <Ruler />
      <EventsLane />
      <MapLane room={room} />
      <MeanLane height={scaled(LINE_HIGH + 8)} />
      {lanes.value.map((field) => (
        <GaugeLane key={field} field={field} height={scaled(LINE_HIGH)} />
      ))}
      <Overlay brush={brush} />
      <Tip />
    </div>
  )
}

/** The selection and the crosshair, over all lanes. */
function Overlay({ brush }: { brush: { from: number; to: number } | null }) {
  const shown = useComputed(() => picked.value)
  const span = brush
    ? { start: Math.min(brush.from, brush.to), end: Math.max(brush.from, brush.to) }
    : shown.value
  void [axis.value, plotWidth.value]
  const left = span ? Math.max(GUTTER, xOf(span.start)) : 0
  const right = span ? Math.min(GUTTER + plotWidth.value, xOf(span.end)) : 0
  const isSeen = span !== null && right >= GUTTER && left <= GUTTER + plotWidth.value
  return (
    <div class="overlay" aria-hidden="true">
      {isSeen && (
        <div class="picked" style={{ left: `${left}px`, width: `${Math.max(2, right - left)}px` }}>
          {brush && <span>{duration(span.end - span.start)}</span>}
        </div>
      )}
      {hover.value && <div class="crosshair" style={{ transform: `translateX(${hover.value.x}px)` }} />}
    </div>
  )
}

/** What the cell under the pointer says, and after a moment who was on the core. */
function Tip() {
  const [who, setWho] = useState<CoreMoment | null>(null)
  const one = hover.value
  const found = one?.core != null ? cellAt(seen.value, one.core, one.time, info.value?.modes ?? []) : null
  const key = one && one.core !== null ? `${one.core} ${one.time.toFixed(3)}` : ''
  useEffect(() => {
    if (!key || !one || one.core === null || !found?.percent) return
    const timer = window.setTimeout(() => {
      ask('/api/who', { core: [one.core!], at: one.time })
        .then(setWho)
        .catch(() => undefined)
    }, 150)
    return () => clearTimeout(timer)
  }, [key])
  if (!one || one.core === null || !found) return null
  const isLeft = one.x > laneWidth.value - 340
  // Who was there a moment ago is shown until the next answer comes.
  const isNear = who?.core === one.core && Math.abs(who.time - one.time) <= Math.max(1, found.seconds)
  const moment = isNear ? who : null
  const queue = queueNames.value.get(one.core)
  const beside = isLeft ? { right: `${laneWidth.value - one.x + 14}px` } : { left: `${one.x + 14}px` }
  return (
    <div class="tip" style={{ ...beside, top: `${one.y + 16}px` }} role="status">
      <b>core {one.core}</b>
      {queue && <span class="tag">◄{queue}</span>}{' '}
      {found.percent === null ? 'not recorded' : `${percent(found.percent)} ${found.mode}`}
      <div class="faint">
        {clock(found.start, utc.value, decimalsFor(found.seconds))}
        {found.seconds > 1 ? `, the worst second of ${duration(found.seconds)}` : found.seconds < 1 ? `, ${duration(found.seconds)}` : ''}
      </div>
      {moment && (
        <div>
          {plain(moment.comm)}{moment.pid === null ? '' : ` (${moment.pid})`}
          <div class="faint mono">{moment.stack.slice(-3).map((frame) => plain(frame.name)).join(' ► ')}</div>
        </div>
      )}
    </div>
  )
}

