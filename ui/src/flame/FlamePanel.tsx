import { batch } from '@preact/signals'
import { useMemo, useState } from 'preact/hooks'
import type { FlameColumns } from '../api'
import { hue } from '../colours'
import { counted, percent, plain } from '../figures'
import { collapse, focus, hide, only, search, shape, upside, zoomPath } from '../state'
import { NoSamples } from '../tabs/NoSamples'
import { duration } from '../time'
import { FlameCanvas } from './FlameCanvas'
import { laidOut, nodeAt, pathOf, pattern, searched } from './layout'

interface Properties {
  tree: FlameColumns
  /** What widths are by: the tree's own totals, or the baseline's. */
  totals: readonly (number | null)[]
  change: Float64Array | null
  /** More about a node, in words. */
  about?: (node: number) => string
  extra?: preact.ComponentChildren
}

/** A call tree with everything one does to it. */
export function FlamePanel({ tree, totals, change, about, extra }: Properties) {
  const [hovered, setHovered] = useState(-1)
  const [chosen, setChosen] = useState(0)
  const [held, setHeld] = useState(false)
  const layout = useMemo(() => laidOut(tree, totals), [tree, totals])
  const root = useMemo(() => nodeAt(tree, layout, zoomPath.value), [tree, layout, zoomPath.value])
  const wanted = pattern(search.value)
  const found = useMemo(
    () => (wanted ? searched(tree, totals, wanted, root) : null),
    [tree, totals, search.value, root],
  )
  const all = totals[0] || 0
  const node = hovered > 0 && !held ? hovered : chosen > 0 && chosen < tree.parent.length ? chosen : root
  const name = node > 0 ? tree.names[tree.frame[node]!]! : ''
  const zoomTo = (to: number): void => {
    setChosen(to)
    setHeld(false)
    zoomPath.value = pathOf(tree, to).map((one) => tree.names[tree.frame[one]!]!)
  }
  if (!tree.samples) return <NoSamples />
  return (
    <div class="flame-panel">
      <div class="flame-bar">
        <input
          type="search"
          placeholder="Search frames (regex)"
          aria-label="Search frames by regular expression"
          value={search.value}
          class={search.value && !wanted ? 'wrong' : ''}
          onInput={(event) => (search.value = event.currentTarget.value)}
        />
        {found && <span class="tag">{percent(found.share * 100)} in {counted(found.nodes, 'frame')}</span>}
        {search.value && !wanted && <span class="wrong-word">not a pattern yet</span>}
        <label>
          <input type="checkbox" checked={upside.value === 'flame'} onChange={(event) => (upside.value = event.currentTarget.checked ? 'flame' : 'icicle')} />
          root at the bottom
        </label>
        <label>
          <input type="checkbox" checked={collapse.value} onChange={(event) => (collapse.value = event.currentTarget.checked)} />
          collapse recursion
        </label>
        {extra}
        {!change && <Legend />}
      </div>
      <Shapes />
      <div class="flame-said" role="status">
        {node > 0 ? (
          <>
            <b class="mono">{plain(name)}</b>
            <span class="faint"> {plain(tree.modules[tree.frame[node]!]!)} </span>
            <span>
              {percent((100 * totals[node]!) / all)} of the selection
              {!tree.counted.length && `, ${percent((100 * totals[node]!) / Math.max(1e-9, tree.seconds_recorded ?? 0))} of one core`}
              {totals === tree.total_seconds && `, itself ${percent((100 * tree.self_seconds[node]!) / all)}`}
              {about && ` · ${about(node)}`}
            </span>
          </>
        ) : (
          <span class="faint">
            {counted(tree.samples, 'sample')}
            {tree.counted.length ? ` of ${plain(tree.counted.join(', '))}: no measure of time on a core` : `, ${duration(all)} of core time in ${duration(tree.seconds_recorded ?? 0)}`}. Click a frame to zoom, right-click to hold it.
          </span>
        )}
        <span class="spring" />
        {node > 0 && (held || hovered < 0) && (
          <span class="buttons">
            <button onClick={() => (only.value = [...new Set([...only.value, name])])}>only this</button>
            <button onClick={() => (hide.value = [...new Set([...hide.value, name])])}>hide</button>
            <button onClick={() => turn('callers', name)}>callers</button>
            <button onClick={() => turn('callees', name)}>callees</button>
            {held && <button onClick={() => setHeld(false)}>let go</button>}
          </span>
        )}
        {root > 0 && <button onClick={() => zoomTo(0)}>zoom out</button>}
      </div>
      <FlameCanvas
        {...{ tree, totals, layout, root, found, change, chosen }}
        upside={upside.value}
        label={`Flame graph of ${counted(tree.samples, 'sample')}; arrows move, Enter zooms; the tab Frames has the same as a table`}
        onHover={setHovered}
        onZoom={zoomTo}
        onChoose={setChosen}
        onHold={(frame) => {
          setHeld(!(held && frame === chosen))
          setChosen(frame)
        }}
      />
      {tree.pruned_seconds > 0 && (
        <p class="faint small">{duration(tree.pruned_seconds)} in branches too thin to draw.</p>
      )}
    </div>
  )
}

function turn(to: 'callers' | 'callees', name: string): void {
  batch(() => {
    shape.value = to
    focus.value = name
    zoomPath.value = []
  })
}

/** What the tree was cut to, each with a way back. */
function Shapes() {
  const list: [string, () => void][] = [
    ...hide.value.map((name): [string, () => void] => [`without ${plain(name)}`, () => (hide.value = hide.value.filter((one) => one !== name))]),
    ...only.value.map((name): [string, () => void] => [`only ${plain(name)}`, () => (only.value = only.value.filter((one) => one !== name))]),
  ]
  if (focus.value) list.push([`${shape.value} of ${plain(focus.value)}`, () => (focus.value = '')])
  if (!list.length) return null
  return (
    <div class="chips">
      {list.map(([text, drop]) => (
        <button class="chip" onClick={drop} title="Remove">{text} <span aria-hidden="true">×</span></button>
      ))}
    </div>
  )
}

function Legend() {
  const kinds = [['user', 'user'], ['system', 'kernel'], ['softirq', 'softirq'], ['irq', 'interrupt']]
  return (
    <span class="legend">
      {kinds.map(([mode, word]) => (
        <span key={mode}><i style={{ background: hue(mode!) }} />{word}</span>
      ))}
    </span>
  )
}
