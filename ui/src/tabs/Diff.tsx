import { useMemo, useState } from 'preact/hooks'
import type { FlameDiff } from '../api'
import { useAnswer } from '../client'
import { percent } from '../figures'
import { FlamePanel } from '../flame/FlamePanel'
import { axis, base, baseSpan, info, picked, utc } from '../state'
import { duration, range } from '../time'
import { treeQuery } from './Flame'
import { NoSamples } from './NoSamples'
import { Answered } from './parts'

/** The selection against what was before: orange took more of the time, blue less. */
export function Diff() {
  const query = treeQuery()
  const other = base.value === 'window' ? baseSpan.value : null
  const ready = query && (base.value !== 'window' || other)
  const asked = useAnswer('/api/diff', ready ? {
    ...query,
    base: base.value,
    ...(other ? { base_start: other.start, base_end: other.end } : {}),
  } : null)
  return (
    <>
      <div class="flame-bar">
        <label>
          compared with{' '}
          <select value={base.value} onChange={(event) => (base.value = event.currentTarget.value as typeof base.value)}>
            <option value="preceding">as long before it</option>
            <option value="whole">the whole recording</option>
            <option value="window">another range</option>
          </select>
        </label>
        {base.value === 'window' && (
          <>
            <button onClick={() => (baseSpan.value = { ...axis.value })}>take what the axis shows</button>
            <button onClick={() => (baseSpan.value = picked.value)}>take the selection, then brush another</button>
            {other && <span class="faint">{range(other, utc.value)}</span>}
          </>
        )}
      </div>
      {ready ? (
        <Answered of={asked}>{(answer) => (answer.base_seconds_recorded ? <Tree answer={answer} /> : <NoBase of={answer} />)}</Answered>
      ) : (
        <p class="empty">Say which range to compare with.</p>
      )}
    </>
  )
}

/** Against nothing all would be more. */
function NoBase({ of }: { of: FlameDiff }) {
  if (!info.value?.samples) return <NoSamples />
  return (
    <p class="empty">
      Nobody took samples in {range(of.base_window, utc.value)}: there is nothing to compare with. Choose the whole
      recording, or another range.
    </p>
  )
}

function Tree({ answer }: { answer: FlameDiff }) {
  const [byBase, setByBase] = useState(false)
  const { tree, base_total_seconds: before } = answer
  const change = useMemo(() => changes(tree.total_seconds, before), [answer])
  const seconds = Math.max(1e-9, tree.seconds_recorded ?? 0)
  return (
    <FlamePanel
      tree={tree}
      totals={byBase ? before : tree.total_seconds}
      change={change}
      about={(node) => `${percent((100 * before[node]!) / seconds)} of one core before`}
      extra={
        <>
          <label>
            <input type="checkbox" checked={byBase} onChange={(event) => setByBase(event.currentTarget.checked)} />
            widths by the baseline
          </label>
          <span class="faint">
            {range(answer.base_window, utc.value)}, {duration(answer.base_seconds_recorded ?? 0)} recorded
          </span>
          <span class="legend"><span><i class="more" />more</span><span><i class="less" />less</span></span>
        </>
      }
    />
  )
}

/** As a share of the larger of both, in steps the eye can tell. */
function changes(now: (number | null)[], before: (number | null)[]): Float64Array {
  const found = new Float64Array(now.length)
  for (let node = 0; node < now.length; node++) {
    const most = Math.max(now[node]!, before[node]!)
    found[node] = most > 0 ? (now[node]! - before[node]!) / most : 0
  }
  return found
}
