/* SPDX-License-Identifier: MIT */
/* stop_signals.h - lets SIGINT, SIGTERM and SIGHUP stop a command that writes, unless the process
 * ignores them. */
#ifndef FS_COMMANDS_STOP_SIGNALS_H
#define FS_COMMANDS_STOP_SIGNALS_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

/* A thread takes the signals; a handler could reach the flag only through a global variable. */
struct stop_signals {
	sigset_t signals;
	pthread_t thread;
	bool started;
	atomic_bool stopped; /* a signal came */
	atomic_bool over;
};

/* Start the thread that waits for the signals. The first signal sets stopped; the second one ends
 * the process, even if a disk hangs. If the thread cannot be started, the first signal ends the
 * process. */
void stop_signals_begin(struct stop_signals *watch);
void stop_signals_end(struct stop_signals *watch);

#endif
