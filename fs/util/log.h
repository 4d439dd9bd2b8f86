/* SPDX-License-Identifier: MIT */
/* log.h - the last 1,000 messages, also sent to stderr or syslog as they come. A log can be part of
 * another one. */
#ifndef FS_UTIL_LOG_H
#define FS_UTIL_LOG_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct log; /* any thread may use it */

/* to_stderr: messages go there, otherwise to syslog. NULL: out of memory. */
struct log *log_new(bool to_stderr);

/* A log whose messages also go to another, with "NAME/" before them; both are borrowed. NULL:
 * out of memory. */
struct log *log_new_child(struct log *whole, const char *name);

void log_free(struct log *log);

/* Call added for each message from now on, also of children, with the locks of both logs held:
 * log_count() waits until the message counts. added adds no message. NULL: call none; added does
 * not run any more when this returns. */
void log_set_listener(struct log *log, void (*added)(void *context), void *context);

/* One line on standard error, after "organfs: ", in which controls are replaced. */
void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Add one line. Control bytes are replaced, so that it stays one. */
void log_add(struct log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same, on stderr also where messages go to syslog: for what the user is to be told before the
 * process goes into the background. */
void log_report(struct log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* One of both, with arguments as of vprintf(3). */
void log_vadd(struct log *log, bool reports, const char *format, va_list args)
	__attribute__((format(printf, 3, 0)));

/* Messages for stderr wait until log_resume(), which prints them: a line of progress stands there.
 */
void log_pause(struct log *log);
void log_resume(struct log *log);

/* How many messages there have been: the text changes when this does. */
uint64_t log_count(struct log *log);

/* The newest message on a file, which begins with its title and ": ", or on any file below a
 * directory, which begins with the title and "/"; of all for the title "". To free. NULL: the log
 * has none, or out of memory. */
char *log_last(struct log *log, const char *title);

/* Is a line of log_text() such a message? */
bool log_line_is_on(const char *line, const char *title);

/* The messages that are kept, oldest first, one a line with its local time. Returns *size bytes to
 * free, NULL: out of memory. */
char *log_text(struct log *log, size_t *size);

#endif
