/* SPDX-License-Identifier: MIT */
/* log.c - see log.h. */
#include "fs/util/log.h"
#include "gguf/printable.h"

#include <paths.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#define KEPT 1000

/* length of a line's time stamp */
#define STAMP strlen("2000-01-01 00:00:00 ")

struct log {
	pthread_mutex_t lock; /* protects the members below */
	char *lines[KEPT];    /* a ring; NULL: not used yet */
	uint64_t count;
	uint64_t first_held; /* number of the first message held back */
	bool to_stderr, to_syslog, paused;
	void (*added)(void *context); /* the listener; or NULL */
	void *context;
	struct log *parent; /* or NULL */
	const char *name;   /* in the parent */
};

struct log *log_new(bool to_stderr)
{
	struct log *log = calloc(1, sizeof(*log));

	if (!log)
		return NULL;
	pthread_mutex_init(&log->lock, NULL);
	log->to_stderr = to_stderr;
	/* If no service listens, each syslog() would try to open a new socket, which the system
	 * call filter denies (syscall_filter.h). */
	log->to_syslog = !to_stderr && access(_PATH_LOG, F_OK) == 0;
	return log;
}

struct log *log_new_child(struct log *parent, const char *name)
{
	struct log *log = log_new(false);

	if (log) {
		log->parent = parent;
		log->name = name;
	}
	return log;
}

void log_free(struct log *log)
{
	if (!log)
		return;
	for (size_t i = 0; i < KEPT; i++)
		free(log->lines[i]);
	pthread_mutex_destroy(&log->lock);
	free(log);
}

void log_set_listener(struct log *log, void (*added)(void *context), void *context)
{
	pthread_mutex_lock(&log->lock);
	log->added = added;
	log->context = context;
	pthread_mutex_unlock(&log->lock);
}

__attribute__((format(printf, 1, 0))) static char *make_line(const char *format, va_list args)
{
	char *message, *line, stamp[32];
	const time_t now = time(NULL);
	struct tm tm;

	if (vasprintf(&message, format, args) < 0)
		return NULL;
	make_printable(message);
	localtime_r(&now, &tm);
	strftime(stamp, sizeof(stamp), "%Y-%m-%d %H:%M:%S", &tm);
	if (asprintf(&line, "%s %s\n", stamp, message) < 0)
		line = NULL;
	free(message);
	return line;
}

void log_error(const char *format, ...)
{
	char *message;
	va_list args;

	va_start(args, format);
	if (vasprintf(&message, format, args) < 0)
		message = NULL;
	va_end(args);
	if (message)
		make_printable(message);
	fprintf(stderr, "organfs: %s\n", message ? message : "out of memory");
	free(message);
}

void log_vadd(struct log *log, bool reports, const char *format, va_list args)
{
	char *line = make_line(format, args);
	const char *message = line ? line + STAMP : NULL;

	if (!line)
		return;
	pthread_mutex_lock(&log->lock);
	if (log->parent)
		(reports ? log_report : log_add)(log->parent, "%s/%.*s", log->name,
						 (int)strcspn(message, "\n"), message);
	else if ((log->to_stderr || reports) && !log->paused)
		fprintf(stderr, "organfs: %s", message);
	if (!log->parent && log->to_syslog)
		syslog(LOG_DAEMON | LOG_NOTICE, "%s", message);
	free(log->lines[log->count % KEPT]);
	log->lines[log->count % KEPT] = line;
	log->count++;
	if (log->added)
		log->added(log->context);
	pthread_mutex_unlock(&log->lock);
}

void log_add(struct log *log, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log_vadd(log, false, format, args);
	va_end(args);
}

void log_report(struct log *log, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log_vadd(log, true, format, args);
	va_end(args);
}

void log_pause(struct log *log)
{
	pthread_mutex_lock(&log->lock);
	log->paused = true;
	log->first_held = log->count;
	pthread_mutex_unlock(&log->lock);
}

void log_resume(struct log *log)
{
	pthread_mutex_lock(&log->lock);
	if (log->count - log->first_held > KEPT)
		log->first_held = log->count - KEPT;
	for (; log->to_stderr && log->first_held < log->count; log->first_held++)
		fprintf(stderr, "organfs: %s", log->lines[log->first_held % KEPT] + STAMP);
	log->paused = false;
	pthread_mutex_unlock(&log->lock);
}

uint64_t log_count(struct log *log)
{
	uint64_t count;

	pthread_mutex_lock(&log->lock);
	count = log->count;
	pthread_mutex_unlock(&log->lock);
	return count;
}

bool log_line_is_on(const char *line, const char *title)
{
	const size_t n = strlen(title);
	const char *message = line + STAMP;

	if (strlen(line) < STAMP)
		return false;
	return !n || (strncmp(message, title, n) == 0 &&
		      (message[n] == '/' || strncmp(message + n, ": ", 2) == 0));
}

char *log_last(struct log *log, const char *title)
{
	const char *line = NULL;
	char *copy;
	uint64_t oldest, i;

	pthread_mutex_lock(&log->lock);
	oldest = log->count > KEPT ? log->count - KEPT : 0;
	for (i = log->count; i > oldest && !line; i--)
		if (log_line_is_on(log->lines[(i - 1) % KEPT], title))
			line = log->lines[(i - 1) % KEPT];
	copy = line ? strndup(line + STAMP, strcspn(line + STAMP, "\n")) : NULL;
	pthread_mutex_unlock(&log->lock);
	return copy;
}

char *log_text(struct log *log, size_t *size)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, size);
	uint64_t i;

	if (!out)
		return NULL;
	pthread_mutex_lock(&log->lock);
	for (i = log->count > KEPT ? log->count - KEPT : 0; i < log->count; i++)
		fputs(log->lines[i % KEPT], out);
	pthread_mutex_unlock(&log->lock);
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}
