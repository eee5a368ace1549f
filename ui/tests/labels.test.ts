import { expect, test } from 'vitest'
import { crowded, labelStart, type Marked, placed } from '../src/timeline/labels'

const mark = (x: number, severity: number, wide = 80, end = x): Marked => ({ x, end, severity, wide })

/** Every drawn label as [row, from, to]. */
function drawn(marks: Marked[]): [number, number, number][] {
  return placed(marks, 2, 0, 1000).flatMap((one, index) => {
    const from = labelStart(marks[index]!, 0)
    return one.labelled ? [[one.row, from, from + marks[index]!.wide] as [number, number, number]] : []
  })
}

test('no label lies on another, whatever the marks', () => {
  let seed = 7
  const random = (): number => (seed = (seed * 16807) % 2147483647) / 2147483647
  for (let round = 0; round < 50; round++) {
    const marks = Array.from({ length: 40 }, () => mark(random() * 1000, 1 + Math.floor(random() * 3), 20 + random() * 150))
    const labels = drawn(marks)
    expect(labels.length).toBeGreaterThan(0)
    for (const [i, a] of labels.entries()) {
      for (const b of labels.slice(i + 1)) if (a[0] === b[0]) expect(a[2] < b[1] || b[2] < a[1]).toBe(true)
      expect(a[2]).toBeLessThanOrEqual(1000)
    }
  }
})

test('of two that are too close the more severe keeps its label', () => {
  const both = [mark(100, 1), mark(110, 2)]
  expect(placed(both, 1, 0, 1000).map((one) => one.labelled)).toEqual([false, true])
})

test('harm has a row of its own', () => {
  expect(placed([mark(0, 3), mark(0, 2)], 2, 0, 1000).map((one) => one.row)).toEqual([0, 1])
})

test('a long bar carries its label inside', () => {
  expect(labelStart(mark(10, 2, 80, 600), 0)).toBe(20)
})

test('marks that all but touch have one label, behind the last of them', () => {
  const marks = [mark(100, 3), mark(108, 3), mark(116, 3), mark(400, 3), mark(104, 2)]
  const found = crowded(marks)
  expect(found.map((one) => one.more)).toEqual([2, 0, 0, 0, 0])
  expect(found.map((one) => one.silent)).toEqual([false, true, true, false, false])
  expect(labelStart({ ...marks[0]!, until: found[0]!.until }, 0)).toBe(124)
})
