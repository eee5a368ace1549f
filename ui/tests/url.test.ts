import { beforeEach, expect, test } from 'vitest'
import type { RecordingInfo } from '../src/api'
import * as state from '../src/state'
import { decode, encode, firstAxis, readSpan, written } from '../src/url'

beforeEach(() => {
  state.info.value = { window: { start: 1000, end: 2000 }, cores: [], modes: [] } as unknown as RecordingInfo
  decode('')
  state.axis.value = firstAxis('')
})

test('what is as by default is not in the address', () => {
  expect(encode()).toBe('')
})

test('an address gives back all that was chosen', () => {
  state.axis.value = { start: 1100.25, end: 1100.26 }
  state.pick({ start: 1100.251, end: 1100.259 }, [39, 40])
  state.addFilter('comm', '<img src=x onerror=alert(1)>&core=7')
  state.addFilter('unit', 'ecs.service')
  state.tab.value = 'diff'
  state.show.value = 'softirq'
  state.order.value = 'heat'
  state.lanes.value = ['vmstat.pgfault']
  state.hide.value = ['a;b', 'c d']
  state.zoomPath.value = ['kubelet', 'seq_read']
  state.search.value = 'mem_.*'
  const address = encode()
  const before = [state.picked.value, state.filter.value, state.hide.value, state.zoomPath.value]
  decode('')
  expect(state.picked.value).toBeNull()
  decode('?' + address)
  state.axis.value = firstAxis(address)
  expect([state.picked.value, state.filter.value, state.hide.value, state.zoomPath.value]).toEqual(before)
  expect(state.axis.value).toEqual({ start: 1100.25, end: 1100.26 })
  expect(encode()).toBe(address)
})

test('an instant stays a stretch, and nothing at its ends is left out', () => {
  const told = (start: number, end: number) => readSpan(written({ start, end }))
  expect(told(1794712447.771234, 1794712447.7712343)).toEqual({ start: 1794712447.7712, end: 1794712447.7713 })
  expect(told(1794712447.77126, 1794712448.77124)).toEqual({ start: 1794712447.7712, end: 1794712448.7713 })
  expect(told(-18.990001, 1.01)).toEqual({ start: -18.9901, end: 1.01 })
  expect(told(1794773996.169, 1794774010.4693)).toEqual({ start: 1794773996.169, end: 1794774010.4693 })
})

test('what was measured is looked at first, whatever a log among the files reaches back to', () => {
  const span = { start: 1900, end: 1990 }
  state.info.value = { ...state.info.value, measured: span } as unknown as RecordingInfo
  state.axis.value = firstAxis('')
  expect(state.axis.value).toEqual({ start: 1899, end: 1991 })
  expect(encode()).toBe('')
  state.look(state.limits.value)
  expect(firstAxis(encode())).toEqual(state.limits.value)
})

test('a garbled address is as good as none', () => {
  decode('?tab=nonsense&pick=5-1&core=x&core=-3&core=99999999999&show=<b>&lanes=../../etc,cpu.user&axis=NaN-Infinity')
  expect(state.tab.value).toBe('flame')
  expect(state.picked.value).toBeNull()
  expect(state.filter.value.core).toEqual([-3])
  expect(state.lanes.value).toEqual(['cpu.user'])
  expect(firstAxis('?axis=NaN-Infinity')).toEqual(state.limits.value)
  expect(readSpan('1e9-2e9')).toBeNull()
})
