import { batch } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Case, CaseEntry, Cases as FoundCases, Evidence, Link, Party, Place, Risk, Suspect, Tests } from '../api'
import { address, type Asked, download, Problem } from '../client'
import { plain } from '../figures'
import { caseId, type Filter, filter, FILTER_KEYS, info, lanes, limits, look, pick, tab, TABS, type Tab, utc, view, type View, VIEWS } from '../state'
import { length, moment, range, type Span, within } from '../time'
import { LANES, written } from '../url'
import { figure, worded } from './named'
import { CASES } from './Cases'

export function CasePage({ asked }: { asked: Asked<FoundCases> }) {
  const entry = asked.answer?.cases.find((one) => one.id === caseId.value)
  if (!entry) return <p class="empty">{asked.busy ? 'Reading…' : 'There is no such case in this recording. It may have been let go by retention.'}</p>
  const { case: one } = entry
  return (
    <article class="case">
      <h2>
        <span class={`verdict ${one.verdict.status}`}>{one.verdict.status}</span> {plain(one.verdict.summary)}
      </h2>
      <p class="faint">
        {one.verdict.confidence && `Confidence: ${one.verdict.confidence}. `}
        {one.symptom && `${plain(one.symptom.kind)} at ${moment(one.symptom.time, utc.value)}, victim ${party(one.symptom.victim)} (${plain(one.symptom.source)}).`}
      </p>
      <div class="parts">
        <section class="told">
          <Root one={one} />
          <Downloads entry={entry} span={asked.answer!.window} />
          {one.chain.length > 0 && <h3>Chain</h3>}
          <ol class="chain">{one.chain.map((link) => <ChainLink link={link} entry={entry} />)}</ol>
        </section>
        <section class="shown">
          {one.evidence.length > 0 && <h3>Evidence</h3>}
          <ul class="evidence">{one.evidence.map((piece) => <li key={piece.id}><Piece piece={piece} entry={entry} /></li>)}</ul>
        </section>
        <section class="done">
          <Actions one={one} />
          <List title="Suspects that remain" items={one.suspects.slice(one.verdict.root_cause ? 1 : 0).map((suspect) => `${words(suspect)} (${suspect.confidence})`)} />
          <List title="Rejected" items={one.rejected.map((suspect) => `${words(suspect)}: ${suspect.reason}`)} />
          <List title="Seen at that time, not tied to it" items={one.meanwhile.map(noticed)} />
          <List title="Risks" items={one.risks.map(noticed)} />
          <List title="What is missing" items={one.gaps} />
        </section>
      </div>
    </article>
  )
}

function Root({ one }: { one: Case }) {
  const root = one.verdict.root_cause
  if (!root) return null
  return (
    <dl class="facts">
      <dt>mechanism</dt><dd>{plain(root.kind)}</dd>
      <dt>culprit</dt><dd>{party(root.culprit)}</dd>
      {Object.entries(root.details).map(([name, value]) => (
        <><dt>{worded(name)}</dt><dd>{figure(name, value)}</dd></>
      ))}
    </dl>
  )
}

function ChainLink({ link, entry }: { link: Link; entry: CaseEntry }) {
  return (
    <li class={link.role}>
      <span class="tag">{link.role.replace('_', ' ')}</span> {plain(link.claim)}
      <TestMarks tests={link.tests} />
      <span class="pieces">
        {link.evidence.map((id) => {
          const place = entry.places.find((one) => one.evidence === id)
          return place ? <PlaceLink key={id} place={place}>{plain(id)}</PlaceLink> : <span>{plain(id)}</span>
        })}
      </span>
    </li>
  )
}

const OUTCOMES: Record<string, string> = { passed: '✓', failed: '✗', untested: '·' }

function TestMarks({ tests }: { tests: Tests }) {
  return (
    <span class="tests">
      {(['order', 'place', 'dose', 'counterfactual'] as const).map((name) => (
        <span key={name} class={tests[name]} title={`${name}: ${tests[name]}`}>{OUTCOMES[tests[name]]} {name}</span>
      ))}
    </span>
  )
}

function Piece({ piece, entry }: { piece: Evidence; entry: CaseEntry }) {
  const place = entry.places.find((one) => one.evidence === piece.id)
  const figures = Object.entries(piece.figures).map(([name, value]) => `${worded(name)} ${figure(name, value)}`)
  return (
    <>
      <span class="tag">{plain(piece.id)}</span>{' '}
      {place ? <PlaceLink place={place}>{plain(piece.claim)}</PlaceLink> : plain(piece.claim)}
      <div class="faint small">{range(piece.window, utc.value)}{figures.length > 0 && ` · ${figures.join(' · ')}`}</div>
      <code>{plain(piece.check)}</code>
    </>
  )
}

