/* SPDX-License-Identifier: MIT */
/* terminal_progress.h - a line with the progress of a command, if standard error is a terminal. A
 * thread draws it, beginning after 0.2 seconds. */
#ifndef FS_COMMANDS_TERMINAL_PROGRESS_H
#define FS_COMMANDS_TERMINAL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct log;

struct terminal_progress; /* of one thread */

/* Get the progress of the job; called in another thread. Returns false if it is not known yet. */
typedef bool terminal_progress_look(void *context, uint64_t *done, uint64_t *total);

/* Begin to draw the line, after name. noun: as of progress_text(). Messages of the log, which may
 * be NULL, wait until the end. All is borrowed. NULL, without a terminal or memory, draws nothing
 * and holds no message. */
struct terminal_progress *terminal_progress_begin(const char *name, const char *noun,
						  terminal_progress_look *look, void *context,
						  struct log *log);

/* Erase the line. NULL is fine. */
void terminal_progress_end(struct terminal_progress *progress);

#endif
