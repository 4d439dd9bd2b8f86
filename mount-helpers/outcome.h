/* SPDX-License-Identifier: MIT */
/* outcome.h - the status of a daemon (fs/mount/unmount_status.h) for people. Nothing in it is
 * trusted: what is printed of it has no controls, and more than 16 MiB are not looked at. */
#ifndef MOUNT_HELPERS_OUTCOME_H
#define MOUNT_HELPERS_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Print n bytes of a text, which ends with a NUL, in so many letters at most. What could be more
 * than text to a terminal, and what is no UTF-8, is '?'. */
void outcome_put(FILE *out, const char *text, size_t n, size_t letters);

/* All of it as text, to free. NULL: it cannot be read, or no memory. */
char *outcome_read(int status);

struct outcome_state {
	bool is_mounted; /* the daemon has not begun its end */
	uint64_t done, total, milliseconds;
};

/* The first line. False: it has not the form of one. */
bool outcome_state(const char *text, struct outcome_state *state);

/* How far the daemon is, as a line for a terminal, into line of n bytes. False: there is nothing to
 * say. */
bool outcome_progress(const char *text, char *line, size_t n);

/* Print the lines of a daemon that has ended: failures, losses and impossible models go to err
 * after name, files that were written to out, which may be NULL. Returns the exit status: 0, 1 if
 * anything was not written, or else 2 if .check calls a written model impossible. */
int outcome_print(const char *text, const char *name, FILE *out, FILE *err);

#endif
