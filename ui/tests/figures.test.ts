import { expect, test } from 'vitest'
import { inUnit, percent, plain, ranges, short, size } from '../src/figures'

test('percentages are those of the terminal', () => {
  expect([null, 0, 0.04, 6.54, 97.4].map(percent)).toEqual(['–', '0 %', '< 0.1 %', '6.5 %', '97 %'])
})

test('large figures are short', () => {
  expect([61_234, 123_456, 1_234_567, 0.1234].map(short)).toEqual(['61,234', '123 k', '1.23 M', '0.123'])
  expect(size(338_000)).toBe('330 KiB')
  expect(inUnit(6e9, 'nanoseconds per second')).toBe('6,000 ms/s')
})

test('cores are told as ranges', () => {
  expect(ranges([7, 0, 1, 2, 3])).toBe('0–3, 7')
})

test('escapes and direction marks of a hostile name become visible', () => {
  expect(plain('\u001b[2Jx')).toBe('\\x1b[2Jx')
  expect(plain('gpj.\u202egnp')).toBe('gpj.\\u202egnp')
  expect(plain('naïve 日本')).toBe('naïve 日本')
})
