import { computed } from '@preact/signals'
import { type Asked, useAnswer } from '../client'
import type { CaseEntry, Cases as FoundCases } from '../api'
import { plain } from '../figures'
import { caseId, info, isOutside, utc, view, whole } from '../state'
import { arrived } from '../timeline/map'
import { moment, settled } from '../time'

/** Asked again when the recording has grown by this much. */
const EVERY_SECONDS = 60

export const CASES = 5

const ready = computed(() => arrived.value > 0 || view.value !== 'timeline' || isOutside.value)

/** Cases of the whole recording, beside everything; asked for once, whoever shows them. */
export const useCases = (): Asked<FoundCases> => {
  const span = settled(whole.value, info.value?.is_live ?? false, EVERY_SECONDS)
  // The worst one at once; the others take their time.
  // Not before the map is there: looking for causes takes a core for seconds.
  const worst = useAnswer('/api/cases', ready.value ? { ...span, limit: 1 } : null)
  const all = useAnswer('/api/cases', worst.answer?.cases.length ? { ...span, limit: CASES } : null)
  return all.answer ? all : { ...worst, busy: worst.busy || all.busy }
}

const MARKS: Record<string, string> = { found: '●', suspected: '◐', unknown: '○', healthy: '✓' }

export function Cases({ asked }: { asked: Asked<FoundCases> }) {
  return (
    <aside class="cases" aria-label="Cases">
      <h2>Cases</h2>
      {asked.problem && (
        <>
          <p class="problem">{asked.problem.message}</p>
          <p class="faint">{asked.problem.todo}</p>
        </>
      )}
      {!asked.answer && !asked.problem && <p class="loading">Looking for causes…</p>}
      {asked.answer && !asked.answer.cases.length && (
        <p class="faint">
          No harm to anybody was seen in this recording: no complaint of the kernel, no failed job, nobody starved. If
          you know of some, select its seconds and look who was on the cores.
        </p>
      )}
      <ul aria-busy={asked.busy}>
        {asked.answer?.cases.map((entry) => (
          <li key={entry.id}>
            <button
              aria-current={view.value === 'case' && caseId.value === entry.id ? 'page' : undefined}
              onClick={() => {
                caseId.value = entry.id
                view.value = 'case'
              }}
            >
              <Head entry={entry} />
            </button>
          </li>
        ))}
        {asked.answer && asked.answer.cases.length > 0 && asked.busy && <li class="loading">Looking into others…</li>}
      </ul>
    </aside>
  )
}

function Head({ entry }: { entry: CaseEntry }) {
  const { verdict, symptom } = entry.case
  return (
    <>
      <span class={`verdict ${verdict.status}`} aria-label={verdict.status}>{MARKS[verdict.status]}</span>
      {symptom && <span class="faint"> {moment(symptom.time, utc.value)}</span>}
      <div>{plain(verdict.root_cause?.kind ?? symptom?.kind ?? verdict.status)}</div>
      <div class="small">{plain(verdict.summary)}</div>
    </>
  )
}
