// Everything a person chose. All of it is in the address: `url.ts` writes and reads it.

import { batch, computed, signal } from '@preact/signals'
import type { RecordingInfo } from './api'
import { length, overlap, type Span, within, zoomed } from './time'

export const TABS = ['flame', 'sub-second', 'who', 'diff', 'frames', 'events', 'samples'] as const
export type Tab = (typeof TABS)[number]
export const VIEWS = ['timeline', 'zombies', 'units', 'recorder', 'case'] as const
export type View = (typeof VIEWS)[number]
export const SHOWS = ['busy', 'system', 'user', 'irq', 'softirq', 'steal', 'iowait'] as const
export type Show = (typeof SHOWS)[number]
export const ORDERS = ['number', 'numa', 'heat'] as const
export type Order = (typeof ORDERS)[number]
export const MODES = ['user', 'system', 'softirq', 'irq'] as const

/** Shorter than this nothing can be told: samples are 10 ms apart. */
export const LEAST_SECONDS = 0.01

export interface Filter {
  core: number[]
  comm: string[]
  pid: number[]
  tid: number[]
  cgroup: string[]
  unit: string[]
  container: string[]
  pod: string[]
  mode: string[]
}

export type FilterKey = keyof Filter
export const FILTER_KEYS: readonly FilterKey[] = [
  'core', 'comm', 'pid', 'tid', 'cgroup', 'unit', 'container', 'pod', 'mode',
]
export const NUMERIC: ReadonlySet<FilterKey> = new Set<FilterKey>(['core', 'pid', 'tid'])

export const noFilter = (): Filter => ({
  core: [], comm: [], pid: [], tid: [], cgroup: [], unit: [], container: [], pod: [], mode: [],
})

export const info = signal<RecordingInfo | null>(null)
/** What the time axis shows. */
export const axis = signal<Span>({ start: 0, end: 1 })
/** The brushed range; null where nothing is selected. */
export const picked = signal<Span | null>(null)
export const filter = signal<Filter>(noFilter())
export const view = signal<View>('timeline')
export const caseId = signal('')
export const tab = signal<Tab>('flame')
export const show = signal<Show>('busy')
export const order = signal<Order>('number')
export const lanes = signal<string[]>([])
export const follow = signal(false)
export const utc = signal(false)
export const theme = signal<'auto' | 'light' | 'dark'>('auto')
/** The range of the sub-second map, wider than what is brushed in it. */
export const heat = signal<Span | null>(null)
export const base = signal<'preceding' | 'whole' | 'window'>('preceding')
export const baseSpan = signal<Span | null>(null)
export const upside = signal<'icicle' | 'flame'>('icicle')
export const search = signal('')
export const hide = signal<string[]>([])
export const only = signal<string[]>([])
export const focus = signal('')
export const shape = signal<'callees' | 'callers'>('callees')
export const collapse = signal(false)
/** Names of frames from the process on: what the flame graph is zoomed to. */
export const zoomPath = signal<string[]>([])

export const whole = computed<Span>(() => info.value?.window ?? { start: 0, end: 1 })
export const hasFilter = computed(() => FILTER_KEYS.some((key) => filter.value[key].length > 0))

/** An address may name a time at which nothing was recorded. */
export const isOutside = computed(() => axis.value.end <= whole.value.start || axis.value.start >= whole.value.end)

/** A little more than everything, so that the ends can be seen as ends. */
export const limits = computed<Span>(() => withMargin(whole.value))
/** What to look at first. */
export const measured = computed<Span>(() => withMargin(info.value?.measured ?? whole.value))

function withMargin(span: Span): Span {
  const margin = Math.max(1, length(span) * 0.01)
  return { start: span.start - margin, end: span.end + margin }
}

export function look(span: Span): void {
  axis.value = within(span, limits.value)
}

/** The newest so many seconds. A recording that is younger than that is still growing into them. */
export function lookAtTheEnd(wide: number): void {
  const { end } = whole.value
  axis.value = { start: end - wide * 0.98, end: end + wide * 0.02 }
}

const FOLLOWED_SECONDS = 120
const LEAST_FOLLOWED_SECONDS = 30

/** What has ended can't be followed. */
export function toggleFollow(): void {
  follow.value = !follow.value && (info.value?.is_live ?? false)
  if (!follow.value) return
  lookAtTheEnd(Math.min(Math.max(length(axis.value), LEAST_FOLLOWED_SECONDS), FOLLOWED_SECONDS))
}

export function zoom(factor: number, at?: number): void {
  const around = at ?? (axis.value.start + axis.value.end) / 2
  look(zoomed(axis.value, around, factor, LEAST_SECONDS))
}

export function pan(share: number): void {
  const by = length(axis.value) * share
  look({ start: axis.value.start + by, end: axis.value.end + by })
}

/** Selects a range, and moves the axis only where it can't be seen. */
export function pick(span: Span | null, cores?: number[]): void {
  batch(() => {
    picked.value = span
    zoomPath.value = []
    if (span) view.value = 'timeline'
    if (cores) filter.value = { ...filter.value, core: cores }
    if (span && (span.end < axis.value.start || span.start > axis.value.end)) {
      const wide = Math.max(length(axis.value), length(span) * 2)
      const at = (span.start + span.end) / 2
      look({ start: at - wide / 2, end: at + wide / 2 })
    }
  })
}

/** All that is shown and was recorded: the axis goes a little beyond. */
export function pickShown(): void {
  pick(overlap(axis.value, whole.value))
}

export function addFilter(key: FilterKey, value: string | number): void {
  const known = filter.value[key] as (string | number)[]
  if (!known.includes(value)) filter.value = { ...filter.value, [key]: [...known, value] }
}

export function dropFilter(key: FilterKey, value: string | number): void {
  const rest = (filter.value[key] as (string | number)[]).filter((one) => one !== value)
  filter.value = { ...filter.value, [key]: rest }
}

export function toggleCore(core: number): void {
  if (filter.value.core.includes(core)) dropFilter('core', core)
  else filter.value = { ...filter.value, core: [...filter.value.core, core].sort((a, b) => a - b) }
}
