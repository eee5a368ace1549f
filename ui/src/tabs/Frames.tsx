import { useState } from 'preact/hooks'
import type { TopFrame } from '../api'
import { useAnswer } from '../client'
import { percent, plain, times } from '../figures'
import { selected } from '../selected'
import { search, tab } from '../state'
import { NoSamples } from './NoSamples'
import { Answered, Notes } from './parts'

type Column = 'inclusive_percent_of_selection' | 'self_percent_of_selection' | 'times_baseline'

export function Frames() {
  const [by, setBy] = useState<Column>('inclusive_percent_of_selection')
  const asked = useAnswer('/api/top', selected.value && { ...selected.value, limit: 100 })
  const head = (column: Column, text: string): preact.JSX.Element => (
    <th class="figure" aria-sort={by === column ? 'descending' : 'none'}>
      <button class="plain" onClick={() => setBy(column)}>{text}{by === column ? ' ▾' : ''}</button>
    </th>
  )
  return (
    <Answered of={asked}>
      {(answer) => (
        <>
          <Notes notes={answer.notes} />
          {!answer.frames.length && <NoSamples />}
          <table>
            <thead>
              <tr>
                <th>function</th>
                <th>module</th>
                {head('inclusive_percent_of_selection', 'inclusive')}
                {head('self_percent_of_selection', 'self')}
                <th class="figure">of one core</th>
                <th class="figure">hour before</th>
                {head('times_baseline', 'times')}
              </tr>
            </thead>
            <tbody>{[...answer.frames].sort((a, b) => (b[by] ?? 0) - (a[by] ?? 0)).map(row)}</tbody>
          </table>
        </>
      )}
    </Answered>
  )
}

function row(one: TopFrame): preact.JSX.Element {
  return (
    <tr key={`${one.frame.name} ${one.frame.module}`}>
      <td class="mono">
        <button class="plain" title="Find it in the flame graph" onClick={() => find(one.frame.name)}>{plain(one.frame.name)}</button>
        {one.interrupts_were_off && <span class="tag" title="Interrupts came back on here: the time belongs to its caller">interrupts were off</span>}
      </td>
      <td class="faint">{plain(one.frame.module)}</td>
      <td class="figure bar"><i style={{ width: `${one.inclusive_percent_of_selection}%` }} /><span>{percent(one.inclusive_percent_of_selection)}</span></td>
      <td class="figure">{percent(one.self_percent_of_selection)}</td>
      <td class="figure">{percent(one.inclusive_percent_of_one_core)}</td>
      <td class="figure faint">{percent(one.baseline_percent_of_one_core)}</td>
      <td class="figure">{times(one.times_baseline, one.baseline_percent_of_one_core)}</td>
    </tr>
  )
}

function find(name: string): void {
  search.value = `^${name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`
  tab.value = 'flame'
}
