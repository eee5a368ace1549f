import { beforeEach, expect, test } from 'vitest'
import type { RecordingInfo } from '../src/api'
import * as state from '../src/state'

const recorded = (isLive: boolean): void => {
  state.info.value = { window: { start: 1000, end: 2000 }, is_live: isLive } as unknown as RecordingInfo
}

beforeEach(() => {
  state.follow.value = false
  state.axis.value = { start: 1000, end: 2000 }
})

test('a recording that grows is followed at its end', () => {
  recorded(true)
  state.toggleFollow()
  expect(state.follow.value).toBe(true)
  expect(state.axis.value.start).toBeGreaterThan(1800)
  state.toggleFollow()
  expect(state.follow.value).toBe(false)
})

test('one that has ended is not', () => {
  recorded(false)
  state.toggleFollow()
  expect(state.follow.value).toBe(false)
  expect(state.axis.value).toEqual({ start: 1000, end: 2000 })
})
