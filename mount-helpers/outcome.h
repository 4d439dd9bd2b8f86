/* SPDX-License-Identifier: MIT */
/* outcome.h - prints the status of a daemon (fs/mount/unmount_status.h) for people. The status is
 * untrusted: control characters are replaced, and at most 16 MiB are read. */
#ifndef MOUNT_HELPERS_OUTCOME_H
#define MOUNT_HELPERS_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Print n bytes of a text, which ends with a NUL, cut to a number of letters. Characters that a
 * terminal could obey, and bytes that are no UTF-8, are printed as '?'. */
void outcome_put(FILE *out, const char *text, size_t n, size_t letters);

/* Read the whole status. Returns a text to free, or NULL. */
char *outcome_read(int status);

struct outcome_state {
	bool is_mounted; /* the daemon has not begun its end */
	uint64_t done, total, milliseconds;
};

/* Parse the first line. Returns false if it is malformed. */
bool outcome_state(const char *text, struct outcome_state *state);

/* Print the daemon's progress for a terminal into line of n bytes. Returns false if there
 * is none. */
bool outcome_progress(const char *text, char *line, size_t n);

/* Print the lines of a daemon that has ended: failures, lost files and impossible models go to err,
 * after name; written files go to out, unless it is NULL. Returns the exit status: 0, 1 if anything
 * was not written, or else 2 if .check calls a written model impossible. */
int outcome_print(const char *text, const char *name, FILE *out, FILE *err);

#endif
