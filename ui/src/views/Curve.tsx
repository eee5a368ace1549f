import { useLayoutEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { css, dark, HUES } from '../colours'
import { utc } from '../state'
import { ticks } from '../time'
import { fontSize, themed } from '../timeline/geometry'

/** A series on a page of its own. */
export function Curve({ times, values, label, shown }: {
  times: (number | null)[]
  values: (number | null)[]
  label: string
  shown: (value: number) => string
}) {
  const place = useRef<HTMLDivElement>(null)
  const isDark = dark.value
  const inUtc = utc.value
  useLayoutEffect(() => {
    const font = `${fontSize() - 1}px system-ui, sans-serif`
    // A third of the screen, and what is read below it stays in sight.
    const height = Math.max(fontSize() * 17, Math.round(window.innerHeight / 3))
    const side = { stroke: themed('--soft'), font, grid: { stroke: themed('--rule'), width: 1 }, ticks: { show: false } }
    const plot = new uPlot(
      {
        width: place.current!.clientWidth,
        height,
        legend: { show: false },
        cursor: { show: false },
        scales: { x: { time: false } },
        series: [{}, { stroke: css(HUES['system']!), fill: css(HUES['system']!, 0.12), width: 2, points: { show: times.length < 40 } }],
        axes: [
          {
            ...side,
            size: 26,
            splits: (self) => ticks({ start: self.scales['x']!.min!, end: self.scales['x']!.max! }, ((self.scales['x']!.max! - self.scales['x']!.min!) / self.width) * 90, inUtc).map((one) => one.time),
            values: (self, splits) => {
              const labels = ticks({ start: self.scales['x']!.min!, end: self.scales['x']!.max! }, ((self.scales['x']!.max! - self.scales['x']!.min!) / self.width) * 90, inUtc)
              return splits.map((_, index) => labels[index]?.label ?? '')
            },
          },
          { ...side, size: 84, values: (_, splits) => splits.map((value) => shown(value)) },
        ],
      },
      [times as number[], values],
      place.current!,
    )
    const watch = new ResizeObserver(() => plot.setSize({ width: place.current!.clientWidth, height }))
    watch.observe(place.current!)
    return () => {
      watch.disconnect()
      plot.destroy()
    }
  }, [times, values, isDark, inUtc])
  return <div ref={place} class="curve" role="img" aria-label={label} />
}
