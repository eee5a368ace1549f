import { expect, test, vi } from 'vitest'

test('what was not recorded is seen through, and what was is not', async () => {
  vi.stubGlobal('matchMedia', () => ({ matches: false, addEventListener: () => undefined }))
  const { pixelTable } = await import('../src/colours')
  for (const isDark of [false, true]) {
    const table = pixelTable(['user', 'system'], isDark)
    for (const mode of [0, 1, 2]) {
      expect(table[mode * 256 + 255]).toBe(0)
      expect(table[mode * 256]! >>> 24).toBe(255)
    }
  }
})
