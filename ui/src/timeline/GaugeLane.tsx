import { computed, useComputed } from '@preact/signals'
import { HUES, css } from '../colours'
import { inUnit, plain, unitName } from '../figures'
import { axis, lanes } from '../state'
import { hover, scaled } from './geometry'
import { lastSeen } from './sight'
import { LineLane } from './LineLane'
import { useStretch } from './stretch'

const COLOURS = ['user', 'system', 'softirq', 'steal', 'irq', 'iowait'].map((name) => css(HUES[name]!))

export function GaugeLane({ field, height }: { field: string; height: number }) {
  const loaded = useStretch('/api/gauge/{field}', { limit: 4 }, { field })
  const data = useComputed(() => {
    const found = loaded.value
    if (!found) return { times: [], lines: [] }
    const { window: span, column_seconds } = found.answer
    const step = column_seconds ?? 1
    const count = found.answer.lines[0]?.values.length ?? 0
    const times = Array.from({ length: count }, (_, index) => span.start + (index + 0.5) * step)
    return { times, lines: found.answer.lines.map((line) => line.values) }
  })
  const said = useComputed(() => {
    const found = loaded.value
    if (!found) return '…'
    const { lines, unit, window: span, column_seconds } = found.answer
    const step = column_seconds ?? 1
    if (!lines.length) return 'not recorded here'
    const at = hover.value ? Math.floor((hover.value.time - span.start) / step) : -1
    return lines
      .slice(0, 2)
      .map((line) => {
        const value = at >= 0 ? line.values[at] : lastSeen(data.value.times, line, axis.value)
        const who = line.instance ? plain(line.instance) + ' ' : ''
        return `${who}${inUnit(value, unit)} ${unitName(unit)}`.trim()
      })
      .join(' · ')
  })
  const unit = computed(() => loaded.value?.answer.unit ?? '')
  const isEmpty = loaded.value !== null && !loaded.value.answer.lines.length
  return (
    <div class={`lane-with-close ${isEmpty ? 'nothing' : ''}`}>
      <LineLane
        name={field.replaceAll('.', '.\u200b')}
        label={`${field}: ${said.value}`}
        data={data}
        lines={() => COLOURS.map((colour) => ({ colour }))}
        height={isEmpty ? scaled(20) : height}
        shown={(value) => inUnit(value, unit.value)}
        lane={field}
      />
      <span class="lane-said">{said}</span>
      <button
        class="close"
        title={`Remove ${field}`}
        aria-label={`Remove the lane ${field}`}
        onClick={() => (lanes.value = lanes.value.filter((one) => one !== field))}
      >
        ×
      </button>
    </div>
  )
}
