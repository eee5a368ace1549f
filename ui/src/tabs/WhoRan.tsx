import type { CoreProcesses, ProcessOnCores } from '../api'
import { useAnswer } from '../client'
import { css, dark, HUES } from '../colours'
import { counted, percent, plain, times } from '../figures'
import { selected } from '../selected'
import { addFilter, filter } from '../state'
import { NoSamples } from './NoSamples'
import { Answered, Notes } from './parts'

/** Up to here cells have room for figures. */
const FIGURES = 12

export function WhoRan() {
  const asked = useAnswer('/api/who-ran', selected.value && { ...selected.value, limit: 40 })
  const past = useAnswer('/api/top', selected.value && { ...selected.value, limit: 40 })
  const known = new Map((past.answer?.processes ?? []).map((one) => [`${one.pid} ${one.comm}`, one]))
  return (
    <Answered of={asked}>
      {(answer) =>
        answer.processes.length ? (
          <>
            <Notes notes={past.answer?.notes ?? []} />
            <table class="who">
              <thead>
                <tr>
                  <th>process</th>
                  <th>belongs to</th>
                  <th class="figure">of one core</th>
                  <th class="figure">hour before</th>
                  <th class="figure">times</th>
                  <th class="cores"><Scale answer={answer} /></th>
                </tr>
              </thead>
              <tbody>
                {answer.processes.map((one) => {
                  const before = known.get(`${one.pid} ${one.comm}`)
                  return (
                    <tr key={`${one.pid} ${one.comm}`}>
                      <td>
                        <button class="plain" title="Only this process" onClick={() => only(one)}>
                          <b>{plain(one.comm)}</b> <span class="faint">{one.pid ?? ''}</span>
                        </button>
                      </td>
                      <td class="faint">{plain(one.unit || one.pod || one.container)}</td>
                      <td class="figure">{percent(share(one.total_seconds, answer))}</td>
                      <td class="figure faint">{percent(before?.baseline_percent_of_one_core)}</td>
                      <td class="figure">{before ? times(before.times_baseline, before.baseline_percent_of_one_core) : '–'}</td>
                      <td class="cores"><Strip one={one} answer={answer} /></td>
                    </tr>
                  )
                })}
                {answer.others > 0 && (
                  <tr>
                    <td class="faint">{counted(answer.others, 'more process', 'more processes')}</td>
                    <td />
                    <td class="figure">{percent(share(answer.others_seconds.reduce((a, b) => a + b, 0), answer))}</td>
                    <td /><td /><td />
                  </tr>
                )}
              </tbody>
            </table>
          </>
        ) : (
          <NoSamples />
        )
      }
    </Answered>
  )
}

/** Where nobody told the number of a process, its name is all there is to it. */
const only = (one: ProcessOnCores): void => (one.pid === null ? addFilter('comm', one.comm) : addFilter('pid', one.pid))

const share = (seconds: number, answer: CoreProcesses): number =>
  (100 * seconds) / Math.max(1e-9, answer.seconds_recorded ?? 0)

/** A cell a core, darker the more of it was taken. */
function Strip({ one, answer }: { one: ProcessOnCores; answer: CoreProcesses }) {
  void dark.value
  const few = answer.cores.length <= FIGURES
  return (
    <div class="strip" style={{ gridTemplateColumns: `repeat(${answer.cores.length}, 1fr)` }}>
      {one.core_seconds.map((seconds, index) => {
        const took = share(seconds, answer)
        const core = answer.cores[index]!
        if (!seconds) return <i />
        return (
          <button
            title={`core ${core}: ${percent(took)}`}
            aria-label={`core ${core}: ${percent(took)} of it`}
            tabIndex={few ? 0 : -1}
            style={{ background: css(HUES['system']!, 0.12 + 0.88 * Math.min(1, took / 100)) }}
            onClick={() => {
              filter.value = { ...filter.value, core: [core] }
              only(one)
            }}
          >
            {few ? percent(took) : ''}
          </button>
        )
      })}
    </div>
  )
}

function Scale({ answer }: { answer: CoreProcesses }) {
  const every = Math.ceil(answer.cores.length / 24)
  return (
    <div class="strip scale" style={{ gridTemplateColumns: `repeat(${answer.cores.length}, 1fr)` }}>
      {answer.cores.map((core, index) => <span>{index % every === 0 ? (answer.cores.length === 1 ? `on core ${core}` : core) : ''}</span>)}
    </div>
  )
}
