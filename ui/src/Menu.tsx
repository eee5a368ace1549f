import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useState } from 'preact/hooks'

interface Properties {
  name: string
  /** Classes of the menu, its button and what drops down from it. */
  menu?: string
  button?: string
  drop?: string
  children: (close: () => void) => ComponentChildren
}

/** A button with something that drops down from it. */
export function Menu({ name, menu = '', button = '', drop = '', children }: Properties) {
  const [open, setOpen] = useState(false)
  const close = (): void => setOpen(false)
  // A layout effect: once the menu is seen, Escape is its own. An ordinary one comes after that.
  useLayoutEffect(() => {
    if (!open) return
    // Before anybody else hears of it, wherever the focus is: Escape would deselect, too.
    const escaped = (event: KeyboardEvent): void => {
      if (event.key !== 'Escape') return
      event.stopPropagation()
      removeEventListener('keydown', escaped, true) // now: the next Escape may come before the effect ends
      close()
    }
    addEventListener('keydown', escaped, true)
    return () => removeEventListener('keydown', escaped, true)
  }, [open])
  return (
    <div class={`menu ${menu}`}>
      <button class={button} aria-expanded={open} onClick={() => setOpen(!open)}>{name}</button>
      {open && <div class={`drop ${drop}`}>{children(close)}</div>}
    </div>
  )
}
