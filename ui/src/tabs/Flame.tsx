import { useAnswer } from '../client'
import { FlamePanel } from '../flame/FlamePanel'
import { selected } from '../selected'
import { collapse, focus, hide, only, shape } from '../state'
import { Answered } from './parts'

/** What every question about a tree has in common. */
export const treeQuery = () =>
  selected.value && {
    ...selected.value,
    hide: hide.value,
    only: only.value,
    recursion: collapse.value ? ('collapse' as const) : ('keep' as const),
  }

export function Flame() {
  const query = treeQuery()
  const asked = useAnswer('/api/flame', query && { ...query, focus: focus.value, shape: shape.value })
  return (
    <Answered of={asked}>
      {(tree) => <FlamePanel tree={tree} totals={tree.total_seconds} change={null} />}
    </Answered>
  )
}
