import { hasFilter, info } from '../state'

/** Why a selection has no samples, as far as it is known. */
export function NoSamples() {
  return <p class="empty">{whyNoSamples(info.value?.samples ?? 0, hasFilter.value)}</p>
}

export function whyNoSamples(recorded: number, filtered: boolean): string {
  if (!recorded) return 'No samples are in this recording: a recorder takes them, and perf record does.'
  if (filtered) return 'No sample here fits the filter.'
  return 'No sample here: the cores were idle, or nobody sampled them.'
}
