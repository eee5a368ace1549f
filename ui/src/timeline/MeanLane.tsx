import { useComputed } from '@preact/signals'
import { HUES, css, dark } from '../colours'
import { percent } from '../figures'
import { axis, show } from '../state'
import { hover, themed } from './geometry'
import { LineLane } from './LineLane'
import { bySamples, nodeLines } from './map'
import { meanSeen, worstSeen } from './sight'

const BY_SAMPLES =
  'The map counts samples here: columns are narrower than a second, or no times of cores were recorded. Only what the profiler saw, without steal and iowait.'

/** The average that lied, drawn next to the truth. */
export function MeanLane({ height }: { height: number }) {
  const data = useComputed(() => ({
    times: nodeLines.value.times,
    lines: [nodeLines.value.worst, nodeLines.value.mean],
  }))
  // The node's mean is of all that is busy, whichever mode the map shows.
  const of = useComputed(() =>
    show.value === 'busy' ? { mean: '', worst: '' } : { mean: ' busy', worst: ` ${show.value}` },
  )
  const said = useComputed(() => {
    const { times, mean, worst, core } = nodeLines.value
    const time = hover.value?.time
    const at =
      time === undefined
        ? worstSeen(nodeLines.value, axis.value)
        : times.findIndex((one, index) => one <= time && (times[index + 1] ?? Infinity) > time)
    if (at < 0) return ''
    const whose = core[at]! >= 0 ? ` core ${core[at]}` : ''
    const average = time === undefined ? meanSeen(nodeLines.value, axis.value) : mean[at]
    return `mean${of.value.mean} ${percent(average)} · worst${of.value.worst} ${percent(worst[at])}${whose}`
  })
  return (
    <div class="lane-with-close">
      <LineLane
        name={
          <>
            mean{of.value.mean} / worst{of.value.worst}
            {bySamples.value && <span class="source" title={BY_SAMPLES}>from samples</span>}
          </>
        }
        label={`Node mean beside the worst core: ${said.value}`}
        data={data}
        lines={() => [
          { colour: css(HUES['system']!), fill: css(HUES['system']!, dark.value ? 0.22 : 0.16), width: 1 },
          { colour: themed('--ink'), width: 1.75 },
        ]}
        height={height}
        most={100}
        shown={(value) => `${value} %`}
        lane="mean"
      />
      <span class="lane-said">{said}</span>
    </div>
  )
}
