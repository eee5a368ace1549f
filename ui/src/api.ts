// Made by `make generate` from docs/openapi.json. Do not edit.

export interface Actions {
  now: string[]
  for_good: string[]
  undo: string[]
  verify: string[]
}

export interface Case {
  /** What was looked at. */
  window: Window
  node: string
  kernel: string
  symptom: Symptom | null
  verdict: Verdict
  /** From the symptom to the root cause. */
  chain: Link[]
  /** The likeliest first: the root cause, if one is named. */
  suspects: Suspect[]
  rejected: Rejected[]
  risks: Risk[]
  evidence: Evidence[]
  actions: Actions
  /** What is missing, how that weakens the answer, and what to record. */
  gaps: string[]
  /** All of the window, the worst first; `symptom` is the one explained. */
  symptoms: Symptom[]
  since_fix: SinceFix | null
  /** Seen while the harm was done, and tied to it by nothing. Only where no root cause is named: there it is what to look at next. */
  meanwhile: Risk[]
}

export interface CaseEntry {
  id: string
  case: Case
  places: Place[]
}

export interface Cases {
  window: Window
  /** Of each kind of symptom one, the worst first; none where nobody was harmed, and one without a symptom where the files can't tell whether anybody was. */
  cases: CaseEntry[]
}

/** Core × time, packed: one byte a cell. */
export interface CoreCells {
  window: Window
  column_seconds: number | null
  /** `busy`: all modes together; otherwise only this one. */
  mode: string
  /** `counters`: the worst second of a cell; `samples` where columns are narrower than that, or no times of cores were recorded. */
  source: string
  columns: number
  cores: number[]
  /** Base64 of bytes, row by row of a core: steps of half a percent, 255 for not recorded. */
  worst: string
  /** Base64 of bytes: index into the recording's `modes`; 255 for none. */
  worst_mode: string
  /** Shape (columns,): the average that lies. */
  node_mean_percent_of_machine: (number | null)[]
  /** Shape (columns,): the worst core in this mode, in its worst second. */
  node_worst_percent_of_core: (number | null)[]
  /** Shape (columns,): which one that is; -1 where not recorded. */
  node_worst_core: number[]
}

/** Who was on the core at that instant: the sample nearest to it. */
export interface CoreMoment {
  core: number
  /** Epoch seconds. */
  time: number
  /** Seconds. How far that sample lies from the instant asked for. */
  distance_seconds: number
  comm: string
  /** None where nobody told it. */
  pid: number | null
  tid: number | null
  cgroup: string
  /** From the process down to the leaf. */
  stack: Frame[]
  mode: string
}

export interface CoreNode {
  core: number
  numa_node: number
}

/** Who took how much of which core, most time first. */
export interface CoreProcesses {
  window: Window
  /** How much of the window has samples behind it. */
  seconds_recorded: number | null
  samples: number
  /** Those with samples of the selection. */
  cores: number[]
  processes: ProcessOnCores[]
  /** Seconds. Of each core, what the processes that are not listed took. */
  others_seconds: number[]
  /** How many those are. */
  others: number
}

/** Queues of one network device whose interrupts go to one core. */
export interface CoreQueues {
  core: number
  device: string
  queues: number[]
}

/** One core over the window, by mpstat's arithmetic. */
export interface CoreTimes {
  core: number
  user_percent: number | null
  system_percent: number | null
  irq_percent: number | null
  softirq_percent: number | null
  steal_percent: number | null
  iowait_percent: number | null
  idle_percent: number | null
  worst_second_percent: number | null
}

/** The recorder measured by itself, over the last minute. */
export interface Cost {
  cpu_percent_of_one_core: number | null
  rss_bytes: number | null
  /** Seconds. How late the latest tick of the last minute began. */
  worst_lateness_seconds: number | null
  /** Estimated from what was written so far. */
  bytes_per_day: number | null
  /** Since the recorder started. */
  lost_samples: number
}

/** A network device whose queues meet on one core. */
export interface Crowd {
  device: string
  core: number
  /** How many of its queues go there. */
  queues: number
  of_queues: number
  percent_of_its_interrupts: number | null
}

export interface Damage {
  /** None where not even the time could be read. */
  window: Window | null
  problem: string
}

