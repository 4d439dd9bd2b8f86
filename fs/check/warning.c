/* SPDX-License-Identifier: MIT */
/* warning.c - see warning.h. */
#include "fs/check/warning.h"
#include "fs/base/donor.h"
#include "fs/check/check.h"
#include "fs/check/check_verdict.h"
#include "fs/layer/layer_open.h"
#include "fs/model/slots.h"
#include "fs/storage/view.h"
#include "fs/util/clock.h"
#include "fs/util/cond_poll.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct warning {
	struct view *check; /* NULL once the thread is left alone */
	char **donors;	    /* paths of the donors' files */
	size_t n;
	pthread_t thread;
	atomic_bool stop;
	pthread_mutex_t lock; /* protects the fields below */
	pthread_cond_t changed;
	enum step { STEP_DONORS, STEP_CHECK, STEP_DONE } step;
	bool left; /* warning_end() has left, and the thread frees all */
	char text[WARNING_TEXT];
};

static void release(struct warning *warning)
{
	view_unref(warning->check);
	for (size_t i = 0; i < warning->n; i++)
		free(warning->donors[i]);
	free(warning->donors);
	pthread_mutex_destroy(&warning->lock);
	pthread_cond_destroy(&warning->changed);
	free(warning);
}

/* Cut the next field off the line. */
static char *next_field(char **line)
{
	char *field = *line;

	*line = field + strcspn(field, "\t");
	if (**line)
		*(*line)++ = '\0';
	return field;
}

/* The first line has the worst verdict of the others, which are the checks. */
void warning_of(char *check, char text[WARNING_TEXT])
{
	char *rest = check, *line = strsep(&rest, "\n"), more[32] = "";
	const char *worst = next_field(&line), *what = NULL, *why = NULL;
	size_t length = 0;
	unsigned n = 0;

	text[0] = '\0';
	if (strcmp(worst, verdict_name(VERDICT_RISKY)) != 0 &&
	    strcmp(worst, verdict_name(VERDICT_IMPOSSIBLE)) != 0)
		return;
	while ((line = strsep(&rest, "\n"))) {
		if (strcmp(next_field(&line), worst) != 0 || n++ > 0)
			continue;
		what = next_field(&line);
		why = next_field(&line);
		/* The reason is padded with blanks. */
		length = strlen(why);
		while (length && why[length - 1] == ' ')
			length--;
	}
	if (n > 1)
		snprintf(more, sizeof(more), " (and %u more)", n - 1);
	if (n)
		snprintf(text, WARNING_TEXT, "%s: %s: %.*s%s", worst, what, (int)length, why, more);
}

bool warning_is_impossible(const char *text)
{
	const char *name = verdict_name(VERDICT_IMPOSSIBLE);
	const size_t n = strlen(name);

	return strncmp(text, name, n) == 0 && text[n] == ':';
}

/* Read a byte of each donor's file: its filesystem has to answer, be it with an error. */
static void ask_donors(const struct warning *warning)
{
	for (size_t i = 0; i < warning->n; i++) {
		const int fd = layer_open_file(AT_FDCWD, warning->donors[i]);
		char byte;

		if (fd < 0)
			continue;
		if (pread(fd, &byte, 1, 0) < 0)
			byte = 0;
		close(fd);
	}
}

static void ask_check(struct warning *warning, char text[WARNING_TEXT])
{
	const size_t size = (size_t)view_size(warning->check);
	char *check = malloc(size + 1);
	const ssize_t got =
		check ? view_read_cancellable(warning->check, check, size, 0, &warning->stop)
		      : -ENOMEM;

	text[0] = '\0';
	if (got == (ssize_t)size) {
		check[size] = '\0';
		warning_of(check, text);
	} else if (got == -EINTR) {
		snprintf(text, WARNING_TEXT, "nothing yet: the check takes too long");
	}
	free(check);
}

/* Enter the step. False: warning_end() does not wait any more. */
static bool enter(struct warning *warning, enum step step, const char *text)
{
	bool left;

	pthread_mutex_lock(&warning->lock);
	left = warning->left;
	warning->step = step;
	if (text)
		strcpy(warning->text, text);
	pthread_cond_broadcast(&warning->changed);
	pthread_mutex_unlock(&warning->lock);
	return !left;
}

static void *ask(void *argument)
{
	struct warning *warning = argument;
	char text[WARNING_TEXT];

	ask_donors(warning);
	if (!enter(warning, STEP_CHECK, NULL)) {
		release(warning);
		return NULL;
	}
	ask_check(warning, text);
	enter(warning, STEP_DONE, text);
	return NULL;
}

/* Note the donors that are models, without repetition in sequence. */
static int note_donors(struct warning *warning, const struct snapshot *snapshot)
{
	warning->donors = calloc(snapshot->n + 1u, sizeof(*warning->donors));
	for (uint32_t i = 0; warning->donors && i < snapshot->n; i++) {
		const struct content *own = content_own(snapshot->content[i]);
		const char *path = own && own->donor ? donor_path(own->donor) : NULL;
		size_t length;

		if (!path || !donor_tensor(own->donor, &length) ||
		    (warning->n && strcmp(warning->donors[warning->n - 1], path) == 0))
			continue;
		warning->donors[warning->n] = strdup(path);
		if (!warning->donors[warning->n++])
			return -1;
	}
	return warning->donors ? 0 : -1;
}

struct warning *warning_begin(struct model *model, const struct snapshot *snapshot)
{
	struct warning *warning = snapshot->grafts ? calloc(1, sizeof(*warning)) : NULL;

	if (!warning)
		return NULL;
	pthread_mutex_init(&warning->lock, NULL);
	cond_poll_init(&warning->changed);
	atomic_init(&warning->stop, false);
	warning->check = check_view(model, snapshot, &warning->stop);
	if (warning->check && note_donors(warning, snapshot) == 0 &&
	    pthread_create(&warning->thread, NULL, ask, warning) == 0)
		return warning;
	release(warning);
	return NULL;
}

/* Wait until done or until the time, then stop the check. Call with the lock held. */
static void wait_until(struct warning *warning, const struct timespec *until)
{
	while (warning->step != STEP_DONE &&
	       pthread_cond_timedwait(&warning->changed, &warning->lock, until) == 0)
		;
	/* The check ends soon after. */
	atomic_store(&warning->stop, true);
	while (warning->step == STEP_CHECK)
		pthread_cond_wait(&warning->changed, &warning->lock);
}

void warning_end(struct warning *warning, unsigned seconds, char text[WARNING_TEXT])
{
	const struct timespec until = clock_in((int64_t)seconds * 1000);
	struct view *check;
	bool in_time;

	text[0] = '\0';
	if (!warning)
		return;
	pthread_mutex_lock(&warning->lock);
	wait_until(warning, &until);
	in_time = warning->step == STEP_DONE;
	if (in_time)
		strcpy(text, warning->text);
	else
		snprintf(text, WARNING_TEXT, "nothing, because a donor's file does not answer");
	warning->left = !in_time;
	check = warning->check;
	warning->check = NULL;
	if (!in_time)
		pthread_detach(warning->thread);
	pthread_mutex_unlock(&warning->lock);
	view_unref(check);
	if (in_time) {
		pthread_join(warning->thread, NULL);
		release(warning);
	}
}
