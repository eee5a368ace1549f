"""Small programs to be caught in the act: bounded in time, with functions of telling names."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

SOURCE = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static volatile unsigned long sink;

void exhume_spin_here(double seconds)
{
    double end = now(CLOCK_MONOTONIC) + seconds;
    while (now(CLOCK_MONOTONIC) < end)
        for (int i = 0; i < 200000; i++)
            sink += i;
}

void exhume_call_kernel(double seconds)
{
    static char buffer[1 << 16]; /* to clear it takes longer than to ask for it */
    int fd = open("/dev/zero", O_RDONLY);
    double end = now(CLOCK_MONOTONIC) + seconds;
    while (now(CLOCK_MONOTONIC) < end)
        for (int i = 0; i < 500; i++)
            sink += read(fd, buffer, sizeof buffer);
}

/* From 0.35 s after the next whole second of wall time on. */
void exhume_burst(double seconds)
{
    double t = now(CLOCK_REALTIME), at = (long)(t + 1.2) + 0.35;
    usleep((at - t) * 1e6);
    exhume_spin_here(seconds);
}

void exhume_crash_work(void)
{
    double end = now(CLOCK_PROCESS_CPUTIME_ID) + 0.06;
    while (now(CLOCK_PROCESS_CPUTIME_ID) < end)
        for (int i = 0; i < 20000; i++)
            sink += i;
}

/* So many a second, or as many as it can. */
static long exhume_fork(double seconds, const char *program, double rate)
{
    long forks = 0;
    double t, start = now(CLOCK_MONOTONIC);
    while ((t = now(CLOCK_MONOTONIC) - start) < seconds) {
        if (rate > 0 && forks > t * rate) {
            usleep((forks / rate - t) * 1e6);
            continue;
        }
        pid_t child = program ? vfork() : fork();
        if (child == 0) {
            if (program)
                execl(program, "true", (char *)0);
            _exit(0);
        }
        if (child < 0)
            continue;
        waitpid(child, 0, 0);
        forks++;
    }
    return forks;
}

/* Looks up once a second, as workers of a pool do that have nothing to do. */
static void *exhume_thread(void *seconds)
{
    double t, end = now(CLOCK_MONOTONIC) + *(double *)seconds;
    while ((t = now(CLOCK_MONOTONIC)) < end)
        usleep((end - t < 1 ? end - t : 1) * 1e6);
    return 0;
}

static long exhume_threads(int count, double seconds)
{
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 64 << 10);
    pthread_t *all = calloc(count, sizeof *all);
    int made = 0;
    while (made < count && pthread_create(&all[made], &attr, exhume_thread, &seconds) == 0)
        made++;
    for (int i = 0; i < made; i++)
        pthread_join(all[i], 0);
    return made;
}

/* Others work on this machine, too, and nice counts within a session only. */
static void prefer_me(void)
{
    setpriority(PRIO_PROCESS, 0, -15);
    setsid();
    FILE *file = fopen("/proc/self/autogroup", "w");
    if (file) {
        fputs("-15", file);
        fclose(file);
    }
}

int main(int argc, char **argv)
{
    const char *what = argv[1];
    double seconds = atof(argv[2]);
    int core = atoi(argv[3]);
    if (core >= 0) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(core, &set);
        sched_setaffinity(0, sizeof set, &set);
        prefer_me();
    }
    alarm(seconds + 60);
    long count = 0;
    double began = now(CLOCK_REALTIME);
    if (!strcmp(what, "spin"))
        exhume_spin_here(seconds);
    else if (!strcmp(what, "call"))
        exhume_call_kernel(seconds);
    else if (!strcmp(what, "burst"))
        exhume_burst(seconds);
    else if (!strcmp(what, "crash")) {
        exhume_crash_work();
        usleep(600000);
        return 3;
    } else if (!strcmp(what, "forks"))
        count = exhume_fork(seconds, 0, argc > 5 ? atof(argv[5]) : 0);
    else if (!strcmp(what, "execs"))
        count = exhume_fork(seconds, argv[4], argc > 5 ? atof(argv[5]) : 0);
    else if (!strcmp(what, "threads"))
        count = exhume_threads(atoi(argv[4]), seconds);
    double ended = now(CLOCK_REALTIME);
    printf("{\"began\": %.6f, \"ended\": %.6f, \"cpu_seconds\": %.6f, \"count\": %ld}\n",
           began, ended, now(CLOCK_PROCESS_CPUTIME_ID), count);
    return 0;
}
"""
NAMES = ("xh_spinner", "xh_caller", "xh_burster", "xh_crasher", "xh_forker", "xh_threads")
LOOP = """\
#!/bin/sh
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    {crasher} crash 0 -1 &
    sleep 0.2
done
wait
"""


class Ran(Struct, frozen=True):
    """What a program says of itself: when it was (epoch seconds) and what it took."""

    began: float
    ended: float
    cpu_seconds: float
    count: int

    @property
    def seconds(self) -> float:
        return self.ended - self.began

    @property
    def percent_of_one_core(self) -> float:
        return 100 * self.cpu_seconds / self.seconds


class Programs(Struct, frozen=True):
    folder: Path

    @staticmethod
    def compile(folder: Path) -> Programs:
        """One program under many names: a process is called by the name of its file."""
        source = folder / "worker.c"
        source.write_text(SOURCE)
        flags = ["-O0", "-g0", "-fno-omit-frame-pointer", "-pthread", "-w"]
        for name in NAMES:
            # A build id of its own for each: they are different programs.
            own = [f"-Wl,--build-id=0x{name.encode().hex():0<40}"]
            subprocess.run(["gcc", *flags, *own, "-o", folder / name, source], check=True)
        loop = folder / "xh_looper"
        loop.write_text(LOOP.format(crasher=folder / "xh_crasher"))
        loop.chmod(0o755)
        return Programs(folder)

    @contextmanager
    def start(
        self, name: str, what: str, seconds: float = 0, core: int = -1, *more: object
    ) -> Iterator[subprocess.Popen[str]]:
        """Runs beside what happens in the block, and no longer."""
        command = [str(self.folder / name), what, str(seconds), str(core), *map(str, more)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
            process.communicate()

    def run(self, name: str, what: str, seconds: float = 0, core: int = -1, *more: object) -> Ran:
        with self.start(name, what, seconds, core, *more) as process:
            return finish(process, seconds + 30)

    @contextmanager
    def crash_loop(self) -> Iterator[subprocess.Popen[str]]:
        """A shell that starts a program five times a second, which dies each time: 4 s in all."""
        process = subprocess.Popen(
            [self.folder / "xh_looper"], stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        try:
            yield process
            process.wait(30)
        finally:
            with suppress(ProcessLookupError):
                if process.poll() is None:
                    process.kill()
            process.communicate()


def finish(process: subprocess.Popen[str], timeout: float) -> Ran:
    out, _ = process.communicate(timeout=timeout)
    return Ran(**json.loads(out))
