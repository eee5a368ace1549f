import type { Imported, Status } from '../api'
import { useAnswer } from '../client'
import { grouped, percent, plain, short, size } from '../figures'
import { info, utc } from '../state'
import { Answered, Notes } from '../tabs/parts'
import { duration, moment, range } from '../time'
import { Fact } from './Zombies'

/** What the recorder does, what it misses and why, and what it costs. */
export function Recorder() {
  const asked = useAnswer('/api/status', {})
  const recorded = info.value!
  return (
    <div class="view">
      <h2>{plain(recorded.node)} <span class="faint">{plain(recorded.kernel)}</span></h2>
      <dl class="figures">
        <Fact name="recorded" value={range(recorded.window, utc.value)} />
        <Fact name="cores" value={grouped(recorded.cores.length)} />
        <Fact name="samples" value={short(recorded.samples)} />
        <Fact name="on disk" value={size(asked.answer?.disk.used_bytes)} />
        <Fact name="gaps" value={grouped(recorded.gaps.length)} />
      </dl>
      <Answered of={asked}>
        {(status) => (
          <>
            <p>{whoRecords(status)}</p>
            {status.imported && <Inputs of={status.imported} />}
            {status.cost && (
              <dl class="figures">
                <Fact name="CPU of one core" value={percent(status.cost.cpu_percent_of_one_core)} />
                <Fact name="memory" value={size(status.cost.rss_bytes)} />
                <Fact name="worst lateness" value={status.cost.worst_lateness_seconds === null ? '–' : duration(status.cost.worst_lateness_seconds)} />
                <Fact name="a day on disk" value={size(status.cost.bytes_per_day)} />
                <Fact name="lost samples" value={grouped(status.cost.lost_samples)} />
              </dl>
            )}
            {status.missing.length > 0 && <h3>What is missing</h3>}
            <ul>{status.missing.map((one) => <li><b>{plain(one.what)}</b>: {plain(one.why)}. {plain(one.remedy)}</li>)}</ul>
            {status.sources.some((one) => one.state !== 'ok') && <h3>Sources</h3>}
            <ul>{status.sources.filter((one) => one.state !== 'ok').map((one) => <li><b>{one.name}</b> {one.state} <span class="faint">{plain(one.detail)}</span></li>)}</ul>
          </>
        )}
      </Answered>
      <Notes notes={recorded.stretches.filter((one) => one.problem).map((one) => `${range(one.window, utc.value)}: ${one.problem}`)} />
    </div>
  )
}

const MOST_FILES = 120

function Inputs({ of }: { of: Imported }) {
  const left = of.files.length - MOST_FILES
  return (
    <>
      <h3>Imported from</h3>
      <ul class="files">{of.files.slice(0, MOST_FILES).map((file) => <li class="mono">{plain(file)}</li>)}</ul>
      {left > 0 && <p class="faint">and {grouped(left)} more</p>}
    </>
  )
}

function whoRecords(status: Status): string {
  const how = `by ${status.event} at ${short(status.rate_hz)} Hz on ${grouped(status.cores_sampled)} of ${grouped(status.cores_online)} cores.`
  const since = status.since_time ? moment(status.since_time, utc.value) : ''
  if (status.state === 'running') return `A recorder runs (pid ${status.pid}) since ${since}, ${how}`
  if (status.state === 'stopped') return `No recorder runs; the last one stopped ${since}, ${how}`
  if (status.imported) return `No recorder made this: it was imported ${moment(status.imported.time, utc.value)}.`
  return 'Nobody recorded in this directory: it holds a copy.'
}
