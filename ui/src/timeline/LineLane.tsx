import { effect, type ReadonlySignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { dark } from '../colours'
import { axis } from '../state'
import { GUTTER, RIGHT, fontSize, laneWidth, scaled, schedule, themed } from './geometry'

export interface Line {
  colour: string
  fill?: string
  width?: number
}

export interface LaneData {
  times: number[]
  lines: (number | null)[][]
}

interface Properties {
  name: ComponentChildren
  label: string
  data: ReadonlySignal<LaneData>
  /** Reads the theme, so it is a function. */
  lines: () => Line[]
  height: number
  most?: number
  shown: (value: number) => string
  lane: string
}

/** A time series under the map, on its axis. */
export function LineLane({ name, label, data, lines, height, most, shown, lane }: Properties) {
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    let plot: uPlot | null = null
    let made = ''
    const draw = (): void => {
      if (!place.current) return
      const count = data.value.lines.length
      const stamp = [dark.value, count, height, laneWidth.value].join()
      if (stamp !== made || !plot) {
        made = stamp
        plot?.destroy()
        plot = new uPlot(options(lines().slice(0, count)), aligned(data.value), place.current)
      } else plot.setData(aligned(data.value), false)
      plot.batch(() => {
        plot!.setScale('x', { min: axis.value.start, max: axis.value.end })
        const [min, max] = limits()
        plot!.setScale('y', { min, max })
      })
    }
    /** From zero on, unless all of it lies so high that nothing would be seen. */
    const limits = (): [number, number] => {
      if (most !== undefined) return [0, most]
      const { start, end } = axis.value
      let high = 0
      let low = Infinity
      for (const line of data.value.lines) {
        for (let i = 0; i < line.length; i++) {
          const time = data.value.times[i]!
          const value = line[i]
          if (value === null || value === undefined || time < start || time > end) continue
          if (value > high) high = value
          if (value < low) low = value
        }
      }
      const min = low > high / 2 && low < high ? low : 0
      return [min, high > min ? high : min + 1]
    }
    const options = (styles: Line[]): uPlot.Options => ({
      width: laneWidth.value,
      height,
      padding: [scaled(7), RIGHT, scaled(7), 0],
      legend: { show: false },
      cursor: { show: false },
      scales: {
        x: { time: false, auto: false, range: () => [axis.peek().start, axis.peek().end] },
        y: { auto: false, range: () => limits() },
      },
      series: [
        {},
        ...styles.map((style) => ({
          stroke: style.colour,
          fill: style.fill ?? '',
          width: style.width ?? 1.25,
          points: { show: false },
          spanGaps: false,
        })),
      ],
      axes: [
        { show: false },
        {
          size: GUTTER,
          gap: 4,
          stroke: themed('--faint'),
          font: `${fontSize() - 2}px system-ui, sans-serif`,
          grid: { stroke: themed('--rule'), width: 1 },
          ticks: { show: false },
          splits: (self) => [self.scales['y']!.min || null, self.scales['y']!.max ?? 1].filter((one) => one !== null),
          values: (_, splits) => splits.map((value) => (data.value.lines.length ? shown(value) : '')),
        },
      ],
    })
    const stop = effect(() => {
      void [axis.value, data.value, laneWidth.value, dark.value]
      return schedule(draw) // a drawing after the lane's end would leave a plot that nobody removes
    })
    return () => {
      stop()
      plot?.destroy()
    }
  }, [height])
  return (
    <div class="lane line" style={{ height: `${height}px` }} data-lane={lane} role="img" aria-label={label}>
      <span class="lane-name">{name}</span>
      <div ref={place} />
    </div>
  )
}

const aligned = (data: LaneData): uPlot.AlignedData => [data.times, ...data.lines] as uPlot.AlignedData