/** What the recording takes. The recorder writes down the limits; who asks looks at the rest. */
export interface Disk {
  /** Seconds. Retention by age; None: no limit. */
  keep_seconds: number | null
  /** Retention by size; None: no limit. */
  max_bytes: number | null
  used_bytes: number
  /** On that file system. */
  free_bytes: number | null
  /** Epoch seconds. None where nothing is recorded. */
  oldest_time: number | null
  segments: number
  /** Seconds. Sum of all stretches that can be asked about, the live head included. */
  recorded_seconds: number
  damaged: Damage[]
  pins: Pin[]
}

/** Events that say the same of the same thing, as one line. */
export interface EventGroup {
  /** Epoch seconds. */
  first_time: number
  /** Epoch seconds. */
  last_time: number
  kind: string
  subject: string
  /** Of the first of them. */
  text: string
  /** Which known log line it is; empty where it is none. */
  signature: string
  /** None where they differ. */
  core: number | null
  pid: number | null
  count: number
  /** Of the first of them. */
  fields: Record<string, string | number | number | null>
}

/** Events of a window, like ones as one. */
export interface EventGroups {
  window: Window
  groups: EventGroup[]
  /** Of each group: 0 of no account by itself, up to 3, harm to somebody. */
  severities: number[]
  /** Kinds that come by the thousand (exec, exit), by name. */
  counted: EventTally[]
  /** Groups that are not listed. */
  left_out: number
  notes: string[]
}

/** Like events that lie closer together than the axis can show. */
export interface EventMark {
  /** Epoch seconds. */
  first_time: number
  /** Epoch seconds. */
  last_time: number
  kind: string
  subject: string
  /** Of the first of them. */
  text: string
  signature: string
  /** 1 a hint, 2 may explain harm, 3 harm to somebody. */
  severity: number
  core: number | null
  count: number
}

/** Events of one kind and name that are counted and not listed. */
export interface EventTally {
  kind: string
  name: string
  count: number
}

export interface Evidence {
  id: string
  claim: string
  figures: Record<string, string | number | number | null>
  window: Window
  /** The command that shows it. */
  check: string
}

export interface Field {
  id: string
  unit: string
  kind: "counter" | "gauge"
  /** What one reading is of: `core`, `irq`, `thread`, `cgroup`, …, or `` for the whole node. */
  instance: string
  help: string
}

export interface FieldEntries {
  fields: FieldEntry[]
}

export interface FieldEntry {
  field: Field
  is_recorded: boolean
}

/** Which samples take part. Empty means all. */
export interface Filter {
  cores: number[]
  /** Names of threads; that of a process's first thread stands for all of them. */
  comms: string[]
  pids: number[]
  tids: number[]
  /** A cgroup stands for all below it. */
  cgroups: string[]
  /** Names of `model.stack.Mode` in lower case. */
  modes: string[]
  /** systemd units, by cgroup: `kubelet.service`. */
  units: string[]
  /** By name, or by the first 6 or more digits of the id. */
  containers: string[]
  /** namespace/name, or the uid. */
  pods: string[]
}

/** A call tree as columns, breadth first: parent[i] < i, node 0 is everything. */
export interface FlameColumns {
  window: Window
  /** How much of the window has samples behind it. */
  seconds_recorded: number | null
  samples: number
  /** Events of the window that are no measure of time on a core (faults, switches): then samples are only counted. */
  counted: string[]
  names: string[]
  /** Of each distinct frame. */
  modules: string[]
  /** What `paint` counts in. */
  paints: string[]
  parent: number[]
  /** Index into `names` and `modules`. */
  frame: number[]
  paint: number[]
  /** Seconds. */
  total_seconds: (number | null)[]
  /** Seconds. */
  self_seconds: (number | null)[]
  /** Seconds. Core time in branches too thin to keep; it still counts in what calls them. */
  pruned_seconds: number
}

/** Two call trees as one. Times of the baseline are scaled to as long as the selection was. */
export interface FlameDiff {
  tree: FlameColumns
  base_window: Window
  base_seconds_recorded: number | null
  base_samples: number
  /** Seconds. */
  base_total_seconds: (number | null)[]
  /** Seconds. */
  base_self_seconds: (number | null)[]
}

export interface Frame {
  name: string
  module: string
  kind: "process" | "user" | "kernel" | "unknown"
}

/** One field over the axis; counters as their rate. */
export interface Gauge {
  window: Window
  column_seconds: number | null
  field: Field
  unit: string
  /** The highest first. */
  lines: GaugeLine[]
  /** Instances that are not listed. */
  left_out: number
}

