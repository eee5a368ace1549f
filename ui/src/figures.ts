// Figures as a person reads them; the words are those of the terminal.

export function percent(value: number | null | undefined): string {
  if (value === null || value === undefined || Number.isNaN(value)) return '–'
  if (value === 0) return '0 %'
  if (value < 0.1) return '< 0.1 %'
  return value < 9.95 ? `${value.toFixed(1)} %` : `${Math.round(value)} %`
}

export function times(value: number | null, baseline: number | null): string {
  if (baseline === null) return '–'
  if (value === null) return baseline > 0 ? '–' : 'new'
  if (value >= 1000) return '> 1000 ×'
  return value < 9.95 ? `${value.toFixed(1)} ×` : `${Math.round(value)} ×`
}

export function size(bytes: number | null | undefined): string {
  if (bytes === null || bytes === undefined) return '–'
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  let value = bytes
  let index = 0
  while (value >= 1024 && index < units.length - 1) {
    value /= 1024
    index++
  }
  return `${index === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[index]}`
}

/** A figure of any size in few characters: 61 k, 1.2 M. */
export function short(value: number | null | undefined): string {
  if (value === null || value === undefined || Number.isNaN(value)) return '–'
  const magnitude = Math.abs(value)
  if (magnitude >= 1e9) return `${Number((value / 1e9).toPrecision(3))} G`
  if (magnitude >= 1e6) return `${Number((value / 1e6).toPrecision(3))} M`
  if (magnitude >= 1e5) return `${Number((value / 1e3).toPrecision(3))} k`
  if (magnitude >= 100 || Number.isInteger(value)) return grouped(Math.round(value))
  return String(Number(value.toPrecision(3)))
}

/** Whole numbers as the terminal and the texts of cases have them: 61,234. */
export const grouped = (value: number): string =>
  String(value).replace(/\B(?=(\d{3})+(?!\d))/g, ',')

export const counted = (value: number, noun: string, plural = noun + 's'): string =>
  `${grouped(value)} ${value === 1 ? noun : plural}`

/** A field's value with its unit: bytes, nanoseconds and percentages get their own. */
export function inUnit(value: number | null | undefined, unit: string): string {
  if (value === null || value === undefined || Number.isNaN(value)) return '–'
  if (unit === 'bytes') return size(value)
  if (unit === 'bytes per second') return `${size(value)}/s`
  if (unit === 'nanoseconds per second') return `${short(value / 1e6)} ms/s`
  if (unit === 'microseconds per second') return `${percent(value / 1e4)}`
  if (unit === 'nanoseconds') return `${short(value / 1e6)} ms`
  return short(value)
}

/** What the unit of `inUnit` is called beside it; empty where the value says it. */
export function unitName(unit: string): string {
  const known: Record<string, string> = {
    bytes: '',
    'bytes per second': '',
    'nanoseconds per second': '',
    'microseconds per second': 'of the time',
    nanoseconds: '',
  }
  return known[unit] ?? unit.replace(' per second', '/s')
}

/** `0–3, 7`: cores, briefly. */
export function ranges(numbers: readonly number[]): string {
  const sorted = [...new Set(numbers)].sort((a, b) => a - b)
  const runs: [number, number][] = []
  for (const number of sorted) {
    const last = runs[runs.length - 1]
    if (last && number === last[1] + 1) last[1] = number
    else runs.push([number, number])
  }
  return runs.map(([a, b]) => (a === b ? `${a}` : `${a}–${b}`)).join(', ')
}

// Control and direction characters of hostile names are shown, not followed.
// oxlint-disable-next-line no-control-regex
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g

/** A name from the machine as harmless, visible text. */
export const plain = (text: string): string =>
  text.replace(UNSEEN, (one) => {
    const code = one.codePointAt(0)!
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`
  })
