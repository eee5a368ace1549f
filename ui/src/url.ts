// The address ↔ the state. What is as by default is left out, so that links stay short.

import { batch } from '@preact/signals'
import * as state from './state'
import type { Span } from './time'

const digits = (time: number): string => String(Number(time.toFixed(4)))

const STEP = 1e-4
const FLOAT = 5e-7 // no two times that are told apart are nearer

/** With all that is in it: what happened at one instant would not be a stretch, else. */
export function written({ start, end }: Span): string {
  const from = Number(digits(start))
  const to = Number(digits(end))
  return `${digits(from > start + FLOAT ? from - STEP : from)}-${digits(to < end - FLOAT ? to + STEP : to)}`
}

export function readSpan(text: string | null): Span | null {
  const match = /^(-?\d{1,11}(?:\.\d{1,9})?)-(-?\d{1,11}(?:\.\d{1,9})?)$/.exec(text ?? '')
  if (!match) return null
  const span = { start: Number(match[1]), end: Number(match[2]) }
  return span.start < span.end ? span : null
}

const oneOf = <T extends string>(known: readonly T[], text: string | null, otherwise: T): T =>
  known.includes(text as T) ? (text as T) : otherwise

export function encode(): string {
  const query = new URLSearchParams()
  const put = (key: string, value: string, usual = ''): void => {
    if (value !== usual) query.append(key, value)
  }
  const every = (key: string, values: readonly (string | number)[]): void => {
    for (const value of values) query.append(key, String(value))
  }
  put('view', state.view.value, 'timeline')
  put('case', state.view.value === 'case' ? state.caseId.value : '')
  if (state.follow.value) put('last', digits(state.axis.value.end - state.axis.value.start))
  else if (state.info.value) put('axis', written(state.axis.value), written(state.measured.value))
  if (state.picked.value) put('pick', written(state.picked.value))
  for (const key of state.FILTER_KEYS) every(key, state.filter.value[key])
  put('tab', state.tab.value, 'flame')
  put('show', state.show.value, 'busy')
  put('order', state.order.value, 'number')
  put('lanes', state.lanes.value.join(','), LANES.join(','))
  put('utc', state.utc.value ? '1' : '')
  put('theme', state.theme.value, 'auto')
  if (state.tab.value === 'sub-second' && state.heat.value) put('heat', written(state.heat.value))
  put('base', state.base.value, 'preceding')
  if (state.base.value === 'window' && state.baseSpan.value) put('with', written(state.baseSpan.value))
  put('upside', state.upside.value, 'icicle')
  put('search', state.search.value)
  every('hide', state.hide.value)
  every('only', state.only.value)
  put('focus', state.focus.value)
  put('shape', state.shape.value, 'callees')
  put('collapse', state.collapse.value ? '1' : '')
  every('zoom', state.zoomPath.value)
  return query.toString()
}

/** Lanes below the map unless somebody chose others. */
export const LANES = ['memcg.zombies', 'netthread.wait_ns']

export function decode(text: string): void {
  const query = new URLSearchParams(text)
  const filter = state.noFilter()
  for (const key of state.FILTER_KEYS) {
    const values = query.getAll(key).slice(0, 256)
    if (state.NUMERIC.has(key)) {
      const numbers = values.filter((one) => /^-?\d{1,9}$/.test(one)).map(Number)
      Object.assign(filter, { [key]: numbers })
    } else Object.assign(filter, { [key]: values })
  }
  const named = query.get('lanes')
  batch(() => {
    state.view.value = oneOf(state.VIEWS, query.get('view'), 'timeline')
    state.caseId.value = query.get('case') ?? ''
    state.picked.value = readSpan(query.get('pick'))
    state.filter.value = filter
    state.tab.value = oneOf(state.TABS, query.get('tab'), 'flame')
    state.show.value = oneOf(state.SHOWS, query.get('show'), 'busy')
    state.order.value = oneOf(state.ORDERS, query.get('order'), 'number')
    state.lanes.value = named === null ? LANES : named.split(',').filter((one) => /^[\w.]+$/.test(one))
    state.utc.value = query.get('utc') === '1'
    state.theme.value = oneOf(['auto', 'light', 'dark'] as const, query.get('theme'), 'auto')
    state.heat.value = readSpan(query.get('heat'))
    state.base.value = oneOf(['preceding', 'whole', 'window'] as const, query.get('base'), 'preceding')
    state.baseSpan.value = readSpan(query.get('with'))
    state.upside.value = oneOf(['icicle', 'flame'] as const, query.get('upside'), 'icicle')
    state.search.value = query.get('search') ?? ''
    state.hide.value = query.getAll('hide')
    state.only.value = query.getAll('only')
    state.focus.value = query.get('focus') ?? ''
    state.shape.value = oneOf(['callees', 'callers'] as const, query.get('shape'), 'callees')
    state.collapse.value = query.get('collapse') === '1'
    state.zoomPath.value = query.getAll('zoom')
    state.follow.value = query.has('last')
  })
}

/** What the axis should show at first: of the address, or all that was measured. */
export function firstAxis(text: string): Span {
  const query = new URLSearchParams(text)
  const last = Number(query.get('last'))
  if (query.has('last') && last > 0) {
    return { start: state.whole.value.end - last, end: state.whole.value.end }
  }
  return readSpan(query.get('axis')) ?? state.measured.value
}
