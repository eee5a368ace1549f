import { expect, test } from 'vitest'
import { whyNoSamples } from '../src/tabs/NoSamples'

test('a recording without samples says nothing of idle cores, and a filter is named only where there is one', () => {
  expect(whyNoSamples(0, true)).toMatch(/^No samples are in this recording/)
  expect(whyNoSamples(0, false)).not.toMatch(/idle/)
  expect(whyNoSamples(9, true)).toBe('No sample here fits the filter.')
  expect(whyNoSamples(9, false)).toMatch(/idle/)
})
