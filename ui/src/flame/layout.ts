// Where each node of a call tree lies. Only geometry: what the tree is, the server said.

export interface Tree {
  parent: (number | null)[]
  frame: (number | null)[]
  names: string[]
}

export interface Layout {
  /** From 0 to 1 of everything. */
  left: Float64Array
  right: Float64Array
  depth: Uint16Array
  deepest: number
  /** Children of each node, widest first. */
  children: number[][]
}

/** Widest first, so that the eye finds what takes most without a search. */
export function laidOut(tree: Tree, totals: readonly (number | null)[]): Layout {
  const count = tree.parent.length
  const left = new Float64Array(count)
  const right = new Float64Array(count)
  const depth = new Uint16Array(count)
  const children: number[][] = Array.from({ length: count }, () => [])
  for (let node = 1; node < count; node++) children[tree.parent[node]!]!.push(node)
  const all = totals[0] || 1
  right[0] = count ? 1 : 0
  let deepest = 0
  for (let node = 0; node < count; node++) {
    const own = children[node]!
    own.sort((a, b) => totals[b]! - totals[a]!)
    let at = left[node]!
    for (const child of own) {
      left[child] = at
      at += totals[child]! / all
      right[child] = at
      depth[child] = depth[node]! + 1
      if (depth[child]! > deepest) deepest = depth[child]!
    }
  }
  return { left, right, depth, deepest, children }
}

/** From the root to the node, without the root. */
export function pathOf(tree: Tree, node: number): number[] {
  const found: number[] = []
  for (let at = node; at > 0; at = tree.parent[at]!) found.unshift(at)
  return found
}

/** The node that these names lead to; as far as they do. */
export function nodeAt(tree: Tree, layout: Layout, names: readonly string[]): number {
  let node = 0
  for (const name of names) {
    const next = layout.children[node]!.find((child) => tree.names[tree.frame[child]!] === name)
    if (next === undefined) return node
    node = next
  }
  return node
}

export interface Found {
  /** By frame, whether it matches. */
  frames: boolean[]
  /** Of everything below `root`, from 0 to 1. */
  share: number
  nodes: number
}

/** Frames that match, and the share of stacks that hold one: recursion counts once. */
export function searched(
  tree: Tree, totals: readonly (number | null)[], pattern: RegExp, root: number,
): Found {
  const frames = tree.names.map((name) => pattern.test(name))
  const inside = new Uint8Array(tree.parent.length)
  const below = new Uint8Array(tree.parent.length)
  below[root] = 1
  let sum = 0
  let nodes = 0
  for (let node = root; node < tree.parent.length; node++) {
    const above = tree.parent[node]!
    if (node !== root) below[node] = above >= 0 ? below[above]! : 0
    if (!below[node]) continue
    if (node !== root && inside[above]) inside[node] = 1
    else if (node > 0 && frames[tree.frame[node]!]) {
      inside[node] = 1
      sum += totals[node]!
    }
    if (node > 0 && frames[tree.frame[node]!]) nodes++
  }
  return { frames, share: sum / (totals[root] || 1), nodes }
}

/** A pattern of the user's; null where it is none yet. */
export function pattern(text: string): RegExp | null {
  if (!text) return null
  try {
    return new RegExp(text, 'i')
  } catch {
    return null
  }
}