const LONG_SECONDS = 900

/** A real link, so that it can be copied or opened beside; a click goes there at once. */
function PlaceLink({ place, children }: { place: Place; children: ComponentChildren }) {
  const query = new URLSearchParams({ axis: written(around(place.window)) })
  const span = brushed(place)
  if (span) query.set('pick', written(span))
  if ((TABS as readonly string[]).includes(place.tab)) query.set('tab', place.tab)
  if ((VIEWS as readonly string[]).includes(place.tab)) query.set('view', place.tab)
  const wanted = filterOf(place)
  for (const key of FILTER_KEYS) for (const value of wanted[key]) query.append(key, String(value))
  if (place.field && !LANES.includes(place.field)) query.set('lanes', [...LANES, place.field].join(','))
  return (
    <a
      class="link"
      href={`?${query.toString()}`}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return
        event.preventDefault()
        go(place)
      }}
    >
      {children}
    </a>
  )
}

function around(span: Span): Span {
  const more = Math.max(30, length(span) * 2)
  return within({ start: span.start - more, end: span.end + more }, limits.value)
}

/** Of hours the map says enough; seconds are for the flame graph. */
const brushed = (place: Place): Span | null =>
  place.tab === 'timeline' && length(place.window) > LONG_SECONDS ? null : { ...place.window }

const filterOf = ({ filter: of }: Place): Filter => ({
  core: of.cores,
  comm: of.comms,
  pid: of.pids,
  tid: of.tids,
  cgroup: of.cgroups,
  unit: of.units,
  container: of.containers,
  pod: of.pods,
  mode: of.modes,
})

/** Sets axis, filters and selection to what a piece of evidence claims. */
export function go(place: Place): void {
  batch(() => {
    filter.value = filterOf(place)
    if (place.field && !lanes.value.includes(place.field)) lanes.value = [...lanes.value, place.field]
    look(around(place.window))
    pick(brushed(place))
    view.value = 'timeline'
    if ((TABS as readonly string[]).includes(place.tab)) tab.value = place.tab as Tab
    if ((VIEWS as readonly string[]).includes(place.tab)) view.value = place.tab as View
  })
}

function Actions({ one }: { one: Case }) {
  const parts: [string, string[]][] = [
    ['Do now', one.actions.now],
    ['For good', one.actions.for_good],
    ['Undo', one.actions.undo],
    ['See that it worked', one.actions.verify],
  ]
  return <>{parts.map(([title, items]) => <List title={title} items={items} />)}</>
}

function List({ title, items }: { title: string; items: readonly string[] }) {
  if (!items.length) return null
  return (
    <>
      <h3>{title}</h3>
      <ul>{items.map((item) => <li>{plain(item)}</li>)}</ul>
    </>
  )
}

/** The list may have moved on since; the report is of the case as it is shown. */
function Downloads({ entry, span }: { entry: CaseEntry; span: Span }) {
  const [said, setSaid] = useState('')
  const save = async (format: string): Promise<void> => {
    setSaid(`Writing the report as ${format}…`)
    try {
      const query = { start: span.start, end: span.end, limit: CASES, case: entry.id }
      await download(address('/api/report/{format}', query, { format }), `case.${format}`)
      setSaid('')
    } catch (error) {
      setSaid(error instanceof Problem ? `${error.message}. ${error.todo}` : String(error))
    }
  }
  return (
    <p class="downloads">
      Report:{' '}
      {info.value?.report_formats.map((format) => (
        <button key={format} aria-label={`Download as ${format}`} onClick={() => void save(format)}>{format}</button>
      ))}
      <span class="faint" role="status">{said}</span>
    </p>
  )
}

const noticed = (one: Risk): string => `${one.subject}: ${one.claim}`

const words = (one: Suspect): string => `${one.kind}, ${party(one.culprit)}${one.summary ? `: ${one.summary}` : ''}`

function party(one: Party): string {
  const name = one.unit ?? one.container ?? one.pod ?? one.comm ?? one.exe ?? one.cgroup
  const core = one.core === null ? '' : `core ${one.core}`
  return plain([name, one.pid !== null ? `pid ${one.pid}` : '', core].filter(Boolean).join(', ') || 'unknown')
}
