// Figures of a case: their names end in their units, as everywhere in exhume.

import { percent, plain, short, size } from '../figures'
import { duration } from '../time'

const UNITS: Record<string, (value: number) => string> = {
  seconds: duration,
  milliseconds: (value) => duration(value / 1e3),
  microseconds: (value) => duration(value / 1e6),
  nanoseconds: (value) => duration(value / 1e9),
  percent,
  bytes: size,
}

const SAID = new RegExp(`(?: |^(?=\\w+ per ))(?:${Object.keys(UNITS).join('|')})(?= per |$)`)

/** A name as words, without the unit that its figure says. */
export const worded = (name: string): string => plain(name).replaceAll('_', ' ').replace(SAID, '').trim()

/** A figure by the unit among the words of its name. */
export function figure(name: string, value: unknown): string {
  if (typeof value === 'number') {
    if (/^(pid|tid|core)$/.test(name)) return String(value)
    const unit = name.split('_').find((word) => Object.hasOwn(UNITS, word))
    return unit ? UNITS[unit]!(value) : short(value)
  }
  if (typeof value === 'object' && value !== null) {
    const parts = Object.entries(value).filter(([, one]) => one !== null && one !== '')
    const known = parts.filter(([key, one]) => key === 'name' || !parts.some(([other, same]) => other === 'name' && same === one))
    return known.map(([key, one]) => (key === 'name' ? plain(String(one)) : `${worded(key)} ${figure(key, one)}`)).join(', ')
  }
  return value === null || value === undefined ? '–' : plain(String(value))
}
