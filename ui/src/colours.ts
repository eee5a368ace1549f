// Colours that stay apart for colour-blind eyes (Okabe and Ito), on light and on dark.

import { computed, signal } from '@preact/signals'
import { theme } from './state'

type Rgb = readonly [number, number, number]

const prefersDark = matchMedia('(prefers-color-scheme: dark)')
const systemDark = signal(prefersDark.matches)
prefersDark.addEventListener('change', (event) => (systemDark.value = event.matches))
export const dark = computed(() => theme.value === 'dark' || (theme.value === 'auto' && systemDark.value))

export const HUES: Record<string, Rgb> = {
  user: [60, 132, 200],
  system: [222, 84, 20],
  irq: [204, 110, 170],
  softirq: [226, 166, 20],
  steal: [20, 158, 120],
  iowait: [128, 136, 148],
}

const paper = (isDark: boolean): Rgb => (isDark ? [28, 33, 40] : [238, 241, 245])

function mixed(from: Rgb, to: Rgb, share: number): Rgb {
  return [0, 1, 2].map((i) => Math.round(from[i]! + (to[i]! - from[i]!) * share)) as unknown as Rgb
}

export const css = ([r, g, b]: Rgb, alpha = 1): string =>
  alpha === 1 ? `rgb(${r},${g},${b})` : `rgba(${r},${g},${b},${alpha})`

export const hue = (mode: string): string => css(HUES[mode] ?? HUES['iowait']!)

/** From an empty cell to a full one. Low values are lifted: 10 % should not look like nothing. */
function shade(mode: string, share: number, isDark: boolean): Rgb {
  const full = HUES[mode] ?? HUES['iowait']!
  // User mode is what cores are for; it steps back so that everything else stands out.
  const strength = mode === 'user' ? (isDark ? 0.85 * Math.pow(share, 0.8) : 0.72 * share) : Math.pow(share, 0.75)
  // The last step stands out: a full core is what one looks for.
  const bright = isDark ? mixed(full, [255, 240, 220], share >= 0.95 ? 0.18 : 0) : mixed(full, [60, 0, 0], share >= 0.95 ? 0.12 : 0)
  return mixed(paper(isDark), bright, strength)
}

const packed = ([r, g, b]: Rgb): number => (255 << 24) | (b << 16) | (g << 8) | r

/** What was not recorded has no colour: the stripes below it are seen. */
const CLEAR = 0

/** Pixels by mode and byte of the packed map: 256 for each mode, the last for not recorded. */
export function pixelTable(modes: readonly string[], isDark: boolean): Uint32Array {
  const table = new Uint32Array((modes.length + 1) * 256)
  for (let mode = 0; mode <= modes.length; mode++) {
    for (let value = 0; value < 256; value++) {
      const name = modes[mode] ?? 'iowait'
      table[mode * 256 + value] =
        value === 255 ? CLEAR : packed(shade(name, Math.min(1, value / 200), isDark))
    }
  }
  return table
}

/** One hue from faint to strong, for counts. */
export function heatTable(isDark: boolean): Uint32Array {
  const stops: Rgb[] = isDark
    ? [[28, 33, 40], [70, 48, 90], [170, 60, 80], [236, 120, 40], [255, 226, 140]]
    : [[248, 249, 251], [250, 214, 150], [236, 130, 60], [176, 46, 70], [74, 20, 70]]
  const table = new Uint32Array(256)
  for (let value = 0; value < 256; value++) {
    const at = (value / 255) * (stops.length - 1)
    const low = Math.min(stops.length - 2, Math.floor(at))
    table[value] = packed(mixed(stops[low]!, stops[low + 1]!, at - low))
  }
  return table
}

const PAINTS: Record<string, readonly [Rgb, Rgb]> = {
  // On light, on dark.
  process: [[206, 213, 222], [74, 84, 98]],
  user: [[150, 196, 232], [52, 104, 152]],
  kernel: [[246, 178, 138], [166, 78, 34]],
  softirq: [[240, 212, 120], [150, 118, 22]],
  irq: [[230, 176, 210], [142, 78, 120]],
  unknown: [[222, 224, 227], [62, 67, 74]],
}

export function paint(kind: string, isDark: boolean, lighter: number): string {
  const colours = PAINTS[kind] ?? PAINTS['unknown']!
  const own = isDark ? colours[1] : colours[0]
  return css(mixed(own, isDark ? [0, 0, 0] : [255, 255, 255], lighter))
}

/** Less than before is blue, more is orange; grey is no change. */
export function change(share: number, isDark: boolean): string {
  const none: Rgb = isDark ? [62, 67, 74] : [226, 229, 233]
  const more: Rgb = isDark ? [214, 92, 24] : [236, 120, 50]
  const less: Rgb = isDark ? [54, 120, 186] : [88, 156, 214]
  return css(mixed(none, share >= 0 ? more : less, Math.min(1, Math.abs(share))))
}
