// Answers for a stretch around the axis: more than is seen, so that panning finds it there.

import { useEffect, useRef, useState } from 'preact/hooks'
import { effect, signal, type Signal } from '@preact/signals'
import type { Answers, Parameters } from '../api'
import { ask, type Path } from '../client'
import { axis, info, whole } from '../state'
import { contains, length, type Span } from '../time'
import { plotWidth } from './geometry'
import { arrived } from './map'

const WAIT_MS = 90

interface Loaded<T> {
  answer: T
  span: Span
  /** Seconds a column had. */
  step: number
  /** The end of the recording then. */
  until: number
}

/** Asked anew when the axis leaves what is loaded, or is zoomed to where it is too coarse. */
export function useStretch<P extends Path>(
  path: P,
  more: Omit<Parameters[P], 'start' | 'end' | 'columns'>,
  parts: Record<string, string> = {},
  pixels: () => number = () => 1,
): Signal<Loaded<Answers[P]> | null> {
  const [loaded] = useState(() => signal<Loaded<Answers[P]> | null>(null))
  const key = JSON.stringify([more, parts])
  const abort = useRef<AbortController | null>(null)
  useEffect(() => {
    let timer = 0
    loaded.value = null
    const load = async (): Promise<void> => {
      const seen = axis.peek()
      const wide = length(seen)
      const span = { start: seen.start - wide / 2, end: seen.end + wide / 2 }
      const columns = Math.min(4000, Math.max(50, Math.round((plotWidth.peek() * 2) / pixels())))
      abort.current?.abort()
      abort.current = new AbortController()
      const until = whole.peek().end
      try {
        const query = { ...more, ...span, columns } as unknown as Parameters[P]
        const answer = await ask(path, query, { signal: abort.current.signal, parts })
        loaded.value = { answer, span, step: length(span) / columns, until }
      } catch {
        // What was loaded stays; the map says what is wrong with the server.
      }
    }
    const stop = effect(() => {
      const seen = axis.value
      const known = loaded.peek()
      // The map first: it is what one looks at.
      if (!info.value || !arrived.value) return
      const step = (length(seen) / plotWidth.value) * pixels()
      const grown = known !== null && seen.end > known.until && whole.value.end > known.until + 0.5
      if (known && contains(known.span, seen) && known.step < step * 2 && known.step > step / 4 && !grown) return
      clearTimeout(timer)
      timer = window.setTimeout(() => void load(), known ? WAIT_MS : 0)
    })
    return () => {
      stop()
      clearTimeout(timer)
      abort.current?.abort()
    }
  }, [path, key])
  return loaded
}
