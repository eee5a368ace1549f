// The selection as every question about it has it.

import { computed } from '@preact/signals'
import { filter, picked } from './state'

export const selected = computed(() => {
  const span = picked.value
  if (!span) return null
  const { core, comm, pid, tid, cgroup, unit, container, pod, mode } = filter.value
  const modes = mode as ('user' | 'system' | 'softirq' | 'irq')[]
  return { start: span.start, end: span.end, core, comm, pid, tid, cgroup, unit, container, pod, mode: modes }
})
