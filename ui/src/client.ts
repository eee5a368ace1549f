// Questions to the server. The types of path, parameters and answer are the server's own.

import { signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Answers, Parameters } from './api'

export type Path = keyof Answers

export class Problem extends Error {
  constructor(
    message: string,
    readonly todo: string,
    readonly status: number,
  ) {
    super(message)
  }
}

/** True when the server wants a token that this tab does not have. */
export const needsToken = signal(false)
/** How long the server took over the last answer of each path; in ms. */
export const serverTimes = new Map<string, number>()
const TOKEN = 'exhume-token'
const held = { token: globalThis.sessionStorage?.getItem(TOKEN) ?? '' }

export function setToken(token: string): void {
  held.token = token
  sessionStorage.setItem(TOKEN, token)
  needsToken.value = false
}

type Query = Record<string, unknown>

export function address(path: string, query: Query, parts: Record<string, string> = {}): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(parts[name] ?? ''))
  const search = new URLSearchParams()
  for (const [key, value] of Object.entries(query)) {
    if (value === undefined || value === null || value === '') continue
    for (const one of Array.isArray(value) ? value : [value]) {
      search.append(key, typeof one === 'number' ? String(Number(one.toFixed(6))) : String(one))
    }
  }
  const text = search.toString()
  return text ? `.${filled}?${text}` : `.${filled}`
}

export async function send(url: string, signal?: AbortSignal): Promise<Response> {
  const token = held.token
  const headers: Record<string, string> = token ? { Authorization: `Bearer ${token}` } : {}
  let response: Response
  try {
    response = await fetch(url, { headers, signal: signal ?? null })
  } catch (error) {
    if (signal?.aborted) throw error
    throw new Problem('the server does not answer', 'is `exhume serve` (or `exhume up`) still running?', 0)
  }
  // What was asked before the token was typed in is refused, and that says nothing of the token.
  if (response.status === 401 && token === held.token) needsToken.value = true
  if (!response.ok) {
    const said = (await response.json().catch(() => ({}))) as { error?: string; todo?: string }
    throw new Problem(said.error ?? `the server said ${response.status}`, said.todo ?? '', response.status)
  }
  const timing = /answer;dur=([\d.]+)/.exec(response.headers.get('server-timing') ?? '')
  if (timing) serverTimes.set(new URL(response.url).pathname, Number(timing[1]))
  return response
}

export async function ask<P extends Path>(
  path: P,
  query: Parameters[P],
  options: { signal?: AbortSignal; parts?: Record<string, string> } = {},
): Promise<Answers[P]> {
  const response = await send(address(path, query as Query, options.parts), options.signal)
  return (await response.json()) as Answers[P]
}

/** Saves a file that the server makes, under the name it gives it. */
export async function download(url: string, otherwise: string): Promise<void> {
  const response = await send(url)
  const name = /filename="([\w.-]+)"/.exec(response.headers.get('content-disposition') ?? '')?.[1]
  const link = document.createElement('a')
  link.href = URL.createObjectURL(await response.blob())
  link.download = name ?? otherwise
  link.click()
  URL.revokeObjectURL(link.href)
}

export interface Asked<T> {
  answer: T | null
  problem: Problem | null
  /** An answer is under way; the one before is still shown. */
  busy: boolean
}

/** The answer to a question that changes; null asks nothing. Only the last question counts. */
export function useAnswer<P extends Path>(
  path: P,
  query: Parameters[P] | null,
  parts: Record<string, string> = {},
): Asked<Answers[P]> {
  const [state, set] = useState<Asked<Answers[P]>>({ answer: null, problem: null, busy: query !== null })
  const url = query === null ? '' : address(path, query as Query, parts)
  const last = useRef('')
  useEffect(() => {
    if (!url) {
      set({ answer: null, problem: null, busy: false })
      return
    }
    const abort = new AbortController()
    last.current = url
    set((before) => ({ ...before, busy: true }))
    send(url, abort.signal)
      .then((response) => response.json() as Promise<Answers[P]>)
      .then((answer) => !abort.signal.aborted && set({ answer, problem: null, busy: false }))
      .catch((error: unknown) => {
        if (abort.signal.aborted) return
        const problem = error instanceof Problem ? error : new Problem(String(error), '', 0)
        set({ answer: null, problem, busy: false })
      })
    return () => abort.abort()
  }, [url])
  return state
}

/** Bytes of a packed answer. */
export function unpacked(text: string): Uint8Array {
  const raw = atob(text)
  const bytes = new Uint8Array(raw.length)
  for (let index = 0; index < raw.length; index++) bytes[index] = raw.charCodeAt(index)
  return bytes
}