export interface GaugeLine {
  instance: string
  most: number | null
  last: number | null
  /** Shape (columns,): the highest of each column. */
  values: (number | null)[]
}

/** Where a recording comes from that no recorder made. */
export interface Imported {
  files: string[]
  /** Epoch seconds. When the last of it was imported. */
  time: number
}

/** One line of /proc/interrupts over the window. */
export interface IrqLine {
  /** Its number, or the name of a line that is no device's: `LOC`. */
  irq: string
  /** What its driver called it. */
  name: string
  /** What it serves, read from the name: an interface, `virtio2`, `nvme0`; empty if unknown. */
  device: string
  queue: number | null
  /** `tx`, `rx`, `tx+rx`, `io`, `management`; empty where the name tells no queue. */
  direction: string
  /** Where it goes to; None where it goes to several, or that was not recorded. */
  core: number | null
  per_second: number | null
  /** In one interval between two readings. */
  most_per_second: number | null
}

/** `exhume irqs`: which queue interrupts which core, and what else that core had to do. */
export interface IrqsAnswer {
  window: Window
  /** The most frequent first; lines that never fired are left out. */
  lines: IrqLine[]
  silent_lines: number
  cores: NetCore[]
  /** Those that waited most first. */
  threads: NetThread[]
  crowded: Crowd[]
  notes: string[]
}

/** A unit, a container (by its name, over all its ids), or a program under one parent. */
export interface Lifecycle {
  kind: "unit" | "container" | "process"
  name: string
  /** The parent that starts a process, the image of a container; `cron` of what cron starts. */
  detail: string
  mark: "crash loop" | "loop" | "many short jobs" | "scheduled" | "healthy"
  starts: number
  starts_per_hour: number | null
  most_starts_in_10_minutes: number
  /** As its supervisor counts them; 0 for what is removed and run anew. None: nobody counts. */
  restarts: number | null
  /** Of a container: under how many ids it came. */
  ids: number | null
  /** From one start to the next, where that is steady. */
  pace_seconds: number | null
  /** None where nobody says how it ended, as for bare processes. */
  success_percent_of_known_ends: number | null
  median_lifetime_seconds: number | null
  /** Epoch seconds. */
  last_start_time: number | null
  /** Memory cgroups that were made under its name. */
  cgroups_born: number | null
  /** Memory cgroups that each start left behind. */
  zombies_per_start: number | null
  /** The figure is an upper bound: others may have left some of them. */
  zombies_at_most: boolean
  /** What those zombies hold of the kernel's memory, where that could be measured. */
  memory_bytes_per_start: number | null
  cpu_seconds_per_start: number | null
  /** How far apart those looks were that its starts are known by. None where each was told. */
  looked_every_seconds: number | null
  /** Looks miss what starts and ends in between: it starts at least so often, and its pace is at most so slow. */
  starts_at_least: boolean
  /** It had ended when somebody looked, and may have long before. */
  lifetime_at_most: boolean
  /** All that its supervisor has counted, also before the window, where the last look shows a loop by that: it waits for one more, or has just begun. */
  restarts_so_far: number | null
  /** In equal parts of the window, from its start to its end. */
  starts_over_time: number[]
}

export interface Link {
  claim: string
  role: "symptom" | "mechanism" | "root_cause"
  tests: Tests
  /** Ids. A link without evidence can't be: `diagnose.build` refuses it. */
  evidence: string[]
}

export interface Marks {
  window: Window
  marks: EventMark[]
}

/** Memory cgroups of one name, ids and digits folded to `*`. */
export interface MemcgName {
  name: string
  born: number
  removed: number
  /** Let go by the kernel. Also of those that were removed before the window. */
  released: number
}

/** Something that could be recorded on this machine and isn't. */
export interface Missing {
  /** What is lost: user stacks of other users' processes, kernel log lines, … */
  what: string
  why: string
  /** What gives it: a capability, a setting, a package. */
  remedy: string
}

/** What one core did for the network, and how busy it was. Percentages are of that core. */
export interface NetCore {
  core: number
  mean_percent_of_core: number | null
  /** Its busiest second. */
  worst_percent_of_core: number | null
  /** What that second was spent on. */
  worst_mode: string
  device_interrupts_per_second: number | null
  /** Receive softirqs run. */
  net_rx_per_second: number | null
  packets_per_second: number | null
  /** Times in the window that the receive softirq ran out of budget with work left. */
  squeezed: number | null
  /** Packets in the window that found the backlog full. */
  dropped: number | null
  /** Queues of network devices whose interrupt goes here. */
  queues: number
}

