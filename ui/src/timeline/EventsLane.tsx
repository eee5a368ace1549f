import { effect } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { EventMark } from '../api'
import { dark } from '../colours'
import { grouped, plain } from '../figures'
import { axis, info, pick } from '../state'
import { box, GUTTER, fontSize, laneWidth, plotWidth, scaled, schedule, sized, themed, unit, xOf } from './geometry'
import { crowded, labelStart, type Marked, placed } from './labels'
import { useStretch } from './stretch'

const ROWS = 2
/** Like events closer than this are one mark. */
const PIXELS = 24

/** What a mark says in a few words. */
export function markLabel(mark: EventMark): string {
  const many = mark.count > 1 ? ` ×${grouped(mark.count)}` : ''
  const what = mark.signature || (mark.kind === 'kernel-log' || mark.kind === 'job-log' ? mark.text : mark.kind)
  const whose = mark.subject.length > 22 ? mark.subject.slice(0, 20) + '…' : mark.subject
  return plain(`${whose ? whose + ' ' : ''}${what}`.slice(0, 48)) + many
}

interface Drawn {
  mark: EventMark
  x: number
  end: number
}

export function EventsLane() {
  const canvas = useRef<HTMLCanvasElement>(null)
  const drawn = useRef<Drawn[]>([])
  const loaded = useStretch('/api/marks', {}, {}, () => scaled(PIXELS))
  const high = ROWS * (scaled(13) + 4) + 8
  useEffect(
    () =>
      effect(() => {
        void [axis.value, loaded.value, laneWidth.value, dark.value, info.value]
        schedule(draw)
      }),
    [high],
  )
  function draw(): void {
    if (!canvas.current) return
    const context = sized(canvas.current, laneWidth.value, high)
    context.clearRect(0, 0, laneWidth.value, high)
    const size = fontSize() - 1
    context.font = `${size}px system-ui, sans-serif`
    const right = GUTTER + plotWidth.value
    const marks = (loaded.value?.answer.marks ?? [])
      .map((mark) => ({ mark, x: xOf(mark.first_time), end: xOf(mark.last_time) }))
      .filter((one) => one.end >= GUTTER - 2 && one.x <= right)
    drawn.current = marks
    const sizes: Marked[] = marks.map(({ mark, x, end }) => ({ x, end, severity: mark.severity, wide: 0 }))
    const crowds = crowded(sizes)
    const labels = marks.map(({ mark }, index) => markLabel(mark) + (crowds[index]!.more ? ` +${crowds[index]!.more}` : ''))
    sizes.forEach((size, index) => {
      size.wide = context.measureText(labels[index]!).width
      size.until = crowds[index]!.until
      size.silent = crowds[index]!.silent
    })
    const places = placed(sizes, ROWS, GUTTER, right, unit())
    const colours = [themed('--faint'), themed('--faint'), themed('--warn'), themed('--harm')]
    const [ink, soft, page] = [themed('--ink'), themed('--soft'), themed('--page')]
    const line = high / ROWS
    context.textBaseline = 'middle'
    // The severe last, so that they lie on top.
    const order = marks.map((_, i) => i).sort((a, b) => marks[a]!.mark.severity - marks[b]!.mark.severity)
    for (const index of order) {
      const { mark, x, end } = marks[index]!
      const y = places[index]!.row * line + line / 2
      const from = Math.max(GUTTER, x)
      context.fillStyle = context.strokeStyle = colours[mark.severity]!
      if (end > x + 1) {
        context.globalAlpha = 0.3
        context.fillRect(from, y - 2, Math.min(right, end) - from, 4)
        context.globalAlpha = 1
      }
      triangle(context, from, y, mark.severity >= 3)
      if (end > x + 8 && end <= right) triangle(context, end, y, mark.severity >= 3)
      if (places[index]!.labelled) {
        const at = labelStart(sizes[index]!, GUTTER, unit())
        if (at < end) {
          context.fillStyle = page
          context.fillRect(at - 2, y - line / 2, sizes[index]!.wide + 6, line)
        }
        context.fillStyle = mark.severity >= 3 ? ink : soft
        context.fillText(labels[index]!, at, y)
      }
    }
  }
  function near(event: MouseEvent): Drawn | null {
    const x = event.offsetX
    let best: Drawn | null = null
    for (const one of drawn.current) {
      const apart = x < one.x ? one.x - x : x > one.end ? x - one.end : 0
      if (apart < 7 && (!best || one.mark.severity > best.mark.severity)) best = one
    }
    return best
  }
  return (
    <div class="lane events" style={{ height: `${high}px` }}>
      <span class="lane-name">events</span>
      <canvas
        ref={canvas}
        data-lane="events"
        style={box(laneWidth.value, high)}
        role="img"
        aria-label={`Events: ${loaded.value?.answer.marks.length ?? 0} marks; the tab Events lists them`}
        onMouseMove={(event) => {
          const found = near(event)
          event.currentTarget.title = found ? plain(`${markLabel(found.mark)}\n${found.mark.text}`) : ''
          event.currentTarget.style.cursor = found ? 'pointer' : ''
        }}
        onClick={(event) => {
          const found = near(event)
          // The seconds before harm are where its cause is.
          if (found) pick({ start: found.mark.first_time - 8, end: found.mark.first_time + 2 })
        }}
      />
    </div>
  )
}

function triangle(context: CanvasRenderingContext2D, x: number, y: number, filled: boolean): void {
  context.beginPath()
  const high = 5 * unit()
  context.moveTo(x, y - high)
  context.lineTo(x + high, y + high * 0.8)
  context.lineTo(x - high, y + high * 0.8)
  context.closePath()
  if (filled) context.fill()
  else context.stroke()
}

