import type { ZombiesAnswer } from '../api'
import { useAnswer } from '../client'
import { grouped, plain, short, size } from '../figures'
import { axis } from '../state'
import { Answered, Notes } from '../tabs/parts'
import { duration } from '../time'
import { Curve } from './Curve'

/** Memory cgroups dead and not gone, over what the axis shows. */
export function Zombies() {
  const asked = useAnswer('/api/zombies', { ...axis.value })
  return <div class="view"><Answered of={asked}>{(answer) => <Found answer={answer} />}</Answered></div>
}

function Found({ answer }: { answer: ZombiesAnswer }) {
  return (
    <>
      <h2>Zombie memory cgroups</h2>
      <Notes notes={[...answer.missing, ...answer.notes]} />
      <dl class="figures">
        <Fact name="zombies" value={answer.zombies === null ? '–' : grouped(answer.zombies)} />
        <Fact name="live" value={answer.live === null ? '–' : grouped(answer.live)} />
        <Fact name="growth an hour" value={answer.growth ? `${(answer.growth.per_hour ?? 0) > 0 ? '+' : ''}${short(answer.growth.per_hour)}` : '–'} />
        <Fact name="per-CPU data" value={size(answer.percpu_bytes)} />
        <Fact name="unreclaimable slab" value={size(answer.slab_bytes)} />
        <Fact name="a zombie holds" value={size(answer.bytes_per_zombie)} />
      </dl>
      {answer.counts.length > 1 ? (
        <Curve times={answer.time} values={answer.counts} label={`Zombies over time, now ${short(answer.zombies)}`} shown={(value) => grouped(Math.round(value))} />
      ) : (
        !answer.missing.length && <p class="empty">No curve: fewer than two valid counts in what the axis shows. Zoom out (Home).</p>
      )}
      <div class="columns">
        {answer.outlook && (
          <section>
            <h3>When walks become long</h3>
            <p>
              {plain(answer.outlook.walker)} walks all of them on kernel {plain(answer.outlook.kernel)}
              {answer.outlook.reschedules ? ', and lets others run as it goes.' : ', and holds its core meanwhile.'}
            </p>
            <ul>
              {answer.outlook.walks.map((walk) => (
                <li>
                  {duration(walk.seconds ?? 0)} each time with {grouped(walk.zombies)} zombies:{' '}
                  {walk.in_seconds === null ? 'never at this rate' : walk.in_seconds === 0 ? 'already so' : `in ${duration(walk.in_seconds)}`}
                </li>
              ))}
            </ul>
          </section>
        )}
        {answer.parents.length > 0 && (
          <section>
            <h3>Who holds them</h3>
            <table>
              <thead><tr><th>parent</th><th class="figure">zombies</th><th class="figure">tmpfs</th><th class="figure">page cache</th><th class="figure">anonymous</th></tr></thead>
              <tbody>
                {answer.parents.map((one) => (
                  <tr><td class="mono">{plain(one.path)}</td><td class="figure">{one.zombies === null ? '–' : grouped(one.zombies)}</td><td class="figure">{size(one.shmem_bytes)}</td><td class="figure">{size(one.file_bytes)}</td><td class="figure">{size(one.anonymous_bytes)}</td></tr>
                ))}
              </tbody>
            </table>
          </section>
        )}
        {answer.names.length > 0 && (
          <section>
            <h3>Births and deaths by name</h3>
            <table>
              <thead><tr><th>name</th><th class="figure">born</th><th class="figure">removed</th><th class="figure">let go</th><th class="figure">left behind</th></tr></thead>
              <tbody>
                {answer.names.map((one) => (
                  <tr><td class="mono">{plain(one.name)}</td><td class="figure">{grouped(one.born)}</td><td class="figure">{grouped(one.removed)}</td><td class="figure">{grouped(one.released)}</td><td class="figure"><b>{grouped(Math.max(0, one.removed - one.released))}</b></td></tr>
                ))}
              </tbody>
            </table>
          </section>
        )}
      </div>
    </>
  )
}

export const Fact = ({ name, value }: { name: string; value: string }) => (
  <div><dt>{name}</dt><dd>{value}</dd></div>
)
