import { useState } from 'preact/hooks'
import { useAnswer } from './client'
import { Export } from './Export'
import { Filters } from './Filters'
import { percent } from './figures'
import { selected } from './selected'
import { filter, hasFilter, look, pick, picked, pickShown, tab, TABS, type Tab, utc } from './state'
import { Diff } from './tabs/Diff'
import { Events } from './tabs/Events'
import { Flame } from './tabs/Flame'
import { Frames } from './tabs/Frames'
import { Samples } from './tabs/Samples'
import { SubSecond } from './tabs/SubSecond'
import { WhoRan } from './tabs/WhoRan'
import { duration, length, range } from './time'

const NAMES: Record<Tab, string> = {
  flame: 'Flame',
  'sub-second': 'Sub-second',
  who: 'Who ran',
  diff: 'Diff',
  frames: 'Frames',
  events: 'Events',
  samples: 'Samples',
}
const SHOWN: Record<Tab, () => preact.JSX.Element> = {
  flame: Flame,
  'sub-second': SubSecond,
  who: WhoRan,
  diff: Diff,
  frames: Frames,
  events: Events,
  samples: Samples,
}

/** What was brushed, and every way to look at it. */
export function Selection() {
  if (!picked.value) {
    return (
      <section class="selection none">
        <p>
          Drag over the map to see who was on the cores. <button onClick={pickShown}>Select all that is shown</button>
        </p>
        {hasFilter.value && <Filters />}
      </section>
    )
  }
  const Shown = SHOWN[tab.value]
  return (
    <section class="selection" aria-label="Selection">
      <div class="selection-bar">
        <b>{range(picked.value, utc.value)}</b>
        <span class="faint">{duration(length(picked.value))}</span>
        <button class="plain" title="Zoom the axis to the selection (z)" onClick={() => look(picked.value!)}>zoom</button>
        <button class="plain" title="Deselect (Esc)" onClick={() => pick(null)}>clear</button>
        <Filters />
        <Hottest />
        <span class="spring" />
        <Share />
        <Export />
      </div>
      <div role="tablist" class="tabs">
        {TABS.map((id) => (
          <button
            key={id}
            role="tab"
            id={`tab-${id}`}
            aria-selected={tab.value === id}
            aria-controls="panel"
            onClick={() => (tab.value = id)}
          >
            {NAMES[id]}
          </button>
        ))}
      </div>
      <div role="tabpanel" id="panel" class="panel" aria-labelledby={`tab-${tab.value}`}>
        <Shown />
      </div>
    </section>
  )
}

/** The core that was fullest meanwhile: one click narrows everything to it. */
function Hottest() {
  const narrowed = filter.value.core.length > 0
  const asked = useAnswer('/api/core-times', selected.value && !narrowed ? { start: selected.value.start, end: selected.value.end } : null)
  const worst = [...(asked.answer ?? [])].sort((a, b) => (b.worst_second_percent ?? 0) - (a.worst_second_percent ?? 0) || (b.system_percent ?? 0) - (a.system_percent ?? 0))[0]
  if (narrowed || !worst || (worst.worst_second_percent ?? 0) < 80) return null
  return (
    <button class="suggestion" onClick={() => (filter.value = { ...filter.value, core: [worst.core] })}>
      core {worst.core} was at {percent(worst.worst_second_percent)} ({percent(worst.system_percent)} system on average): show only it
    </button>
  )
}

function Share() {
  const [done, setDone] = useState(false)
  return (
    <button
      class="plain"
      onClick={() => {
        void navigator.clipboard?.writeText(location.href).then(() => {
          setDone(true)
          setTimeout(() => setDone(false), 1500)
        })
      }}
    >
      {done ? 'copied' : 'copy link'}
    </button>
  )
}
