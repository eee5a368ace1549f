/* What all actors share. An actor is one program under a random name: `NAME ROLE WORDS...`. */
#pragma once
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

double now(void);               /* CLOCK_MONOTONIC, seconds */
void wait_until(double at);     /* of that clock */
void pin_to(int core);          /* -1: anywhere */
void say(const char *log, const char *level, const char *format, ...);
void compute(long rounds);      /* always the same amount of work */
long rounds_for(double seconds);
void prefer_me(int nice);       /* of the session too: within it alone nice counts for little */

/* Each returns its exit code; `words` are what came behind the role. */
int role_daemon(char **words);
int role_spin(char **words);
int role_calls(char **words);
int role_realtime(char **words);
int role_faults(char **words);
int role_eat(char **words);
int role_thrash(char **words);
int role_blast(char **words);
int role_sink(char **words);
int role_service(char **words);
int role_client(char **words);
int role_supervise(char **words);
int role_collector(char **words);
