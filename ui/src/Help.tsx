import { signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'

export const helpShown = signal(false)

const LINES: [string, string][] = [
  ['drag over the map', 'select a range of time'],
  ['Shift + drag', 'select a range and the cores it crosses'],
  ['click a cell', 'select its core and time'],
  ['click a core number', 'only that core; again: all'],
  ['click an event', 'select the seconds before it'],
  ['drag an edge', 'make the selection longer or shorter'],
  ['wheel, + and −', 'zoom'],
  ['Shift + wheel, ← →', 'move in time; with Shift by half a screen'],
  ['Alt + drag, drag the time axis', 'move in time'],
  ['double-click, z', 'zoom to the selection'],
  ['s', 'select all that is shown'],
  ['Home', 'the whole recording'],
  ['f', 'follow while it records'],
  ['Esc', 'close, deselect, drop the filters'],
]

export function Help() {
  const close = useRef<HTMLButtonElement>(null)
  useEffect(() => close.current?.focus(), [])
  return (
    <div class="help" role="dialog" aria-label="Help" onClick={() => (helpShown.value = false)}>
      <div onClick={(event) => event.stopPropagation()}>
        <h2>Mouse and keys</h2>
        <dl>
          {LINES.map(([what, does]) => (
            <>
              <dt>{what}</dt>
              <dd>{does}</dd>
            </>
          ))}
        </dl>
        <p class="faint">
          A cell of the map shows its worst second, so a burst of 3 s is still there in a map of 12 hours. White or
          striped is not recorded, never zero. The address holds everything you see: copy it to share the view.
        </p>
        <button ref={close} onClick={() => (helpShown.value = false)}>Close</button>
      </div>
    </div>
  )
}
