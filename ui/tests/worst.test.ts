import { describe, expect, it } from 'vitest'
import { worstSeen } from '../src/timeline/worst'

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
