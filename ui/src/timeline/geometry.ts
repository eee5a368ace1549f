// Where a time lies on the screen: all lanes share these.

import { computed, effect, signal } from '@preact/signals'
import { dark } from '../colours'
import { axis } from '../state'
import { length, type Span } from '../time'

/** Left of a lane's plot, for its name and figures; wider where letters are larger. */
export let GUTTER = 104
export const RIGHT = 14
/** How much larger than on a laptop everything is drawn. */
const larger = signal(1)

/** Once the style sheet is there, and whenever the window has changed. */
export function measure(): void {
  letters = 0
  larger.value = fontSize() / 13
  GUTTER = Math.round(104 * larger.value)
}

export const unit = (): number => larger.value
export const scaled = (pixels: number): number => Math.round(pixels * larger.value)

/** Of a lane, in CSS pixels. */
export const laneWidth = signal(1200)
export const plotWidth = computed(() => Math.max(50, laneWidth.value - GUTTER - RIGHT))

export const xOf = (time: number, span: Span = axis.value): number =>
  GUTTER + ((time - span.start) / length(span)) * plotWidth.value

/** The nearest edge of a pixel of the screen: pictures that meet there leave no seam. */
export const atPixel = (x: number): number => Math.round(x * window.devicePixelRatio) / window.devicePixelRatio

export const timeAt = (x: number, span: Span = axis.value): number =>
  span.start + ((x - GUTTER) / plotWidth.value) * length(span)

export interface Hover {
  time: number
  /** CSS pixels within the timeline. */
  x: number
  y: number
  core: number | null
  lane: string
}

export const hover = signal<Hover | null>(null)

const waiting = new Set<() => void>()

/** Once before the next frame, however often it is called; what it returns calls it off. */
export function schedule(draw: () => void): () => void {
  if (!waiting.size) {
    requestAnimationFrame(() => {
      const due = [...waiting]
      waiting.clear()
      for (const one of due) one()
    })
  }
  waiting.add(draw)
  return () => void waiting.delete(draw)
}

/** A canvas of the right size for this screen, in CSS pixels. */
export function sized(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  const ratio = window.devicePixelRatio || 1
  const wide = Math.round(width * ratio)
  const high = Math.round(height * ratio)
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide
    canvas.height = high
  }
  const context = canvas.getContext('2d')!
  context.setTransform(ratio, 0, 0, ratio, 0, 0)
  return context
}

/** A size as the style sheet wants it. */
export const box = (width: number, height: number): { width: string; height: string } => ({
  width: `${width}px`,
  height: `${height}px`,
})

// Asking the style sheet takes longer than drawing a lane, so each answer is kept.
const known = new Map<string, string>()
effect(() => {
  void dark.value
  known.clear()
})

/** A colour of the style sheet. */
export function themed(name: string): string {
  let value = known.get(name)
  if (value === undefined) {
    value = getComputedStyle(document.documentElement).getPropertyValue(name).trim()
    known.set(name, value)
  }
  return value
}

let letters = 0

/** 13 px on a laptop, more on a large screen. */
export function fontSize(): number {
  letters ||= parseFloat(getComputedStyle(document.documentElement).fontSize)
  return letters
}