/** A kernel thread that serves the network: ksoftirqd, NAPI, threaded interrupts. */
export interface NetThread {
  name: string
  /** Which core it belongs to, where its name tells. */
  core: number | null
  /** Seconds. */
  run_seconds: number | null
  /** Seconds. Ready and not run, in the whole window; None where not recorded. */
  wait_seconds: number | null
  /** Seconds. The most that was added by one reading; it is added when the thread gets its core. */
  worst_wait_seconds: number | null
  /** Epoch seconds. */
  worst_wait_time: number | null
}

/** When walks become long at this rate. An estimate: the assumption is part of it. */
export interface Outlook {
  kernel: string
  /** What walks all zombies on this kernel. */
  walker: string
  /** It lets others run as it goes: it burns a core, but starves nobody there. */
  reschedules: boolean
  seconds_per_zombie: number | null
  walks: Walk[]
  /** That this was measured by; 0 where it is assumed, as on bare metal. */
  measured_walks: number
  /** Of those on the core; 0 where none was recorded. */
  longest_seconds: number | null
}

/** Somebody who takes part, by all that is known of it. */
export interface Party {
  comm: string | null
  pid: number | null
  unit: string | null
  container: string | null
  pod: string | null
  cgroup: string | null
  exe: string | null
  core: number | null
}

/** A stretch that is kept longer than the rest. */
export interface Pin {
  window: Window
  reason: string
}

/** Where the page shows what a piece of evidence claims. */
export interface Place {
  /** Its id. */
  evidence: string
  window: Window
  filter: Filter
  tab: string
  /** A field of the catalogue to draw below the map; empty where there is none. */
  field: string
}

/** One row of `CoreProcesses`. */
export interface ProcessOnCores {
  comm: string
  /** None where nobody told it. */
  pid: number | null
  unit: string
  container: string
  pod: string
  /** Seconds. */
  total_seconds: number
  /** Seconds. Of each of the answer's cores, in their order. */
  core_seconds: number[]
}

export interface RecordedStretch {
  window: Window
  /** `head` (still being written), `segment`, `minutes` (only roll-ups are left) or `damaged`. */
  state: string
  pinned: boolean
  problem: string
}

/** What there is to look at. */
export interface RecordingInfo {
  version: string
  node: string
  kernel: string
  window: Window
  /** What to show first: of imported files where something was counted or sampled, while a log among them may reach back for weeks. */
  measured: Window
  /** Epoch seconds. By the server's clock. */
  now_time: number
  /** A recorder writes to it right now. */
  is_live: boolean
  cores: number[]
  /** What `worst_mode` of the core map counts in. */
  modes: string[]
  stretches: RecordedStretch[]
  /** Where nothing was recorded between the first instant and the last. */
  gaps: Window[]
  samples: number
  export_formats: string[]
  /** Of a case. */
  report_formats: string[]
}

export interface Rejected {
  kind: string
  culprit: Party
  details: Record<string, string | number | number | null | Record<string, string | number | number | null>>
  confidence: "high" | "medium" | "low"
  summary: string
  reason: string
}

/** What harms nobody yet, as far as can be told. */
export interface Risk {
  kind: string
  claim: string
  subject: string
  figures: Record<string, string | number | number | null>
  check: string
}

export interface RootCause {
  /** One of KINDS. */
  kind: string
  /** Who must be stopped. */
  culprit: Party
  /** At least `payer` and `victim` where there are any. */
  details: Record<string, string | number | number | null | Record<string, string | number | number | null>>
}

export interface SampleAnswer {
  /** Epoch seconds. */
  time: number
  core: number
  comm: string
  /** None where nobody told it. */
  pid: number | null
  tid: number | null
  mode: string
  /** Seconds. The core time it stands for. */
  weight_seconds: number
  /** From the process down to the leaf. */
  stack: string[]
}

/** Samples as they were taken, the earliest first. */
export interface SamplesAnswer {
  window: Window
  /** How many there are; only some are listed. */
  total: number
  samples: SampleAnswer[]
}

