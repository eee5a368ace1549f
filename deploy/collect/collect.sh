#!/bin/sh
# Evidence from a node that has no exhume, for `exhume import FOLDER` anywhere else.
#
#   sh collect.sh [SECONDS] [FOLDER]        120 seconds, into ./exhume-NODE-TIME
#
# Nothing is installed or changed, and nothing is kept running. As root it sees more. perf and mpstat
# are used where they are; without them the copies of /proc still tell what each core did.
set -u

seconds=${1:-120}
node=$(uname -n)
began=$(date -u +%Y%m%d-%H%M%S)
folder=${2:-exhume-$node-$began}

case $seconds in
*[!0-9]* | '' | 0) echo "collect.sh: '$seconds' is no number of seconds; for example: sh collect.sh 120" >&2; exit 2 ;;
esac
if ! mkdir -p "$folder" || ! cd "$folder"; then
    echo "collect.sh: $folder can't be made; name another folder" >&2; exit 1
fi

has() { command -v "$1" >/dev/null 2>&1; }

# One reading below a mark of wall time and uptime, which ties perf's clock and the kernel log's to it.
mark() { read -r up _ </proc/uptime; echo "### $(date -u '+%s.%N %Y-%m-%dT%H:%M:%SZ') uptime=$up"; }

# copy NAME FILE…: below one mark, if there is anything to copy.
copy() {
    name=$1; shift
    text=$(cat "$@" 2>/dev/null) && [ -n "$text" ] && { mark; echo "$text"; } >>"$name.log"
}

# ask NAME COMMAND…: what a command answers, below a mark.
ask() {
    name=$1; shift
    if has "$1" && text=$("$@" 2>/dev/null) && [ -n "$text" ]; then { mark; echo "$text"; } >>"$name.log"; fi
}

each_second() {
    for file in stat softirqs interrupts vmstat loadavg schedstat; do copy "proc_$file" "/proc/$file"; done
    copy proc_softnet_stat /proc/net/softnet_stat
    for what in cpu memory io; do copy "proc_pressure_$what" "/proc/pressure/$what"; done
}

# v2 says itself how many are dying. Else live cgroups are directories, and what the kernel counts
# beyond them are zombies.
count_cgroups() {
    copy cgroup_stat /sys/fs/cgroup/cgroup.stat && return
    copy proc_cgroups /proc/cgroups
    for root in /sys/fs/cgroup/memory /sys/fs/cgroup; do
        [ -e "$root/memory.stat" ] || [ -e "$root/cgroup.controllers" ] || continue
        [ -e memory_cgroups.csv ] || echo "time,memory_cgroups,live_memory_dirs" >memory_cgroups.csv
        tracked=$(awk '$1 == "memory" { print $3 }' /proc/cgroups)
        echo "$(date -u +%Y-%m-%dT%H:%M:%SZ),$tracked,$(find "$root" -type d 2>/dev/null | wc -l)" >>memory_cgroups.csv
        break
    done
}

# Of the cgroups that have a CPU limit: most have none, and there may be thousands.
limited=$(
    for root in /sys/fs/cgroup/cpu /sys/fs/cgroup; do
        grep -rvE --include=cpu.max --include=cpu.cfs_quota_us '^(max|-1)' "$root" 2>/dev/null | head -n 100
    done | sed 's,/cpu\.[a-z_]*:.*,/cpu.stat,' | sort -u
)
throttling() {
    [ -z "$limited" ] || text=$(echo "$limited" | tr '\n' '\0' | xargs -0 grep -H . 2>/dev/null)
    [ -z "$limited" ] || [ -z "$text" ] || { mark; echo "$text"; } >>cpu_stat.log
}

every_ten_seconds() {
    copy proc_meminfo /proc/meminfo
    throttling
    count_cgroups
    ask systemctl systemctl list-units --all --no-pager --plain --type=service
    ask docker_ps docker ps -a
    for card in /sys/class/net/*/device; do
        card=${card%/device}; card=${card##*/}
        ask "ethtool-$card" ethtool -S "$card"
    done
}

perf_pid='' mpstat_pid=''
stop() { [ -z "$perf_pid" ] || kill -INT "$perf_pid" 2>/dev/null; [ -z "$mpstat_pid" ] || kill -INT "$mpstat_pid" 2>/dev/null; wait; }
trap 'stop; exit 130' INT TERM

if has perf; then
    # -N: perf would copy every program that ran into ~/.debug.
    perf record -q -N -F 97 -g -a -o "perf-$node-$(date -u +%Y%m%d-%H%M%S)-${seconds}s.data" -- sleep "$seconds" 2>perf.err &
    perf_pid=$!
fi
if has mpstat; then
    LC_ALL=C TZ=UTC S_TIME_FORMAT=ISO mpstat -P ALL 1 "$seconds" >mpstat.txt 2>&1 &
    mpstat_pid=$!
fi

now=$(date +%s)
end=$((now + seconds)) tens=0
while [ "$now" -lt "$end" ]; do
    each_second
    if [ "$now" -ge "$tens" ]; then every_ten_seconds; tens=$((now + 10)); fi
    sleep 1
    now=$(date +%s)
done
stop

cat /proc/kallsyms >kallsyms 2>/dev/null
dmesg >dmesg.txt 2>/dev/null
if has journalctl; then
    journalctl -q --since "-$((seconds + 900)) seconds" -o short-iso-precise --no-pager >journal.txt 2>/dev/null
fi
find . -type f -size 0 -exec rm -f {} +

echo "collect.sh: $folder holds $(du -sh . | cut -f1); on a machine with exhume: exhume import $folder (or that as one tar.gz)"
