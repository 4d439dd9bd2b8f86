/* SPDX-License-Identifier: MIT */
/* stop_signals.h - signals that end what a command writes: SIGINT, SIGTERM and SIGHUP, unless the
 * process ignores them. */
#ifndef FS_COMMANDS_STOP_SIGNALS_H
#define FS_COMMANDS_STOP_SIGNALS_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

/* No handler is used: it could reach the flag through a global variable only. */
struct stop_signals {
	sigset_t signals;
	pthread_t thread;
	bool started;
	atomic_bool stopped; /* a signal came */
	atomic_bool over;
};

/* A thread waits for the signals. The first one sets stopped; a second one ends the process, also
 * where a disk does not answer. If no thread can be started, the first one ends the process. */
void stop_signals_begin(struct stop_signals *watch);
void stop_signals_end(struct stop_signals *watch);

#endif