/** One field over a window, on wall time: raw readings, and the rate where it is a counter. */
export interface SeriesAnswer {
  field: string
  instance: string
  /** Epoch seconds. */
  time: (number | null)[]
  /** The readings as the kernel gave them; MISSING of model.series where there was none. */
  values: (number | null)[]
  /** Changes where a counter may have started anew (a reboot, a gap): never subtract across. */
  segment: number[]
}

/** Before and after the user's fix: the same harm to the same victim. */
export interface SinceFix {
  /** Epoch seconds. */
  fix_time: number
  status: "gone" | "better" | "not-gone" | "too-early" | "unknown"
  text: string
  before: number
  after: number
  before_seconds: number | null
  after_seconds: number | null
  /** That so few come after it if it changed nothing. */
  chance: number | null
  /** How much longer none must come until that is no chance; None where there is nothing to wait for. */
  wait_seconds: number | null
}

/** How fast something grows, by the median of the slopes between all pairs of readings. */
export interface Slope {
  per_hour: number | null
  low_per_hour: number | null
  /** The middle half of those slopes. */
  high_per_hour: number | null
  readings: number
  /** Seconds. */
  over_seconds: number
}

export interface SourceState {
  name: string
  /** `absent`: this kernel doesn't offer it; `broken`: it does, and it can't be read. */
  state: "ok" | "absent" | "broken" | "slow"
  detail: string
}

/** A stretch that can be asked about, or could not be read. */
export interface Span {
  window: Window
  /** `head` (still being written), `segment`, `minutes` (only roll-ups are left) or `damaged`. */
  state: string
  size_bytes: number
  samples: number
  pinned: boolean
  /** What is wrong with it, and what it cost; empty when nothing is. */
  problem: string
}

/** One recorder and its data directory. */
export interface Status {
  /** `never`: nobody recorded in this directory, though it may hold a copy; `imported`: it was made of files. */
  state: "running" | "stopped" | "never" | "imported"
  data_dir: string
  disk: Disk
  version: string
  node: string
  boot_id: string
  pid: number | null
  /** Epoch seconds. When this recorder started, or when the last one stopped. */
  since_time: number | null
  /** Epoch seconds. When the recorder last said all this. */
  updated_time: number | null
  /** What a sample is taken by: `cpu-clock`, `cycles`, or `none`: only counters are recorded. */
  event: string
  /** Samples a second and core in force. */
  rate_hz: number | null
  /** What was asked for; the rate in force is lower when the recorder would exceed its budget. */
  wanted_rate_hz: number | null
  cores_online: number
  cores_sampled: number
  /** None where no recorder runs. */
  cost: Cost | null
  sources: SourceState[]
  missing: Missing[]
  /** What the recording was made of, where that was files. */
  imported: Imported | null
}

/** FlameScope's heat map, packed: a column is a second, a row a slice of it. */
export interface SubSecondCells {
  window: Window
  /** Epoch seconds. Of the first column; whole seconds. */
  start: number
  rows: number
  columns: number
  /** Samples in the fullest cell. */
  most: number
  /** Base64 of 16-bit little-endian numbers, row by row: samples in each cell. */
  counts: string
}

export interface Suspect {
  kind: string
  culprit: Party
  details: Record<string, string | number | number | null | Record<string, string | number | number | null>>
  confidence: "high" | "medium" | "low"
  summary: string
}

/** Harm to a victim, or the user's question. */
export interface Symptom {
  kind: string
  /** Epoch seconds. */
  time: number
  victim: Party
  /** Where it was seen: the kernel's line, the job's log, a counter, samples. */
  source: string
  /** From when the harm began, as far as is known, to when it ended. */
  window: Window
  /** How many like it there are in the window asked for. */
  count: number
  text: string
  /** The class of the log line's signature, where one told of it. */
  event_class: string
  /** The victim waited. Where it was refused at once nobody kept it waiting. */
  is_late: boolean
  /** The log that tells of it, where the recording does not. */
  file: string
}

/** The four tests that a link between cause and effect can pass. */
export interface Tests {
  /** The cause was there first. */
  order: "passed" | "failed" | "untested"
  /** On the same core, in the same cgroup, at the same device. */
  place: "passed" | "failed" | "untested"
  /** More of the cause, more of the effect. */
  dose: "passed" | "failed" | "untested"
  /** Quiet while the cause is quiet. */
  counterfactual: "passed" | "failed" | "untested"
}

