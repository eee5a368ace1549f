import { effect } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import { ask, needsToken, Problem, setToken } from './client'
import { dark } from './colours'
import { Header } from './Header'
import { Help, helpShown } from './Help'
import { keepAddress } from './history'
import { onKey } from './keys'
import { Selection } from './Selection'
import { axis, follow, info, isOutside, lanes, look, lookAtTheEnd, measured, picked, utc, view, type View, whole } from './state'
import { numaNodes, queues } from './timeline/map'
import { scaled } from './timeline/geometry'
import { Timeline } from './timeline/Timeline'
import { Controls } from './timeline/Controls'
import { firstAxis } from './url'
import { CasePage } from './views/CasePage'
import { Cases, useCases } from './views/Cases'
import { Recorder } from './views/Recorder'
import { Units } from './views/Units'
import { Zombies } from './views/Zombies'
import { length, range } from './time'

const POLL_MS = 600
const QUIET_POLL_MS = 5000

export function App() {
  const [problem, setProblem] = useState<Problem | null>(null)
  useEffect(() => start(setProblem), [])
  useEffect(() => {
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
  useEffect(() => effect(() => void (document.documentElement.dataset['theme'] = dark.value ? 'dark' : 'light')), [])
  if (needsToken.value) return <Token />
  if (!info.value) return <Waiting problem={problem} />
  return (
    <>
      <Header problem={problem} />
      <Main />
      {helpShown.value && <Help />}
    </>
  )
}

function Main() {
  const cases = useCases()
  return (
    <main>
      <div class="stage">
        <Outside />
        {view.value === 'timeline' && <TimelineView />}
        {view.value === 'zombies' && <Zombies />}
        {view.value === 'units' && <Units />}
        {view.value === 'recorder' && <Recorder />}
        {view.value === 'case' && <CasePage asked={cases} />}
      </div>
      <Cases asked={cases} />
    </main>
  )
}

function TimelineView() {
  const [high, setHigh] = useState(innerHeight)
  useEffect(() => {
    const resized = (): void => setHigh(innerHeight)
    addEventListener('resize', resized)
    return () => removeEventListener('resize', resized)
  }, [])
  // The map gets what the other lanes leave; with a selection a good third of the screen.
  const others = scaled(276 + lanes.value.length * 47)
  const room = Math.max(160, picked.value ? Math.min(high * 0.36, high - others - 200) : high - others)
  return (
    <>
      <Controls />
      <Timeline room={room} />
      <Selection />
    </>
  )
}

const ABOUT_THE_AXIS: readonly View[] = ['timeline', 'zombies', 'units']

/** Nobody should have to pan back from there. */
function Outside() {
  if (!isOutside.value || !ABOUT_THE_AXIS.includes(view.value)) return null
  return (
    <p class="outside" role="status">
      The axis shows {range(axis.value, utc.value)}, when nothing was recorded.{' '}
      <button onClick={() => look(measured.value)}>Show what was recorded</button>
    </p>
  )
}

/** Loads the recording, keeps up with it while it grows, and keeps the address current. */
function start(setProblem: (problem: Problem | null) => void): () => void {
  let timer = 0
  let stopped = false
  const stops: (() => void)[] = []
  const poll = async (): Promise<void> => {
    try {
      const found = await ask('/api/recording', {})
      const first = info.value === null
      const before = whole.value
      info.value = found
      setProblem(null)
      if (first) {
        axis.value = firstAxis(location.search)
        stops.push(keepAddress())
        loadLabels()
      } else if (follow.value && found.window.end > before.end) {
        lookAtTheEnd(length(axis.value))
      }
    } catch (error) {
      setProblem(error instanceof Problem ? error : new Problem(String(error), '', 0))
    }
    const live = info.value?.is_live
    if (!stopped) timer = window.setTimeout(() => void poll(), live ? POLL_MS : QUIET_POLL_MS)
  }
  void poll()
  const again = effect(() => {
    if (!needsToken.value && info.peek() === null) {
      clearTimeout(timer)
      timer = window.setTimeout(() => void poll(), 0)
    }
  })
  return () => {
    stopped = true
    clearTimeout(timer)
    again()
    for (const stop of stops) stop()
  }
}

function loadLabels(): void {
  ask('/api/queues', { ...whole.value })
    .then((found) => (queues.value = found))
    .catch(() => undefined)
  ask('/api/numa-nodes', { ...whole.value })
    .then((found) => (numaNodes.value = found))
    .catch(() => undefined)
}

function Waiting({ problem }: { problem: Problem | null }) {
  return (
    <div class="whole-page">
      <h1>exhume</h1>
      {problem ? (
        <div role="alert">
          <p>{problem.message}</p>
          <p class="faint">{problem.todo}</p>
        </div>
      ) : (
        <p class="loading">Reading the recording…</p>
      )}
    </div>
  )
}

function Token() {
  return (
    <form
      class="whole-page"
      onSubmit={(event) => {
        event.preventDefault()
        setToken(String(new FormData(event.currentTarget).get('token') ?? ''))
      }}
    >
      <h1>exhume</h1>
      <p>This server wants the token that it was started with (EXHUME_TOKEN).</p>
      <input name="token" type="password" aria-label="Token" autoFocus autocomplete="off" />
      <button>Open</button>
    </form>
  )
}
