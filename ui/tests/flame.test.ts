import { expect, test } from 'vitest'
import { laidOut, nodeAt, pathOf, pattern, searched } from '../src/flame/layout'

// all ► app ► (main ► work ► work), k; other
const tree = {
  parent: [-1, 0, 0, 1, 1, 3, 5],
  frame: [0, 1, 2, 3, 4, 5, 5],
  names: ['', 'app', 'other', 'main', 'k_idle', 'work'],
}
const totals = [10, 8, 2, 6, 2, 5, 4]

test('a child lies within its parent, the widest first, and none over another', () => {
  const { left, right, depth, deepest } = laidOut(tree, totals)
  for (let node = 1; node < totals.length; node++) {
    expect(left[node]).toBeGreaterThanOrEqual(left[tree.parent[node]!]!)
    expect(right[node]).toBeLessThanOrEqual(right[tree.parent[node]!]! + 1e-12)
  }
  expect([left[1], right[1], left[2]]).toEqual([0, 0.8, 0.8])
  expect(right[3]).toBeCloseTo(left[4]!)
  expect([depth[6], deepest]).toEqual([4, 4])
})

test('names lead to the node they came from', () => {
  const layout = laidOut(tree, totals)
  const names = pathOf(tree, 6).map((node) => tree.names[tree.frame[node]!]!)
  expect(names).toEqual(['app', 'main', 'work', 'work'])
  expect(nodeAt(tree, layout, names)).toBe(6)
  expect(nodeAt(tree, layout, ['app', 'gone'])).toBe(1)
})

test('a search counts recursion once and is a share of what is zoomed to', () => {
  expect(searched(tree, totals, /work/, 0).share).toBeCloseTo(0.5)
  expect(searched(tree, totals, /work/, 3).share).toBeCloseTo(5 / 6)
  expect(searched(tree, totals, /work/, 2).share).toBe(0)
  expect(searched(tree, totals, /work/, 0).nodes).toBe(2)
})

test('half a pattern is no pattern yet', () => {
  expect(pattern('mem(')).toBeNull()
  expect(pattern('MEM')?.test('mem_cgroup')).toBe(true)
})
