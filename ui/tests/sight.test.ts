import { describe, expect, it } from 'vitest'
import { lastSeen, meanSeen, worstSeen } from '../src/timeline/sight'

const lines = (worst: (number | null)[], core: number[]) => ({ times: worst.map((_, at) => at), mean: worst, worst, core })

describe('the worst that is seen', () => {
  it('is the highest column', () => {
    expect(worstSeen(lines([10, 80, 30], [1, 2, 3]), { start: 0, end: 9 })).toBe(1)
  })
  it('is told of the core that was so for long, not of one that was so for a second', () => {
    expect(worstSeen(lines([100, 40, 99.8, 99.9, 100], [4, 4, 17, 17, 17]), { start: 0, end: 9 })).toBe(2)
  })
  it('leaves out what is not in sight, and seconds that were not recorded', () => {
    expect(worstSeen(lines([100, null, 30, 20], [4, -1, 5, 6]), { start: 1, end: 9 })).toBe(2)
  })
  it('is nowhere where nothing is seen', () => {
    expect(worstSeen(lines([null, null], [-1, -1]), { start: 0, end: 9 })).toBe(-1)
    expect(worstSeen(lines([], []), { start: 0, end: 9 })).toBe(-1)
  })
})

describe('the mean that is seen', () => {
  it('is of all columns in sight, not of the worst one', () => {
    const seen = { ...lines([100, 100, 100, 100], [1, 1, 1, 1]), mean: [96, 70, null, 62] }
    expect(meanSeen(seen, { start: 0, end: 9 })).toBe(76)
    expect(meanSeen(seen, { start: 0, end: 1 })).toBe(83)
    expect(meanSeen(seen, { start: 2, end: 2 })).toBeNull()
  })
})

describe('the last value that is seen', () => {
  const line = (values: (number | null)[], last: number) => ({ instance: '', most: null, last, values })
  const times = [0, 1, 2, 3, 4]
  it('is that of the last column in sight, whatever is loaded beside it', () => {
    expect(lastSeen(times, line([1, 2, 3, 4, 5], 5), { start: 1, end: 3.2 })).toBe(4)
    expect(lastSeen(times, line([1, 2, null, null, 5], 5), { start: 1, end: 3 })).toBe(2)
  })
  it('is the very last one where nothing comes after it', () => {
    expect(lastSeen(times, line([1, 2, 30, null, null], 3), { start: 1, end: 3 })).toBe(3)
  })
  it('is not told where nothing was recorded in sight', () => {
    expect(lastSeen(times, line([1, null, null, null, 5], 5), { start: 1, end: 3 })).toBeNull()
  })
})
