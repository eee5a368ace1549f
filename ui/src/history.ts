// The address follows what is shown; what is shown follows the address when somebody goes back.

import { batch, effect } from '@preact/signals'
import { axis, caseId, picked, tab, view } from './state'
import { decode, encode, firstAxis, written } from './url'

const QUIET_MS = 150

/** What one goes back to: where somebody went, not how far they zoomed there. */
function place(): string {
  const one = view.value === 'case' ? caseId.value : ''
  return [view.value, one, picked.value ? written(picked.value) : '', tab.value].join(' ')
}

const addressOf = (query: string): string => (query ? `?${query}` : location.pathname)

export function keepAddress(): () => void {
  let at = place()
  let due = encode()
  let timer = 0
  const settle = (): void => {
    clearTimeout(timer)
    const wanted = addressOf(due)
    if (wanted !== (location.search || location.pathname)) history.replaceState(null, '', wanted)
  }
  const stop = effect(() => {
    const query = encode()
    const now = place()
    if (now !== at) {
      settle()
      history.pushState(null, '', addressOf(query))
      at = now
      due = query
    } else {
      due = query
      clearTimeout(timer)
      timer = window.setTimeout(settle, QUIET_MS)
    }
  })
  const wentBack = (): void => {
    clearTimeout(timer)
    batch(() => {
      decode(location.search)
      axis.value = firstAxis(location.search)
      at = place()
    })
  }
  addEventListener('popstate', wentBack)
  return () => {
    stop()
    clearTimeout(timer)
    removeEventListener('popstate', wentBack)
  }
}