export interface Top {
  window: Window
  filter: Filter
  /** How much of the window has samples behind it. */
  seconds_recorded: number | null
  samples: number
  processes: TopProcess[]
  frames: TopFrame[]
  core_times: CoreTimes[]
  /** What weakens the answer: lost samples, gaps, a lowered rate. */
  notes: string[]
}

export interface TopFrame {
  frame: Frame
  inclusive_percent_of_selection: number | null
  self_percent_of_selection: number | null
  inclusive_percent_of_one_core: number | null
  /** Its own inclusive mean over the hour before the window. */
  baseline_percent_of_one_core: number | null
  times_baseline: number | null
  /** As a leaf it only marks where interrupts came back on: the time belongs to its caller. */
  interrupts_were_off: boolean
}

export interface TopProcess {
  comm: string
  /** None where nobody told it: a capture without ids, or a task that was gone already. */
  pid: number | null
  /** None where the row stands for all threads of a process, or nobody told it. */
  tid: number | null
  cgroup: string
  /** Where it ran, most time first. */
  cores: number[]
  samples: number
  percent_of_one_core: number | null
  /** Of all non-idle core time in the window and filter. */
  percent_of_selection: number | null
  user_percent_of_one_core: number | null
  /** Kernel, softirq and irq together. */
  system_percent_of_one_core: number | null
  /** Its own mean over the hour before the window; None where nothing was recorded then. */
  baseline_percent_of_one_core: number | null
  times_baseline: number | null
  /** The systemd unit, container and pod that its cgroup says it belongs to; empty where none. */
  unit: string
  container: string
  pod: string
}

/** `exhume units`: who keeps dying, and what each start costs. The worst first. */
export interface UnitsAnswer {
  window: Window
  recorded_seconds: number | null
  lifecycles: Lifecycle[]
  /** What is missing, and what weakens the answer. */
  notes: string[]
  /** Would a start have been seen? If not, that nobody loops is not known. */
  is_told: boolean
}

export interface Verdict {
  status: "found" | "suspected" | "unknown" | "healthy"
  summary: string
  confidence: "high" | "medium" | "low" | null
  root_cause: RootCause | null
}

/** What becomes slow: one walk over all zombies, when it takes this long. */
export interface Walk {
  seconds: number | null
  /** How many it takes. */
  zombies: number
  /** Seconds. From the end of the window on, at this growth; 0 when it is so already, None for never. */
  in_seconds: number | null
}

export interface Window {
  /** Epoch seconds. */
  start: number
  /** Epoch seconds. */
  end: number
}

/** A cgroup whose children died and are still held. */
export interface ZombieParent {
  path: string
  /** Of v2; None on v1, where only their memory shows. */
  zombies: number | null
  /** tmpfs and shared memory charged to the dead. This and the next two of v1 only. */
  shmem_bytes: number | null
  file_bytes: number | null
  anonymous_bytes: number | null
  /** Epoch seconds. */
  read_time: number
}

/** `exhume zombies`: memory cgroups that are dead and not gone. */
export interface ZombiesAnswer {
  window: Window
  /** How much of the window was recorded. */
  recorded_seconds: number | null
  tracked: number | null
  live: number | null
  /** The last valid count of zombies, and the others of that moment; None where there is none. */
  zombies: number | null
  /** Epoch seconds. When zombies were last counted. */
  read_time: number | null
  /** Live ones without processes or children: leaked directories, another disease. */
  empty: number | null
  /** Epoch seconds. */
  time: (number | null)[]
  /** Every valid count of zombies in the window. */
  counts: (number | null)[]
  /** Of this boot, within the window; None where readings are too few. */
  growth: Slope | null
  /** How many boots the window has. */
  boots: number
  parents: ZombieParent[]
  /** Those that left most first. */
  names: MemcgName[]
  percpu_bytes: number | null
  /** Unreclaimable slab. Both of the whole node, now. */
  slab_bytes: number | null
  percpu_growth: Slope | null
  slab_growth: Slope | null
  /** Per-CPU data and slab together, measured where the count moved enough. */
  bytes_per_zombie: number | null
  outlook: Outlook | null
  /** What could not be seen, and what that costs. */
  missing: string[]
  notes: string[]
}

/** What went wrong, and what to do. */
export interface Problem {
  error: string
  todo?: string
}

