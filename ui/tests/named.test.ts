import { expect, test } from 'vitest'
import { figure, worded } from '../src/views/named'

const told = (name: string, value: unknown): string => `${worded(name)} ${figure(name, value)}`

test('a figure has the unit that is a word of its name, and no other', () => {
  expect(told('microseconds_per_zombie', 815.1)).toBe('per zombie 815 µs')
  expect(told('stall_seconds_per_zombie', 0.0008151)).toBe('stall per zombie 815 µs')
  expect(told('wait_milliseconds', 12)).toBe('wait 12 ms')
  expect(told('wait_nanoseconds', 2_500_000)).toBe('wait 2.5 ms')
  expect(told('longest_stall_seconds', 815.1)).toBe('longest stall 13 m 35 s')
  expect(told('bytes_per_hour', 3 * 1024 ** 2)).toBe('per hour 3.0 MiB')
  expect(told('node_mean_percent', 1.4)).toBe('node mean 1.4 %')
})

test('a name that is nothing but its unit keeps it', () => {
  expect(told('seconds', 6)).toBe('seconds 6 s')
  expect(told('percent_of_a_core', 99)).toBe('percent of a core 99 %')
})

test('numbers of processes and cores are names, and the rest are counts', () => {
  expect(told('pid', 31415)).toBe('pid 31415')
  expect(told('starts', 3)).toBe('starts 3')
  expect(told('culprit', { name: 'ecs.service', unit: 'ecs.service', core: 3 })).toBe('culprit ecs.service, core 3')
})
