import { expect, test } from 'vitest'
import { byNode, startsOf } from '../src/timeline/numa'

/** As most machines number hyperthreads: the second half sits beside the first. */
const machine = (cores: number, nodes: number): Map<number, number> =>
  new Map(Array.from({ length: cores }, (_, core) => [core, Math.floor(((core % (cores / 2)) * nodes) / (cores / 2))]))

const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, index) => from + index)

test('96 cores of two nodes are two blocks, by number within', () => {
  const rows = byNode(range(0, 96), machine(96, 2))
  expect(rows).toEqual([...range(0, 24), ...range(48, 72), ...range(24, 48), ...range(72, 96)])
  expect(startsOf(rows, machine(96, 2))).toEqual([
    { row: 0, rows: 48, node: 0 },
    { row: 48, rows: 48, node: 1 },
  ])
})

test('256 cores of eight nodes are eight blocks of 32', () => {
  const starts = startsOf(byNode(range(0, 256), machine(256, 8)), machine(256, 8))
  expect(starts.map((one) => [one.node, one.row, one.rows])).toEqual(range(0, 8).map((node) => [node, 32 * node, 32]))
})

test('cores of no known node come last, and are not put into node 0', () => {
  const nodes = new Map([[0, 1], [1, 0]])
  const rows = byNode([0, 1, 2], nodes)
  expect(rows).toEqual([1, 0, 2])
  expect(startsOf(rows, nodes).map((one) => one.node)).toEqual([0, 1, null])
})

test('where nothing is known the order is by number', () => {
  expect(byNode([0, 1, 2], new Map())).toEqual([0, 1, 2])
})