export interface Answers {
  "/api/recording": RecordingInfo
  "/api/spans": Span[]
  "/api/cores": CoreCells
  "/api/core-times": CoreTimes[]
  "/api/marks": Marks
  "/api/gauge/{field}": Gauge
  "/api/fields": FieldEntries
  "/api/queues": CoreQueues[]
  "/api/numa-nodes": CoreNode[]
  "/api/sub-second": SubSecondCells
  "/api/flame": FlameColumns
  "/api/diff": FlameDiff
  "/api/top": Top
  "/api/who-ran": CoreProcesses
  "/api/samples": SamplesAnswer
  "/api/who": CoreMoment | null
  "/api/events": EventGroups
  "/api/series/{field}": SeriesAnswer[]
  "/api/irqs": IrqsAnswer
  "/api/zombies": ZombiesAnswer
  "/api/units": UnitsAnswer
  "/api/status": Status
  "/api/cases": Cases
}

export interface Parameters {
  "/api/recording": Record<string, never>
  "/api/spans": Record<string, never>
  "/api/cores": { start?: number; end?: number; columns?: number; show?: "busy" | "user" | "system" | "irq" | "softirq" | "steal" | "iowait" }
  "/api/core-times": { start?: number; end?: number }
  "/api/marks": { start?: number; end?: number; columns?: number }
  "/api/gauge/{field}": { start?: number; end?: number; columns?: number; limit?: number; instance?: string[] }
  "/api/fields": Record<string, never>
  "/api/queues": { start?: number; end?: number }
  "/api/numa-nodes": { start?: number; end?: number }
  "/api/sub-second": { start?: number; end?: number; rows?: number; core?: number[]; comm?: string[]; pid?: number[]; tid?: number[]; cgroup?: string[]; unit?: string[]; container?: string[]; pod?: string[]; mode?: ("user" | "system" | "softirq" | "irq")[] }
  "/api/flame": { start?: number; end?: number; per_million?: number; hide?: string[]; only?: string[]; recursion?: "keep" | "collapse"; core?: number[]; comm?: string[]; pid?: number[]; tid?: number[]; cgroup?: string[]; unit?: string[]; container?: string[]; pod?: string[]; mode?: ("user" | "system" | "softirq" | "irq")[]; focus?: string; shape?: "callees" | "callers" }
  "/api/diff": { start?: number; end?: number; per_million?: number; hide?: string[]; only?: string[]; recursion?: "keep" | "collapse"; core?: number[]; comm?: string[]; pid?: number[]; tid?: number[]; cgroup?: string[]; unit?: string[]; container?: string[]; pod?: string[]; mode?: ("user" | "system" | "softirq" | "irq")[]; base?: "preceding" | "whole" | "window"; base_start?: number; base_end?: number }
  "/api/top": { start?: number; end?: number; limit?: number; core?: number[]; comm?: string[]; pid?: number[]; tid?: number[]; cgroup?: string[]; unit?: string[]; container?: string[]; pod?: string[]; mode?: ("user" | "system" | "softirq" | "irq")[] }
  "/api/who-ran": { start?: number; end?: number; limit?: number; core?: number[]; comm?: string[]; pid?: number[]; tid?: number[]; cgroup?: string[]; unit?: string[]; container?: string[]; pod?: string[]; mode?: ("user" | "system" | "softirq" | "irq")[] }
  "/api/samples": { start?: number; end?: number; limit?: number; core?: number[]; comm?: string[]; pid?: number[]; tid?: number[]; cgroup?: string[]; unit?: string[]; container?: string[]; pod?: string[]; mode?: ("user" | "system" | "softirq" | "irq")[] }
  "/api/who": { at: number; core?: number[] }
  "/api/events": { start?: number; end?: number; limit?: number; kind?: string[] }
  "/api/series/{field}": { start?: number; end?: number; instance?: string[] }
  "/api/irqs": { start?: number; end?: number }
  "/api/zombies": { start?: number; end?: number }
  "/api/units": { start?: number; end?: number }
  "/api/status": Record<string, never>
  "/api/cases": { start?: number; end?: number; limit?: number }
  "/api/export/{format}": { start?: number; end?: number; core?: number[]; comm?: string[]; pid?: number[]; tid?: number[]; cgroup?: string[]; unit?: string[]; container?: string[]; pod?: string[]; mode?: ("user" | "system" | "softirq" | "irq")[] }
  "/api/report/{format}": { start?: number; end?: number; limit?: number; case: string }
}
