/* SPDX-License-Identifier: MIT */
/* unmount_status.c - see unmount_status.h. */
#include "fs/mount/unmount_status.h"
#include "fs/util/io.h"
#include "gguf/printable.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* Since Linux 6.3; some <sys/mman.h> lack it. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

struct unmount_status {
	int fd;
	uint64_t end; /* offset behind the last line added */
	char name[32];
};

/* Write the first line. Returns its length. */
static int write_state(struct unmount_status *status, const char *state, uint64_t done,
		       uint64_t total, uint64_t milliseconds)
{
	char line[128];
	const int n =
		snprintf(line, sizeof(line), "%-10s %20" PRIu64 " %20" PRIu64 " %20" PRIu64 "\n",
			 state, done, total, milliseconds);

	/* Ignore errors: the file is in memory, and only a progress display would be lost. */
	io_write(status->fd, line, (size_t)n, 0);
	return n;
}

static int open_memory_file(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(name, MFD_CLOEXEC);
	return fd;
}

struct unmount_status *unmount_status_new(void)
{
	struct unmount_status *status = calloc(1, sizeof(*status));
	uint64_t number;

	if (!status)
		return NULL;
	if (getrandom(&number, sizeof(number), 0) != sizeof(number)) {
		free(status);
		return NULL;
	}
	snprintf(status->name, sizeof(status->name), "organfs-%016" PRIx64, number);
	status->fd = open_memory_file(status->name);
	if (status->fd < 0 || fchmod(status->fd, 0600) < 0 || flock(status->fd, LOCK_EX) < 0) {
		unmount_status_free(status);
		return NULL;
	}
	status->end = (uint64_t)write_state(status, "mounted", 0, 0, 0);
	return status;
}

void unmount_status_free(struct unmount_status *status)
{
	if (!status)
		return;
	if (status->fd >= 0)
		close(status->fd);
	free(status);
}

int unmount_status_text(const struct unmount_status *status, char *text, size_t n)
{
	if (!status)
		return -ENODATA;
	return snprintf(text, n, "%d %d %s", (int)getpid(), status->fd, status->name);
}

void unmount_status_progress(struct unmount_status *status, uint64_t done, uint64_t total,
			     uint64_t milliseconds)
{
	if (status)
		write_state(status, "finishing", done, total, milliseconds);
}

void unmount_status_add(struct unmount_status *status, const char *word, const char *text)
{
	char *line;
	int n;

	if (!status)
		return;
	n = asprintf(&line, "%s\t%s ", word, text);
	if (n < 0)
		return;
	make_printable(line + strlen(word) + 1);
	n = (int)strlen(line);
	line[n - 1] = '\n';
	if (io_write(status->fd, line, (size_t)n, status->end) == 0)
		status->end += (uint64_t)n;
	free(line);
}
