/* SPDX-License-Identifier: MIT */
/* stop_signals.c - see stop_signals.h. */
#include "fs/commands/stop_signals.h"

#include <stddef.h>

/* Ends the thread that waits for signals. */
#define WATCH_OVER SIGUSR2

static void *watch_signals(void *context)
{
	struct stop_signals *watch = context;
	int number;

	while (sigwait(&watch->signals, &number) == 0 && !atomic_load(&watch->over)) {
		if (number == WATCH_OVER)
			continue;
		if (atomic_exchange(&watch->stopped, true)) {
			pthread_sigmask(SIG_UNBLOCK, &watch->signals, NULL);
			raise(number);
		}
	}
	return NULL;
}

void stop_signals_begin(struct stop_signals *watch)
{
	static const int ending[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction now;

	atomic_init(&watch->stopped, false);
	atomic_init(&watch->over, false);
	sigemptyset(&watch->signals);
	sigaddset(&watch->signals, WATCH_OVER);
	/* Leave out signals that nohup(1) or a shell set to be ignored. */
	for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++)
		if (sigaction(ending[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
			sigaddset(&watch->signals, ending[i]);
	pthread_sigmask(SIG_BLOCK, &watch->signals, NULL);
	watch->started = pthread_create(&watch->thread, NULL, watch_signals, watch) == 0;
	if (!watch->started)
		pthread_sigmask(SIG_UNBLOCK, &watch->signals, NULL);
}

void stop_signals_end(struct stop_signals *watch)
{
	if (!watch->started)
		return;
	atomic_store(&watch->over, true);
	pthread_kill(watch->thread, WATCH_OVER);
	pthread_join(watch->thread, NULL);
}
