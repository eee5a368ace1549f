/* Whoever takes a core: fairly, or not. */
#include "common.h"

static volatile unsigned long sink;

static void spin_until(double end)
{
    while (now() < end)
        for (int i = 0; i < 200000; i++)
            sink += i;
}

static void call_until(double end)
{
    static char buffer[1 << 16];
    int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    while (now() < end)
        for (int i = 0; i < 50; i++)
            sink += read(fd, buffer, sizeof buffer);
    close(fd);
}

/* CORE SECONDS */
int role_spin(char **words)
{
    pin_to(atoi(words[0]));
    spin_until(now() + atof(words[1]));
    return 0;
}

/* CORE SECONDS */
int role_calls(char **words)
{
    pin_to(atoi(words[0]));
    call_until(now() + atof(words[1]));
    return 0;
}

/* CORE PRIORITY BUSY_SECONDS PERIOD_SECONDS TIMES user|system: then ends. It has the priority only
   while it is busy: asleep it is an ordinary process. */
int role_realtime(char **words)
{
    struct sched_param real = {.sched_priority = atoi(words[1])}, fair = {.sched_priority = 0};
    double busy = atof(words[2]), period = atof(words[3]), due = now();
    pin_to(atoi(words[0]));
    for (int left = atoi(words[4]); left > 0; left--) {
        if (real.sched_priority && sched_setscheduler(0, SCHED_FIFO, &real) != 0) {
            perror("sched_setscheduler");
            return 1;
        }
        if (!strcmp(words[5], "user"))
            spin_until(now() + busy);
        else
            call_until(now() + busy);
        sched_setscheduler(0, SCHED_OTHER, &fair);
        due += period;
        if (left > 1 && due > now())
            wait_until(due);
    }
    return 0;
}
