/* SPDX-License-Identifier: MIT */
/* log.h - a log that keeps the last 1,000 messages, and also sends each to stderr or syslog. A log
 * can be the child of another one. */
#ifndef FS_UTIL_LOG_H
#define FS_UTIL_LOG_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct log; /* any thread may use it */

/* to_stderr: send messages to stderr, otherwise to syslog. NULL: out of memory. */
struct log *log_new(bool to_stderr);

/* A log that also sends messages to `parent`, after "NAME/". Both are borrowed. NULL: out of
 * memory. */
struct log *log_new_child(struct log *parent, const char *name);

void log_free(struct log *log);

/* Set the listener: added, called after each message, also of children; NULL: none. A former
 * listener does not run any more when log_set_listener() returns. added runs with the locks of both
 * logs held, so that log_count() includes the message when added returns; it must not add a
 * message. */
void log_set_listener(struct log *log, void (*added)(void *context), void *context);

/* Print one line on standard error, after "organfs: ". Control characters are replaced. */
void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Add one line. Control characters are replaced, so that the message stays one line. */
void log_add(struct log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* log_add(), but also to stderr if messages go to syslog. For messages that the user has to see
 * before the process goes into the background. */
void log_report(struct log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* log_report() if reports is true, otherwise log_add(), with arguments as for vprintf(3). */
void log_vadd(struct log *log, bool reports, const char *format, va_list args)
	__attribute__((format(printf, 3, 0)));

/* Hold back messages for stderr, where a line of progress stands, until log_resume(). */
void log_pause(struct log *log);
void log_resume(struct log *log);

/* Number of messages so far: log_text() changes when this does. */
uint64_t log_count(struct log *log);

/* The newest message on a file, which begins with the title and ": ", or on any file below a
 * directory, which begins with the title and "/"; the newest of all for the title "". To free.
 * NULL: the log has no such message, or out of memory. */
char *log_last(struct log *log, const char *title);

/* Is the line, of log_text(), such a message? */
bool log_line_is_on(const char *line, const char *title);

/* The messages that are kept, oldest first, one per line with its local time. Returns *size bytes
 * to free; NULL: out of memory. */
char *log_text(struct log *log, size_t *size);

#endif
