import { effect } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { dark } from '../colours'
import { axis, utc } from '../state'
import { clock, decimalsFor, length, ticks } from '../time'
import { box, GUTTER, fontSize, hover, laneWidth, plotWidth, scaled, schedule, sized, themed, xOf } from './geometry'


/** The time axis. Dragging it moves everything. */
export function Ruler() {
  const HIGH = scaled(22)
  const canvas = useRef<HTMLCanvasElement>(null)
  useEffect(
    () =>
      effect(() => {
        void [axis.value, laneWidth.value, dark.value, utc.value, hover.value]
        schedule(draw)
      }),
    [HIGH],
  )
  function draw(): void {
    if (!canvas.current) return
    const context = sized(canvas.current, laneWidth.value, HIGH)
    context.clearRect(0, 0, laneWidth.value, HIGH)
    const size = fontSize() - 2
    context.font = `${size}px system-ui, sans-serif`
    context.textBaseline = 'middle'
    const perPixel = length(axis.value) / plotWidth.value
    for (const tick of ticks(axis.value, perPixel * size * 8, utc.value)) {
      const x = xOf(tick.time)
      context.fillStyle = themed('--rule')
      context.fillRect(Math.round(x), HIGH - 6, 1, 6)
      context.fillStyle = tick.isDay ? themed('--ink') : themed('--soft')
      const wide = context.measureText(tick.label).width
      const at = Math.min(Math.max(GUTTER, x - wide / 2), GUTTER + plotWidth.value - wide)
      context.fillText(tick.label, at, HIGH / 2 - 3)
    }
    if (hover.value) flag(context, size, perPixel)
  }
  function flag(context: CanvasRenderingContext2D, size: number, perPixel: number): void {
    const text = clock(hover.value!.time, utc.value, Math.min(4, decimalsFor(perPixel)))
    context.font = `600 ${size}px system-ui, sans-serif`
    const wide = context.measureText(text).width + 10
    const x = Math.min(Math.max(GUTTER, hover.value!.x - wide / 2), GUTTER + plotWidth.value - wide)
    context.fillStyle = themed('--ink')
    context.fillRect(x, 1, wide, HIGH - 5)
    context.fillStyle = themed('--page')
    context.fillText(text, x + 5, HIGH / 2 - 2)
  }
  return (
    <div class="lane ruler" style={{ height: `${HIGH}px` }}>
      <span class="lane-name">{utc.value ? 'UTC' : 'local time'}</span>
      <canvas ref={canvas} data-lane="ruler" style={box(laneWidth.value, HIGH)} aria-hidden="true" />
    </div>
  )
}
