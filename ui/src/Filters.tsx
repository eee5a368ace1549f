import { useState } from 'preact/hooks'
import { useAnswer } from './client'
import { percent, plain, ranges } from './figures'
import { Menu } from './Menu'
import { addFilter, dropFilter, filter, FILTER_KEYS, type FilterKey, info, MODES, NUMERIC, picked } from './state'

interface Offer {
  key: FilterKey
  value: string | number
  more: string
}

/** Chips of what is filtered by, and a box that knows what there is. */
export function Filters() {
  const chosen = FILTER_KEYS.flatMap((key) => filter.value[key].map((value) => ({ key, value })))
  const cores = filter.value.core
  return (
    <div class="filters">
      {cores.length > 3 ? (
        <button class="chip" onClick={() => (filter.value = { ...filter.value, core: [] })} title="Remove">
          cores {ranges(cores)} <span aria-hidden="true">×</span>
        </button>
      ) : null}
      {chosen
        .filter((one) => one.key !== 'core' || cores.length <= 3)
        .map(({ key, value }) => (
          <button key={`${key}${value}`} class="chip" title="Remove this filter" onClick={() => dropFilter(key, value)}>
            {key} {plain(String(value))} <span aria-hidden="true">×</span>
          </button>
        ))}
      <Menu name="+ filter" button="plain">{(close) => <Choice done={close} />}</Menu>
    </div>
  )
}

function Choice({ done }: { done: () => void }) {
  const [text, setText] = useState('')
  return (
    <>
      <input
        type="search"
        autoFocus
        placeholder="kubelet, core 39, unit:ecs.service…"
        aria-label="Search filters"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          const typed = event.key === 'Enter' ? typedFilter(text) : null
          if (typed) {
            addFilter(typed.key, typed.value)
            done()
          }
        }}
      />
      <Offers text={text} done={done} />
    </>
  )
}

/** `core:39`, `unit=ecs.service`. */
export function typedFilter(text: string): { key: FilterKey; value: string | number } | null {
  const match = /^\s*(\w+)\s*[:= ]\s*(.+?)\s*$/.exec(text)
  const key = match?.[1] as FilterKey | undefined
  if (!match || !key || !FILTER_KEYS.includes(key)) return null
  if (!NUMERIC.has(key)) return { key, value: match[2]! }
  return /^-?\d{1,9}$/.test(match[2]!) ? { key, value: Number(match[2]) } : null
}

function Offers({ text, done }: { text: string; done: () => void }) {
  const asked = useAnswer('/api/top', picked.value && { ...picked.value, limit: 200 })
  const offers: Offer[] = []
  const seen = new Set<string>()
  const offer = (key: FilterKey, value: string | number, more: string): void => {
    const id = `${key} ${value}`
    if (value === '' || seen.has(id)) return
    seen.add(id)
    offers.push({ key, value, more })
  }
  for (const one of asked.answer?.processes ?? []) {
    const took = `${percent(one.percent_of_one_core)} of one core`
    offer('comm', one.comm, took)
    offer('unit', one.unit, '')
    offer('container', one.container, '')
    offer('pod', one.pod, '')
    if (one.pid !== null) offer('pid', one.pid, `${plain(one.comm)}, ${took}`)
    offer('cgroup', one.cgroup, '')
  }
  for (const mode of MODES) offer('mode', mode, '')
  for (const core of info.value?.cores ?? []) offer('core', core, '')
  const words = text.toLowerCase().split(/[\s:=]+/).filter(Boolean)
  const found = offers.filter((one) => {
    const whole = `${one.key} ${one.value} ${one.more}`.toLowerCase()
    return words.every((word) => whole.includes(word))
  })
  return (
    <ul>
      {found.slice(0, 50).map((one) => (
        <li key={`${one.key} ${one.value}`}>
          <button
            onClick={() => {
              addFilter(one.key, one.value)
              done()
            }}
          >
            <span class="faint">{one.key}</span> <b>{plain(String(one.value))}</b> <span class="faint">{one.more}</span>
          </button>
        </li>
      ))}
      {!found.length && <li class="faint">{asked.busy ? 'Reading…' : 'Nobody of that name ran then.'}</li>}
    </ul>
  )
}
