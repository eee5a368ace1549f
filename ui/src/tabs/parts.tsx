import type { ComponentChildren } from 'preact'
import type { Asked } from '../client'

/** An answer, or why there is none and what to do about it. */
export function Answered<T>({ of, empty, children }: {
  of: Asked<T>
  empty?: string
  children: (answer: T) => ComponentChildren
}) {
  if (of.problem) {
    return (
      <div class="empty problem" role="alert">
        <p>{of.problem.message}</p>
        {of.problem.todo && <p class="faint">{of.problem.todo}</p>}
      </div>
    )
  }
  if (!of.answer) return of.busy ? <p class="empty loading">Reading the recording…</p> : <p class="empty">{empty ?? 'Nothing here.'}</p>
  return <div class={of.busy ? 'stale' : ''} aria-busy={of.busy}>{children(of.answer)}</div>
}

export function Notes({ notes }: { notes: readonly string[] }) {
  if (!notes.length) return null
  return <ul class="notes">{notes.map((note) => <li>{note}</li>)}</ul>
}
