import { expect, test } from 'vitest'
import { COLUMNS, columnSeconds, levelFor, tileIndexes, tileSpan } from '../src/timeline/tiles'

test('a column is never narrower than a pixel, so none is dropped in drawing', () => {
  for (const perPixel of [0.0001, 0.03, 0.5, 1, 1.01, 36, 300]) {
    const column = columnSeconds(levelFor(perPixel))
    expect(column).toBeGreaterThanOrEqual(Math.min(perPixel, column))
    expect(column).toBeLessThan(Math.max(2 * perPixel, 0.016))
  }
})

test('tiles cover what is asked for without a hole', () => {
  for (const level of [-7, -3, 0, 5]) {
    const span = { start: 1794773400.25, end: 1794773400.25 + 1300 * columnSeconds(level) }
    const found = tileIndexes(level, span).map((index) => tileSpan(level, index))
    expect(found[0]!.start).toBeLessThanOrEqual(span.start)
    expect(found[found.length - 1]!.end).toBeGreaterThanOrEqual(span.end)
    found.slice(1).forEach((tile, index) => expect(tile.start).toBe(found[index]!.end))
    expect(found.length).toBeLessThanOrEqual(Math.ceil(1300 / COLUMNS) + 1)
  }
})
