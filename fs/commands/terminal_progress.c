/* SPDX-License-Identifier: MIT */
/* terminal_progress.c - see terminal_progress.h. */
#include "fs/commands/terminal_progress.h"
#include "fs/commands/terminal_text.h"
#include "fs/util/clock.h"
#include "fs/util/cond_poll.h"
#include "fs/util/log.h"
#include "fs/util/progress_text.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define TICK_MS	  100
#define QUIET_S	  0.2
#define NAME_MOST 30 /* columns */

struct terminal_progress {
	const char *name, *noun;
	terminal_progress_look *look;
	void *context;
	struct log *log;
	struct terminal terminal;
	struct timespec begun;
	size_t width; /* of the drawn line */
	pthread_t thread;
	pthread_mutex_t lock; /* protects the members below */
	pthread_cond_t over;
	bool ended;
};

static double seconds_since(const struct timespec *begun)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - begun->tv_sec) + (double)(now.tv_nsec - begun->tv_nsec) * 1e-9;
}

/* Draw the line in place of the previous one. */
static void draw(struct terminal_progress *progress, const char *name, const char *figures)
{
	fprintf(stderr, "\r%*s\r", (int)progress->width, "");
	progress->width = terminal_text_put(&progress->terminal, stderr, name, NAME_MOST);
	progress->width += terminal_text_put(&progress->terminal, stderr, figures,
					     progress->terminal.columns - progress->width - 1);
	fflush(stderr);
}

static void show(struct terminal_progress *progress)
{
	const double seconds = seconds_since(&progress->begun);
	char text[160] = ": ";
	uint64_t done, total;
	FILE *out;

	if (seconds < QUIET_S || !progress->look(progress->context, &done, &total))
		return;
	out = fmemopen(text + 2, sizeof(text) - 2, "w");
	if (!out)
		return;
	progress_text(out, done, total, seconds, progress->noun);
	fclose(out);
	draw(progress, progress->name, text);
}

static void *run(void *context)
{
	struct terminal_progress *progress = context;
	struct timespec next;

	pthread_mutex_lock(&progress->lock);
	while (!progress->ended) {
		next = clock_in(TICK_MS);
		pthread_cond_timedwait(&progress->over, &progress->lock, &next);
		if (!progress->ended)
			show(progress);
	}
	pthread_mutex_unlock(&progress->lock);
	return NULL;
}

struct terminal_progress *terminal_progress_begin(const char *name, const char *noun,
						  terminal_progress_look *look, void *context,
						  struct log *log)
{
	struct terminal_progress *progress;
	struct winsize window;

	if (!isatty(STDERR_FILENO) || !(progress = calloc(1, sizeof(*progress))))
		return NULL;
	*progress = (struct terminal_progress){ .name = name,
						.noun = noun,
						.look = look,
						.context = context,
						.log = log,
						.terminal = terminal_text_detect_stdout() };
	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > NAME_MOST)
		progress->terminal.columns = window.ws_col;
	clock_gettime(CLOCK_MONOTONIC, &progress->begun);
	pthread_mutex_init(&progress->lock, NULL);
	cond_poll_init(&progress->over);
	if (pthread_create(&progress->thread, NULL, run, progress) != 0) {
		free(progress);
		return NULL;
	}
	if (log)
		log_pause(log);
	return progress;
}

void terminal_progress_end(struct terminal_progress *progress)
{
	if (!progress)
		return;
	pthread_mutex_lock(&progress->lock);
	progress->ended = true;
	pthread_cond_signal(&progress->over);
	pthread_mutex_unlock(&progress->lock);
	pthread_join(progress->thread, NULL);
	if (progress->width)
		draw(progress, "", "");
	if (progress->log)
		log_resume(progress->log);
	pthread_cond_destroy(&progress->over);
	pthread_mutex_destroy(&progress->lock);
	free(progress);
}
