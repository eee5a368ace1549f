import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { FlameColumns } from '../api'
import { change, dark, paint } from '../colours'
import { plain } from '../figures'
import { box, fontSize, schedule, sized, themed } from '../timeline/geometry'
import { type Found, type Layout, pathOf } from './layout'

export interface Shown {
  tree: FlameColumns
  totals: readonly (number | null)[]
  layout: Layout
  /** Zoomed to this node; 0 for everything. */
  root: number
  found: Found | null
  /** Of each node, from -1 (less than before) to 1 (more); null where it is not a difference. */
  change: Float64Array | null
  upside: 'icicle' | 'flame'
}

interface Properties extends Shown {
  label: string
  chosen: number
  onHover: (node: number) => void
  onZoom: (node: number) => void
  onChoose: (node: number) => void
  onHold: (node: number) => void
}

/** Frames as rectangles. Those under half a pixel are not drawn; nobody could see them. */
export function FlameCanvas(properties: Properties) {
  const { tree, layout, root, upside, chosen } = properties
  const canvas = useRef<HTMLCanvasElement>(null)
  const place = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(800)
  const high = Math.round(fontSize() + 6)
  const lineage = useMemo(() => new Set([0, ...pathOf(tree, root)]), [tree, root])
  const deepest = useMemo(() => deepestSeen(properties, width), [tree, layout, root, width])
  const height = (deepest + 1) * high
  useLayoutEffect(() => {
    const watch = new ResizeObserver(() => setWidth(place.current!.clientWidth))
    watch.observe(place.current!)
    setWidth(place.current!.clientWidth)
    return () => watch.disconnect()
  }, [])
  const isDark = dark.value
  useEffect(() => schedule(draw), [properties, width, isDark])

  const y = (depth: number): number => (upside === 'icicle' ? depth * high : height - (depth + 1) * high)
  const scale = 1 / Math.max(1e-12, layout.right[root]! - layout.left[root]!)
  const span = (node: number): [number, number] =>
    lineage.has(node)
      ? [0, width]
      : [(layout.left[node]! - layout.left[root]!) * scale * width, (layout.right[node]! - layout.left[root]!) * scale * width]

  function draw(): void {
    if (!canvas.current) return
    const context = sized(canvas.current, width, height)
    context.clearRect(0, 0, width, height)
    const size = fontSize() - 1
    context.font = `${size}px system-ui, sans-serif`
    context.textBaseline = 'middle'
    const letter = context.measureText('abcdefghij_klmnop').width / 17
    const ink = themed('--ink')
    const mark = themed('--mark')
    for (let node = 0; node < tree.parent.length; node++) {
      const [from, to] = span(node)
      if (to - from < 0.5 || to < 0 || from > width) continue
      const top = y(layout.depth[node]!)
      const left = Math.max(0, from)
      const wide = Math.min(width, to) - left
      const matches = properties.found?.frames[tree.frame[node]!] && node > 0
      context.globalAlpha = lineage.has(node) && node !== root ? 0.55 : properties.found && !matches ? 0.45 : 1
      context.fillStyle = matches ? mark : colour(node, isDark)
      context.fillRect(left, top, Math.max(0.5, wide - 0.6), high - 1)
      context.globalAlpha = 1
      if (wide > letter * 2.5) {
        const name = node === 0 ? 'all' : plain(tree.names[tree.frame[node]!]!)
        context.fillStyle = ink
        context.fillText(fitted(context, name, wide - 7), left + 4, top + high / 2)
      }
      if (node === chosen && node > 0) {
        context.strokeStyle = ink
        context.lineWidth = 1.5
        context.strokeRect(left + 0.75, top + 0.75, Math.max(1, wide - 2), high - 2.5)
      }
    }
  }

  useEffect(() => {
    // For bench.page: when a tree was drawn.
    performance.clearMarks('exhume:flame')
    schedule(() => performance.mark('exhume:flame'))
  }, [tree])

  function colour(node: number, isDark: boolean): string {
    if (properties.change) return change(properties.change[node]!, isDark)
    if (node === 0) return paint('process', isDark, 0.3)
    // Neighbours of one kind differ a little, always the same for one name.
    const name = tree.names[tree.frame[node]!]!
    let hash = 0
    for (let i = 0; i < name.length; i++) hash = (hash * 31 + name.charCodeAt(i)) | 0
    return paint(tree.paints[tree.paint[node]!]!, isDark, (Math.abs(hash) % 5) * 0.06)
  }

  function under(event: MouseEvent): number {
    const row = Math.floor(event.offsetY / high)
    const depth = upside === 'icicle' ? row : deepest - row
    if (depth <= layout.depth[root]!) return pathOf(tree, root)[depth - 1] ?? 0
    const at = layout.left[root]! + event.offsetX / width / scale
    let node = root
    while (layout.depth[node]! < depth) {
      const next = layout.children[node]!.find((child) => at >= layout.left[child]! && at < layout.right[child]!)
      if (next === undefined) return -1
      node = next
    }
    return node
  }

  function key(event: KeyboardEvent): void {
    const at = Math.max(0, chosen)
    const own = layout.children[at]!
    const siblings = at > 0 ? layout.children[tree.parent[at]!]! : [0]
    const place = siblings.indexOf(at)
    const down = upside === 'icicle' ? 'ArrowDown' : 'ArrowUp'
    const up = upside === 'icicle' ? 'ArrowUp' : 'ArrowDown'
    const next =
      event.key === down ? own[0]
      : event.key === up ? (tree.parent[at] ?? 0)
      : event.key === 'ArrowRight' ? siblings[place + 1]
      : event.key === 'ArrowLeft' ? siblings[place - 1]
      : undefined
    if (event.key === 'Enter') properties.onZoom(at)
    else if (next === undefined || next < 0) return
    else properties.onChoose(next)
    event.preventDefault()
    event.stopPropagation()
  }

  return (
    <div ref={place} class="flame-place">
      <canvas
        ref={canvas}
        class="flame"
        tabIndex={0}
        role="img"
        aria-label={properties.label}
        style={box(width, height)}
        onMouseMove={(event) => properties.onHover(under(event))}
        onMouseLeave={() => properties.onHover(-1)}
        onClick={(event) => {
          const node = under(event)
          if (node >= 0) properties.onZoom(node)
        }}
        onContextMenu={(event) => {
          event.preventDefault()
          const node = under(event)
          if (node > 0) properties.onHold(node)
        }}
        onKeyDown={key}
      />
    </div>
  )
}

/** As much of a name as there is room for. */
function fitted(context: CanvasRenderingContext2D, name: string, room: number): string {
  const wide = context.measureText(name).width
  if (wide <= room) return name
  let cut = Math.floor((name.length * room) / wide) - 1
  while (cut > 1 && context.measureText(name.slice(0, cut) + '…').width > room) cut--
  return cut > 1 ? name.slice(0, cut) + '…' : ''
}

/** No room is given to levels in which nothing is wide enough to be seen. */
function deepestSeen({ tree, layout, root }: Shown, width: number): number {
  const least = (layout.right[root]! - layout.left[root]!) / width / 2
  let deepest = layout.depth[root]!
  for (let node = root; node < tree.parent.length; node++) {
    const inside = layout.left[node]! >= layout.left[root]! - 1e-12 && layout.right[node]! <= layout.right[root]! + 1e-12
    if (inside && layout.depth[node]! > deepest && layout.right[node]! - layout.left[node]! >= least) {
      deepest = layout.depth[node]!
    }
  }
  return deepest
}
