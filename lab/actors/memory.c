/* Whoever wants memory. */
#include "common.h"
#include <pthread.h>

static volatile unsigned long sink;
static double end;

static void *fault(void *bytes_of)
{
    size_t bytes = *(size_t *)bytes_of;
    while (now() < end) {
        char *memory = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            exit(1);
        madvise(memory, bytes, MADV_NOHUGEPAGE);
        for (size_t at = 0; at < bytes; at += 4096)
            memory[at] = 1;
        munmap(memory, bytes);
    }
    return 0;
}

/* CORE SECONDS PROCESSES MIB: each touches fresh pages and gives them back, over and over. */
int role_faults(char **words)
{
    size_t bytes = (size_t)atol(words[3]) << 20;
    pin_to(atoi(words[0]));
    end = now() + atof(words[1]);
    for (int left = atoi(words[2]); left > 1; left--)
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            break;
        }
    setsid();  /* a group of its own for the scheduler, too */
    fault(&bytes);
    while (wait(0) > 0)
        ;
    return 0;
}

/* MIB_PER_SECOND MOST_MIB CORE: and keeps it. */
int role_eat(char **words)
{
    long pace = atol(words[0]), most = atol(words[1]);
    double due = now();
    pin_to(atoi(words[2]));
    for (long eaten = 0; eaten < most; eaten++) {
        char *memory = malloc(1 << 20);
        memset(memory, 1, 1 << 20);
        sink += memory[4096];
        due += 1.0 / pace;
        wait_until(due);
    }
    for (;;)
        pause();
}

static const char *file;
static size_t file_bytes;

static void *walk(void *seed)
{
    unsigned short state[3] = {1, 2, *(int *)seed};
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    char *memory = mmap(0, file_bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        exit(1);
    madvise(memory, file_bytes, MADV_RANDOM);
    while (now() < end)
        sink += memory[(nrand48(state) % (file_bytes >> 12)) << 12];
    return 0;
}

/* FILE SECONDS THREADS MAPPINGS CORE: reads it here and there, again and again, through a mapping.
   Each further mapping makes a page of it dearer to take away: all are looked through for it. */
int role_thrash(char **words)
{
    struct stat status;
    int threads = atoi(words[2]), seeds[64];
    pthread_t all[64];
    file = words[0];
    end = now() + atof(words[1]);
    pin_to(atoi(words[4]));
    if (stat(file, &status) != 0 || threads < 1 || threads > 64)
        return 1;
    file_bytes = status.st_size;
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    for (int i = 0; i < atoi(words[3]); i++)
        if (mmap(0, file_bytes, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED)
            return 1;
    for (int i = 0; i < threads; i++) {
        seeds[i] = i;
        pthread_create(&all[i], 0, walk, &seeds[i]);
    }
    for (int i = 0; i < threads; i++)
        pthread_join(all[i], 0);
    return 0;
}
