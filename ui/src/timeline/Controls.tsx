import { useState } from 'preact/hooks'
import { useAnswer } from '../client'
import { hue } from '../colours'
import { Menu } from '../Menu'
import { axis, info, lanes, order, type Order, ORDERS, show, SHOWS, utc } from '../state'
import { duration, length, range } from '../time'
import { numaNodes } from './map'

const WORDS: Record<string, string> = { busy: 'all', irq: 'irq', softirq: 'softirq' }

const ORDER_WORDS: Record<Order, string> = { number: 'number', numa: 'NUMA node', heat: 'heat' }
const NO_NUMA = 'NUMA nodes are not in this recording (a kernel without NUMA, imported files, or an older recorder)'

/** Above the map: what it shows, in which order, and which lanes lie below. */
export function Controls() {
  return (
    <div class="controls">
      <span class="what">{range(axis.value, utc.value)} <span class="faint">({duration(length(axis.value))})</span></span>
      <span class="spring" />
      <fieldset class="segmented" aria-label="What the map shows">
        {SHOWS.map((one) => (
          <label key={one} class={show.value === one ? 'on' : ''}>
            <input type="radio" name="show" checked={show.value === one} onChange={() => (show.value = one)} />
            {one !== 'busy' && <i style={{ background: hue(one) }} aria-hidden="true" />}
            {WORDS[one] ?? one}
          </label>
        ))}
      </fieldset>
      <fieldset class="segmented" aria-label="Order of cores">
        {ORDERS.map((one) => {
          const why = one === 'numa' && numaNodes.value?.length === 0 ? NO_NUMA : ''
          return (
            <label key={one} class={[order.value === one ? 'on' : '', why && 'off'].join(' ')} title={why}>
              <input
                type="radio"
                name="order"
                disabled={why !== ''}
                aria-label={why ? `by ${ORDER_WORDS[one]}: ${why}` : undefined}
                checked={order.value === one}
                onChange={() => (order.value = one)}
              />
              by {ORDER_WORDS[one]}
            </label>
          )
        })}
      </fieldset>
      <Menu name="+ lane">{(close) => <Fields done={close} />}</Menu>
      {order.value === 'numa' && numaNodes.value?.length === 0 && <p class="why-not" role="status">By number: {NO_NUMA}.</p>}
    </div>
  )
}

function Fields({ done }: { done: () => void }) {
  const [text, setText] = useState('')
  const asked = useAnswer('/api/fields', info.value ? {} : null)
  const found = (asked.answer?.fields ?? [])
    .filter((one) => one.is_recorded && !lanes.value.includes(one.field.id))
    .filter((one) => `${one.field.id} ${one.field.help}`.toLowerCase().includes(text.toLowerCase()))
  return (
    <>
      <input
        type="search"
        autoFocus
        placeholder="zombies, fault, squeezed, wait…"
        aria-label="Search fields"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <ul>
        {found.slice(0, 60).map(({ field }) => (
          <li key={field.id}>
            <button
              onClick={() => {
                lanes.value = [...lanes.value, field.id]
                done()
              }}
            >
              <b>{field.id}</b> <span class="faint">{field.help}</span>
            </button>
          </li>
        ))}
        {!found.length && <li class="faint">{asked.busy ? 'Reading…' : 'No recorded field fits.'}</li>}
      </ul>
    </>
  )
}
