import { useAnswer } from '../client'
import { counted, grouped, plain } from '../figures'
import { picked, pick, utc } from '../state'
import { clock, moment } from '../time'
import { Answered, Notes } from './parts'

const GLYPHS = ['·', '△', '△', '▲']

export function Events() {
  const span = picked.value
  // What led to it, and what it led to, lies around the selection.
  const asked = useAnswer('/api/events', span && { start: span.start - 60, end: span.end + 60, limit: 300 })
  return (
    <Answered of={asked}>
      {(answer) => (
        <>
          <p class="faint small">From a minute before the selection to a minute after; like events are one line.</p>
          <Notes notes={answer.notes} />
          {!answer.groups.length && !answer.counted.length && <p class="empty">Nothing happened that anybody told of.</p>}
          <table>
            <tbody>
              {answer.groups.map((one, index) => {
                const inside = span && one.last_time >= span.start && one.first_time < span.end
                return (
                  <tr class={inside ? 'inside' : ''}>
                    <td class={`severity s${answer.severities[index]}`} aria-label={`severity ${answer.severities[index]}`}>
                      {GLYPHS[answer.severities[index]!]}
                    </td>
                    <td class="mono nowrap">
                      <button class="plain" title="Select the seconds before it" onClick={() => pick({ start: one.first_time - 8, end: one.first_time + 2 })}>
                        {moment(one.first_time, utc.value, 3)}
                      </button>
                      {one.count > 1 && one.last_time > one.first_time && ` … ${clock(one.last_time, utc.value)}`}
                    </td>
                    <td class="nowrap">{one.kind}{one.count > 1 && <span class="tag">× {grouped(one.count)}</span>}</td>
                    <td class="subject"><b>{plain(one.subject)}</b>{one.core !== null && <span class="faint"> core {one.core}</span>}</td>
                    <td class="wide">{plain(one.text)} {one.signature && <span class="tag">{one.signature}</span>}</td>
                  </tr>
                )
              })}
            </tbody>
          </table>
          {answer.left_out > 0 && <p class="faint">{counted(answer.left_out, 'more line')} of less account.</p>}
          {answer.counted.length > 0 && (
            <p class="faint">
              {answer.counted.slice(0, 24).map((one) => `${plain(one.name)} ${one.kind} × ${grouped(one.count)}`).join(' · ')}
            </p>
          )}
        </>
      )}
    </Answered>
  )
}
