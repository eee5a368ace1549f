import type { Problem } from './client'
import { plain } from './figures'
import { helpShown } from './Help'
import { follow, info, limits, look, theme, toggleFollow, utc, view, type View, whole } from './state'
import { range } from './time'

const NAMES: [View, string][] = [
  ['timeline', 'Timeline'],
  ['zombies', 'Zombies'],
  ['units', 'Units'],
  ['recorder', 'Recorder'],
]

export function Header({ problem }: { problem: Problem | null }) {
  const recorded = info.value!
  return (
    <header>
      <h1>
        exhume <span class="faint" aria-hidden="true">▸</span> <span class="node">{plain(recorded.node)}</span>
      </h1>
      <nav aria-label="Views">
        {NAMES.map(([id, name]) => (
          <button key={id} aria-current={view.value === id ? 'page' : undefined} onClick={() => (view.value = id)}>
            {name}
          </button>
        ))}
      </nav>
      <span class="spring" />
      <button class="plain" title="Show the whole recording (Home)" onClick={() => look(limits.value)}>
        {range(whole.value, utc.value)}
      </button>
      {problem ? (
        <span class="state problem" role="alert" title={problem.todo}>● {problem.message}</span>
      ) : recorded.is_live ? (
        <button
          class={`state live ${follow.value ? 'on' : ''}`}
          aria-pressed={follow.value}
          title="Follow while it records (f)"
          onClick={toggleFollow}
        >
          ● {follow.value ? 'following' : 'live'}
        </button>
      ) : (
        <span class="state">○ not recording</span>
      )}
      <button class="plain" aria-pressed={utc.value} onClick={() => (utc.value = !utc.value)} title="Local time or UTC">
        {utc.value ? 'UTC' : 'local'}
      </button>
      <button
        class="plain"
        title="Light, dark, or as the system has it"
        aria-label={`Theme: ${theme.value}`}
        onClick={() => (theme.value = theme.value === 'auto' ? 'dark' : theme.value === 'dark' ? 'light' : 'auto')}
      >
        {theme.value === 'auto' ? '◐' : theme.value === 'dark' ? '●' : '○'}
      </button>
      <button class="plain" aria-label="Help" title="Mouse and keys (?)" onClick={() => (helpShown.value = true)}>?</button>
    </header>
  )
}
