// Times are epoch seconds everywhere; here they become words and axis ticks.

export interface Span {
  start: number
  end: number
}

export const length = (span: Span): number => span.end - span.start

export const middle = (span: Span): number => (span.start + span.end) / 2

export const contains = (outer: Span, inner: Span): boolean =>
  outer.start <= inner.start && inner.end <= outer.end

/** Shifted, and shortened where it is longer, so that it lies within. */
export function within(span: Span, limits: Span): Span {
  const wide = Math.min(length(span), length(limits))
  const start = Math.min(Math.max(span.start, limits.start), limits.end - wide)
  return { start, end: start + wide }
}

/** What both have; of spans that don't meet the first. */
export function overlap(span: Span, other: Span): Span {
  const both = { start: Math.max(span.start, other.start), end: Math.min(span.end, other.end) }
  return both.end > both.start ? both : { ...span }
}

/** All of what has ended; of what still grows, up to the last whole step, so as not to be asked anew each second. */
export function settled(span: Span, isLive: boolean, step: number): Span {
  if (!isLive) return span
  return { start: span.start, end: Math.max(span.start + 1, Math.floor(span.end / step) * step) }
}

/** By a factor, around a fixed instant, never shorter than `least` seconds. */
export function zoomed(span: Span, at: number, factor: number, least: number): Span {
  const wide = Math.max(least, length(span) * factor)
  const share = (at - span.start) / length(span)
  const start = at - share * wide
  return { start, end: start + wide }
}

const two = (value: number): string => String(value).padStart(2, '0')

interface Parts {
  year: number
  month: number
  day: number
  hour: number
  minute: number
  second: number
}

function parts(time: number, utc: boolean): Parts {
  const date = new Date(time * 1000)
  return utc
    ? {
        year: date.getUTCFullYear(),
        month: date.getUTCMonth() + 1,
        day: date.getUTCDate(),
        hour: date.getUTCHours(),
        minute: date.getUTCMinutes(),
        second: date.getUTCSeconds(),
      }
    : {
        year: date.getFullYear(),
        month: date.getMonth() + 1,
        day: date.getDate(),
        hour: date.getHours(),
        minute: date.getMinutes(),
        second: date.getSeconds(),
      }
}

/** More than a double of these years is off, less than anybody is shown. */
const HALF_MICROSECOND = 5e-7

/** A clock shows the second that has begun: nothing is rounded up to what has not come yet. */
function begun(time: number): { second: number; rest: number } {
  const at = time + HALF_MICROSECOND
  const second = Math.floor(at)
  return { second, rest: at - second }
}

/** `03:14:07`, with as many decimals as asked for. */
export function clock(time: number, utc: boolean, decimals = 0): string {
  const { second, rest } = begun(time)
  const p = parts(second, utc)
  const fraction = decimals ? '.' + String(Math.floor(rest * 10 ** decimals)).padStart(decimals, '0') : ''
  return `${two(p.hour)}:${two(p.minute)}:${two(p.second)}${fraction}`
}

export function day(time: number, utc: boolean): string {
  const p = parts(begun(time).second, utc)
  return `${p.year}-${two(p.month)}-${two(p.day)}`
}

export const moment = (time: number, utc: boolean, decimals = 0): string =>
  `${day(time, utc)} ${clock(time, utc, decimals)}`

/** `03:14:02.1 – 03:14:07.4`, the date where it says more. */
export function range(span: Span, utc: boolean): string {
  const decimals = decimalsFor(length(span) / 10)
  const same = day(span.start, utc) === day(span.end, utc)
  const end = same ? clock(span.end, utc, decimals) : moment(span.end, utc, decimals)
  return `${moment(span.start, utc, decimals)} – ${end}`
}

export function decimalsFor(step: number): number {
  if (step >= 1) return 0
  return Math.min(4, Math.ceil(-Math.log10(step) - 1e-9))
}

/** `250 ms`, `6 s`, `1 m 30 s`, `12 h`. */
export function duration(seconds: number): string {
  const short = (value: number, unit: string): string => `${Number(value.toPrecision(3))} ${unit}`
  if (seconds < 0) return '−' + duration(-seconds)
  if (seconds === 0) return '0 s'
  if (seconds < 1e-3) return short(seconds * 1e6, 'µs')
  if (seconds < 1) return short(seconds * 1e3, 'ms')
  if (seconds < 60) return short(seconds, 's')
  const units: [number, string][] = [[86400, 'd'], [3600, 'h'], [60, 'm'], [1, 's']]
  const whole = Math.round(seconds)
  for (let index = 0; index < units.length - 1; index++) {
    const [big, name] = units[index]!
    const [small, part] = units[index + 1]!
    if (whole >= big) {
      const rest = Math.floor((whole % big) / small)
      return `${Math.floor(whole / big)} ${name}${rest ? ` ${rest} ${part}` : ''}`
    }
  }
  return short(seconds, 's')
}

const STEPS = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900,
  1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 1209600,
]

/** No round number of seconds: a log may reach back for years. */
const MONTHS = [1, 2, 3, 6, 12, 24, 60, 120, 240]
const SHORTEST_MONTH = 28 * 86400
/** From here on a change of the clocks must not move what follows it off midnight. */
const QUARTER_DAY = 21600
const MOST_TICKS = 200

export interface Tick {
  time: number
  label: string
  /** The first of a day: its label is the date. */
  isDay: boolean
}

/** At round times, so many that their labels have `apart` seconds each. */
export function ticks(span: Span, apart: number, utc: boolean): Tick[] {
  const step = STEPS.find((one) => one >= apart)
  if (step === undefined) return monthTicks(span, apart, utc)
  // Round in the zone that is shown: midnight is not a multiple of six hours everywhere.
  const shift = ahead(span.start, utc)
  const first = Math.ceil((span.start + shift) / step - 1e-9)
  const found: Tick[] = []
  for (let index = first; found.length < MOST_TICKS; index++) {
    const begin = index * step - shift
    const time = step < QUARTER_DAY ? begin : index * step - ahead(begin, utc)
    if (time > span.end) break
    const isDay = step >= 1 && clock(time, utc) === '00:00:00'
    const text = clock(time, utc, decimalsFor(step))
    found.push({ time, isDay, label: isDay ? day(time, utc) : step >= 60 ? text.slice(0, 5) : text })
  }
  return found
}

/** Seconds that the zone is ahead of UTC. */
const ahead = (time: number, utc: boolean): number =>
  utc ? 0 : -new Date(time * 1000).getTimezoneOffset() * 60

/** At the first of a month. */
function monthTicks(span: Span, apart: number, utc: boolean): Tick[] {
  const step = MONTHS.find((one) => one * SHORTEST_MONTH >= apart) ?? MONTHS[MONTHS.length - 1]!
  const from = parts(span.start, utc)
  const found: Tick[] = []
  for (let month = Math.floor((from.year * 12 + from.month - 1) / step) * step; found.length < MOST_TICKS; month += step) {
    const at = [Math.floor(month / 12), month % 12] as const
    const time = (utc ? Date.UTC(...at) : new Date(...at).getTime()) / 1000
    if (time > span.end) break
    if (time >= span.start) found.push({ time, isDay: true, label: day(time, utc) })
  }
  return found
}
