import { describe, expect, test, vi } from 'vitest'
import { clock, duration, moment, overlap, range, settled, ticks, within, zoomed } from '../src/time'

const NIGHT = 1794788047.123 // 2026-11-16 00:14:07.123 UTC

describe('times as words', () => {
  test('a clock time has as many decimals as asked for, and is never ahead', () => {
    expect(clock(NIGHT, true)).toBe('00:14:07')
    expect(clock(NIGHT, true, 3)).toBe('00:14:07.123')
    expect(clock(NIGHT + 0.8766, true, 1)).toBe('00:14:07.9')
  })
  test('decimals that a double can not hold exactly are those that were written', () => {
    for (let milli = 0; milli < 1000; milli++) {
      expect(clock(Number(`1794788047.${String(milli).padStart(3, '0')}`), true, 3)).toBe(`00:14:07.${String(milli).padStart(3, '0')}`)
    }
  })
  test('the day is that of the clock beside it, up to midnight and after', () => {
    const midnight = 1761350400
    expect(moment(midnight - 0.3, true)).toBe('2025-10-24 23:59:59')
    expect(range({ start: midnight - 0.3, end: midnight + 100 }, true)).toBe('2025-10-24 23:59:59 – 2025-10-25 00:01:40')
    expect(moment(midnight - 2e-7, true, 3)).toBe('2025-10-25 00:00:00.000')
    expect(moment(midnight - 1e-6, true, 3)).toBe('2025-10-24 23:59:59.999')
  })
  test('a range tells the date once unless it crosses midnight', () => {
    expect(range({ start: NIGHT, end: NIGHT + 60 }, true)).toBe('2026-11-16 00:14:07 – 00:15:07')
    expect(range({ start: NIGHT - 3600, end: NIGHT }, true)).toBe('2026-11-15 23:14:07 – 2026-11-16 00:14:07')
  })
  test('durations have two units at most', () => {
    expect(duration(0.25)).toBe('250 ms')
    expect(duration(90)).toBe('1 m 30 s')
    expect(duration(12 * 3600)).toBe('12 h')
    expect(duration(100 * 3600)).toBe('4 d 4 h')
  })
})

describe('what is asked of a recording', () => {
  const recorded = { start: NIGHT, end: NIGHT + 100 }
  test('of one that has ended, its last seconds too', () => {
    expect(settled(recorded, false, 60)).toEqual(recorded)
    expect(settled({ start: NIGHT, end: NIGHT + 5 }, false, 60).end).toBe(NIGHT + 5)
  })
  test('of one that grows, the same for a minute', () => {
    const { start, end } = settled(recorded, true, 60)
    expect([start, end % 60]).toEqual([NIGHT, 0])
    expect(settled({ start: NIGHT, end: end + 59 }, true, 60).end).toBe(end)
    expect(settled({ start: NIGHT, end: NIGHT + 5 }, true, 60).end).toBe(NIGHT + 1)
  })
})

describe('the axis', () => {
  test('ticks lie at round times, from milliseconds to days', () => {
    for (const wide of [0.01, 1, 60, 3600, 43200, 864000]) {
      const found = ticks({ start: NIGHT, end: NIGHT + wide }, wide / 8, true)
      expect(found.length).toBeGreaterThan(2)
      expect(found.length).toBeLessThan(12)
      for (const tick of found) expect(tick.time).toBeGreaterThanOrEqual(NIGHT - 1e-6)
    }
  })
  test('of a log that reaches back for years ticks are months apart, and reach the end', () => {
    for (const wide of [60, 200, 1700, 9000]) {
      const apart = (wide * 86400) / 12
      const found = ticks({ start: NIGHT, end: NIGHT + wide * 86400 }, apart, true)
      expect(found.length).toBeGreaterThan(2)
      expect(found.length).toBeLessThan(14)
      for (const tick of found) expect(tick.label).toMatch(/^\d{4}-\d\d-\d\d$/)
      const times = found.map((tick) => tick.time)
      for (let index = 1; index < times.length; index++) expect(times[index]! - times[index - 1]!).toBeGreaterThanOrEqual(apart)
      expect(NIGHT + wide * 86400 - times[times.length - 1]!).toBeLessThan(2.4 * apart)
    }
    expect(ticks({ start: NIGHT, end: NIGHT + 9000 * 86400 }, 400 * 86400, true)[0]!.label).toBe('2028-01-01')
  })
  test('a change of the clocks leaves the days that follow it at midnight', () => {
    vi.stubEnv('TZ', 'Europe/Berlin')
    const october = Date.UTC(2026, 9, 20) / 1000
    const found = ticks({ start: october, end: october + 12 * 86400 }, 86400, false)
    expect(found.map((tick) => tick.label.slice(5))).toEqual(['10-21', '10-22', '10-23', '10-24', '10-25', '10-26', '10-27', '10-28', '10-29', '10-30', '10-31', '11-01'])
    vi.unstubAllEnvs()
  })
  test('zooming keeps the instant under the pointer where it is', () => {
    const before = { start: 1000, end: 2000 }
    const after = zoomed(before, 1250, 0.5, 0.01)
    expect((1250 - after.start) / (after.end - after.start)).toBeCloseTo(0.25)
  })
  test('zooming in ends at the shortest span', () => {
    const after = zoomed({ start: 0, end: 0.02 }, 0.01, 0.001, 0.01)
    expect(after.end - after.start).toBeCloseTo(0.01)
  })
  test('what is shown stays within the recording', () => {
    expect(within({ start: -50, end: 50 }, { start: 0, end: 1000 })).toEqual({ start: 0, end: 100 })
    expect(within({ start: 0, end: 5000 }, { start: 0, end: 1000 })).toEqual({ start: 0, end: 1000 })
  })
})

test('what two spans have in common, or the first where they do not meet', () => {
  expect(overlap({ start: 0, end: 10 }, { start: 2, end: 20 })).toEqual({ start: 2, end: 10 })
  expect(overlap({ start: 0, end: 1 }, { start: 2, end: 3 })).toEqual({ start: 0, end: 1 })
})
