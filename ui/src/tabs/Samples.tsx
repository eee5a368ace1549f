import { useAnswer } from '../client'
import { hue } from '../colours'
import { counted, plain } from '../figures'
import { selected } from '../selected'
import { utc } from '../state'
import { clock } from '../time'
import { NoSamples } from './NoSamples'
import { Answered } from './parts'

export function Samples() {
  const asked = useAnswer('/api/samples', selected.value && { ...selected.value, limit: 400 })
  return (
    <Answered of={asked}>
      {(answer) => (
        <>
          <p class="faint small">
            {answer.samples.length < answer.total ? `The first ${answer.samples.length} of ${counted(answer.total, 'sample')}; ` : `${counted(answer.total, 'sample')}; `}
            from the innermost function outwards.
          </p>
          {!answer.total && <NoSamples />}
          <table>
            <thead>
              <tr><th>time</th><th class="figure">core</th><th>process</th><th class="figure">pid</th><th class="figure">tid</th><th>mode</th><th>stack</th></tr>
            </thead>
            <tbody>
              {answer.samples.map((one) => (
                <tr>
                  <td class="mono nowrap">{clock(one.time, utc.value, 4)}</td>
                  <td class="figure">{one.core}</td>
                  <td><b>{plain(one.comm)}</b></td>
                  <td class="figure">{one.pid ?? '?'}</td>
                  <td class="figure faint">{one.tid ?? '?'}</td>
                  <td class="nowrap"><i class="dot" style={{ background: hue(one.mode) }} /> {one.mode}</td>
                  <td class="mono wide"><Stack frames={[...one.stack].reverse()} /></td>
                </tr>
              ))}
            </tbody>
          </table>
        </>
      )}
    </Answered>
  )
}

const FEW = 5

/** The innermost frames; the rest on demand. */
function Stack({ frames }: { frames: string[] }) {
  const text = (part: string[]): string => part.map(plain).join(' ◄ ')
  if (frames.length <= FEW + 1) return <>{text(frames)}</>
  return (
    <details>
      <summary>{text(frames.slice(0, FEW))} <span class="faint">◄ {frames.length - FEW} more</span></summary>
      {text(frames.slice(FEW))}
    </details>
  )
}
