/* Whoever may come to harm. */
#include "common.h"
#include <arpa/inet.h>
#include <sys/socket.h>

/* CORE EVERY_SECONDS WORK_SECONDS LIMIT_SECONDS TOUCH_MIB LOG: each time the same work; says so in
   its log when that took too long. */
int role_daemon(char **words)
{
    double every = atof(words[1]), limit = atof(words[3]);
    long rounds = rounds_for(atof(words[2]));
    size_t bytes = (size_t)atol(words[4]) << 20;
    const char *log = words[5];
    pin_to(atoi(words[0]));
    double due = now() + every;
    say(log, "INFO", "ready");
    for (;;) {
        wait_until(due);
        compute(rounds);
        if (bytes) {
            char *memory = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (memory == MAP_FAILED)
                return 1;
            for (size_t at = 0; at < bytes; at += 4096)
                memory[at] = 1;
            munmap(memory, bytes);
        }
        double took = now() - due;
        if (took >= limit)
            say(log, "ERROR", "health check timed out after %.1fs", took);
        due += every;
        if (due < now())
            due = now() + every;
    }
}

/* HOST PORT EVERY_SECONDS LOG: asks a service whether it is well. */
int role_client(char **words)
{
    double every = atof(words[2]), due = now() + every;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(atoi(words[1]))};
    inet_pton(AF_INET, words[0], &to.sin_addr);
    for (;; due += every) {
        char answer[16];
        struct timeval patience = {1, 0};
        wait_until(due);
        int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        errno = 0;
        int failed = connect(s, (struct sockaddr *)&to, sizeof to) != 0;
        if (!failed && recv(s, answer, sizeof answer, 0) <= 0) {
            failed = 1;
            errno = errno ? errno : ECONNRESET;
        }
        if (failed)
            say(words[3], "ERROR", "health check of %s:%s failed: %s", words[0], words[1],
                strerror(errno));
        close(s);
    }
}

/* FORCE_EMPTY BEGIN_SECONDS PAUSE_SECONDS TIMES CORE LOG LIMIT_SECONDS: quiet until then, apart from
   a look at the load twice a second; then has a cgroup emptied, now and again, and says in its log
   when that took more. */
int role_collector(char **words)
{
    double begin = now() + atof(words[1]), rest = atof(words[2]);
    int times = atoi(words[3]);
    char buffer[256];
    pin_to(atoi(words[4]));
    prefer_me(-10);  /* as a node's own agents are, and it starves nobody */
    while (now() < begin) {
        int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
        if (read(fd, buffer, sizeof buffer) < 0)
            perror("loadavg");
        close(fd);
        usleep(500000);
    }
    for (int i = 0; i < times; i++) {
        int fd = open(words[0], O_WRONLY | O_CLOEXEC);
        double began = now();
        if (write(fd, "0", 1) < 0)
            perror(words[0]);
        double took = now() - began;
        close(fd);
        if (took > atof(words[6]))
            say(words[5], "ERROR", "emptying took %.1f s", took);
        usleep(rest * 1e6);
    }
    for (;;)
        pause();
}
