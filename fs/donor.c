/* SPDX-License-Identifier: MIT */
/* donor.c - see donor.h. */
#include "fs/donor.h"
#include "fs/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct donor {
	atomic_uint refs;
	char *path, *tensor;
	size_t tensor_length;
	struct backing *file; /* NULL: not held open */
	bool can_be_opened;
	struct stat stat;
};

static struct donor *make(const char *path, const char *tensor, size_t n)
{
	struct donor *donor = calloc(1, sizeof(*donor));

	if (!donor)
		return NULL;
	atomic_init(&donor->refs, 1);
	donor->path = strdup(path);
	if (tensor)
		donor->tensor = calloc(1, n + 1);
	if (!donor->path || (tensor && !donor->tensor)) {
		donor_unref(donor);
		return NULL;
	}
	if (tensor)
		memcpy(donor->tensor, tensor, n);
	donor->tensor_length = n;
	return donor;
}

struct donor *donor_of_backing(struct backing *file, const char *tensor, size_t n)
{
	struct donor *donor = make(backing_path(file), tensor, n);

	if (donor) {
		donor->file = backing_ref(file);
		donor->can_be_opened = true;
		donor->stat = *backing_stat(file);
	}
	return donor;
}

struct donor *donor_of_path(const char *path, const struct stat *stat, const char *tensor, size_t n)
{
	struct donor *donor = make(path, tensor, n);

	if (donor && stat) {
		donor->can_be_opened = true;
		donor->stat = *stat;
	}
	return donor;
}

struct donor *donor_ref(struct donor *donor)
{
	if (donor)
		atomic_fetch_add(&donor->refs, 1);
	return donor;
}

void donor_unref(struct donor *donor)
{
	if (!donor || atomic_fetch_sub(&donor->refs, 1) != 1)
		return;
	backing_unref(donor->file);
	free(donor->path);
	free(donor->tensor);
	free(donor);
}

const char *donor_path(const struct donor *donor)
{
	return donor->path;
}

const char *donor_tensor(const struct donor *donor, size_t *n)
{
	*n = donor->tensor_length;
	return donor->tensor;
}

bool donor_same_file(const struct donor *a, const struct donor *b)
{
	return !a->tensor == !b->tensor && a->can_be_opened == b->can_be_opened &&
	       paths_same_file(&a->stat, &b->stat) && strcmp(a->path, b->path) == 0;
}

/* The path is a real one: a link that has come into it leads who knows where, perhaps into our own
 * mount, for which we must not wait. */
static int open_path(const char *path)
{
	const struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
				      .resolve = RESOLVE_NO_SYMLINKS };

	return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

struct backing *donor_open(const struct donor *donor, struct error *err)
{
	struct backing *file;
	int fd;

	if (donor->file)
		return backing_ref(donor->file);
	if (!donor->can_be_opened) {
		error_set(err, ELOOP, ERROR_NO_OFFSET, "it leads back into this mount");
		return NULL;
	}
	fd = open_path(donor->path);
	if (fd < 0) {
		error_set(err, errno, ERROR_NO_OFFSET, "%s", strerror(errno));
		return NULL;
	}
	file = backing_adopt(fd, donor->path, err);
	if (file && !paths_same_file(backing_stat(file), &donor->stat)) {
		backing_unref(file);
		error_set(err, ESTALE, ERROR_NO_OFFSET,
			  "another file has that name now, or it was written to");
		return NULL;
	}
	return file;
}
