import { useState } from 'preact/hooks'
import type { Lifecycle } from '../api'
import { useAnswer } from '../client'
import { counted, grouped, percent, plain, short, size } from '../figures'
import { addFilter, axis, utc, view } from '../state'
import { Answered, Notes } from '../tabs/parts'
import { duration, moment } from '../time'

/** Who keeps dying, and what each start leaves behind, over what the axis shows. */
export function Units() {
  const [all, setAll] = useState(false)
  const asked = useAnswer('/api/units', { ...axis.value })
  return (
    <div class="view">
      <Answered of={asked}>
        {(answer) => {
          const shown = answer.lifecycles.filter((one) => all || one.mark !== 'healthy')
          return (
            <>
              <h2>Units, containers and programs</h2>
              <Notes notes={answer.notes} />
              <p>
                {counted(answer.lifecycles.length, 'of them', 'of them')} in {duration(answer.recorded_seconds ?? 0)} recorded.{' '}
                <label><input type="checkbox" checked={all} onChange={(event) => setAll(event.currentTarget.checked)} /> the healthy ones too</label>
              </p>
              {!shown.length && <p class="empty">{answer.is_told ? 'Nobody keeps dying here.' : 'The files tell of nobody who starts or ends.'}</p>}
              {shown.length > 0 && <table class="units">
                <thead>
                  <tr>
                    <th>what</th><th>name</th><th>mark</th><th class="figure">starts</th><th class="figure">an hour</th><th class="figure">every</th>
                    <th class="figure">success</th><th class="figure">lives</th><th class="figure">zombies a start</th><th class="figure">memory a start</th><th class="figure">CPU a start</th><th class="when">starts over time</th><th>last start</th>
                  </tr>
                </thead>
                <tbody>{shown.slice(0, 300).map(row)}</tbody>
              </table>}
            </>
          )
        }}
      </Answered>
    </div>
  )
}

const classOf = (mark: string): string => mark.replaceAll(' ', '-')

function row(one: Lifecycle): preact.JSX.Element {
  const key = one.kind === 'process' ? 'comm' : one.kind
  const least = one.starts_at_least ? '≥ ' : '' // by looks, which miss what comes in between
  return (
    <tr>
      <td class="faint">{one.kind}</td>
      <td class="name">
        <button class="plain" title="Filter the timeline by it" onClick={() => { addFilter(key, one.name); view.value = 'timeline' }}><b>{plain(one.name)}</b></button>{' '}
        <span class="faint">{plain(one.detail)}</span>
      </td>
      <td><span class={`mark ${classOf(one.mark)}`}>{one.mark}</span></td>
      <td class="figure">{least}{grouped(one.starts)}</td>
      <td class="figure">{least}{short(one.starts_per_hour)}</td>
      <td class="figure">{one.pace_seconds === null ? '–' : `${one.starts_at_least ? '≤ ' : ''}${duration(one.pace_seconds)}`}</td>
      <td class="figure">{percent(one.success_percent_of_known_ends)}</td>
      <td class="figure">{one.median_lifetime_seconds === null ? '–' : `${one.lifetime_at_most ? '≤ ' : ''}${duration(one.median_lifetime_seconds)}`}</td>
      <td class="figure">{one.zombies_per_start === null ? '–' : `${one.zombies_at_most ? '≤ ' : ''}${short(one.zombies_per_start)}`}</td>
      <td class="figure">{size(one.memory_bytes_per_start)}</td>
      <td class="figure">{one.cpu_seconds_per_start === null ? '–' : duration(one.cpu_seconds_per_start)}</td>
      <td class="when"><Pulse of={one} /></td>
      <td class="nowrap faint">{one.last_start_time === null ? '' : moment(one.last_start_time, utc.value)}</td>
    </tr>
  )
}

/** Its starts over what the axis shows: a loop is a comb, a bad hour is a hill. */
function Pulse({ of: { mark, starts_over_time: starts } }: { of: Lifecycle }) {
  const most = Math.max(1, ...starts)
  const parts = starts.length
  return (
    <svg class={`pulse ${classOf(mark)}`} viewBox={`0 0 ${parts} 10`} preserveAspectRatio="none" role="img" aria-label={`starts over time, ${counted(starts.filter(Boolean).length, 'part', 'parts')} of ${parts} with any`}>
      <rect class="ground" width={parts} height={10} />
      {starts.map((count, at) => count > 0 && <rect class="start" x={at + 0.1} width={0.8} y={10 - 1.5 - (8.5 * count) / most} height={1.5 + (8.5 * count) / most} />)}
    </svg>
  )
}
