// What keys do anywhere on the page.

import { helpShown } from './Help'
import { filter, follow, hasFilter, limits, look, noFilter, pan, pick, picked, pickShown, toggleFollow, zoom } from './state'

export function onKey(event: KeyboardEvent): void {
  const target = event.target as HTMLElement
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName) && event.key !== 'Escape') return
  if (event.ctrlKey || event.metaKey || event.altKey) return
  const act = ACTIONS[event.key]
  if (!act) return
  event.preventDefault()
  act(event)
}

const moved = (share: number): void => {
  follow.value = false
  pan(share)
}

const ACTIONS: Record<string, (event: KeyboardEvent) => void> = {
  ArrowLeft: (event) => moved(event.shiftKey ? -0.5 : -0.1),
  ArrowRight: (event) => moved(event.shiftKey ? 0.5 : 0.1),
  '+': () => zoom(0.6),
  '=': () => zoom(0.6),
  '-': () => zoom(1 / 0.6),
  Home: () => look(limits.value),
  s: pickShown,
  z: () => picked.value && look(picked.value),
  f: toggleFollow,
  '?': () => (helpShown.value = !helpShown.value),
  Escape: () => {
    if (helpShown.value) helpShown.value = false
    else if (picked.value) pick(null)
    else if (hasFilter.value) filter.value = noFilter()
  },
}
