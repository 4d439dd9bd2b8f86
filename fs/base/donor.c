/* SPDX-License-Identifier: MIT */
/* donor.c - see donor.h. */
#include "fs/base/donor.h"
#include "fs/base/fingerprint.h"
#include "fs/storage/backing.h"
#include "fs/util/paths.h"
#include "fs/util/url.h"
#include "gguf/error.h"
#include "gguf/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct donor {
	atomic_uint refs;
	char *path, *tensor;
	size_t tensor_length;
	const char *view;     /* NULL: none; otherwise a static name */
	struct backing *file; /* NULL: not held open */
	/* Identifies the file at path: stat or fingerprint. Without either the file is not
	 * opened. */
	bool has_stat;
	struct stat stat;
	char fingerprint[FINGERPRINT_TEXT];
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

struct donor *donor_from_backing(struct backing *file, const char *tensor, size_t n)
{
	struct donor *donor = make(backing_path(file), tensor, n);

	if (donor) {
		donor->file = backing_ref(file);
		donor->has_stat = true;
		donor->stat = *backing_stat(file);
	}
	return donor;
}

struct donor *donor_from_path(const char *path, const struct stat *stat, const char *tensor,
			      size_t n)
{
	struct donor *donor = make(path, tensor, n);

	if (donor && stat) {
		donor->has_stat = true;
		donor->stat = *stat;
	}
	return donor;
}

struct donor *donor_from_record(const char *path, const char *fingerprint, const char *tensor,
				size_t n)
{
	struct donor *donor = make(path, tensor, n);

	if (donor)
		donor_set_fingerprint(donor, fingerprint);
	return donor;
}

static struct donor *copy(const struct donor *of)
{
	struct donor *donor = make(of->path, of->tensor, of->tensor_length);

	if (donor) {
		donor->view = of->view;
		donor->file = of->file ? backing_ref(of->file) : NULL;
		donor->has_stat = of->has_stat;
		donor->stat = of->stat;
		donor_set_fingerprint(donor, of->fingerprint);
	}
	return donor;
}

struct donor *donor_from_view(const struct donor *of, const char *view)
{
	struct donor *donor = of ? copy(of) : NULL;

	if (donor)
		donor->view = view;
	return donor;
}

struct donor *donor_with_fingerprint(const struct donor *of, const char *fingerprint)
{
	struct donor *donor = copy(of);

	if (donor)
		donor_set_fingerprint(donor, fingerprint);
	return donor;
}

void donor_set_fingerprint(struct donor *donor, const char *fingerprint)
{
	snprintf(donor->fingerprint, sizeof(donor->fingerprint), "%s", fingerprint);
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

const char *donor_fingerprint(const struct donor *donor)
{
	return donor->fingerprint;
}

const char *donor_view(const struct donor *donor)
{
	return donor->view;
}

struct backing *donor_backing(const struct donor *donor)
{
	return donor->file;
}

static bool same_name(const struct donor *a, const struct donor *b)
{
	return !a->tensor == !b->tensor && strcmp(a->path, b->path) == 0;
}

bool donor_same_file(const struct donor *a, const struct donor *b)
{
	if (!same_name(a, b))
		return false;
	if (a->has_stat && b->has_stat)
		return paths_same_file(&a->stat, &b->stat);
	if (a->fingerprint[0] || b->fingerprint[0])
		return strcmp(a->fingerprint, b->fingerprint) == 0;
	return a->has_stat == b->has_stat;
}

static bool is_of_stat(const struct donor *donor)
{
	return donor->has_stat && !donor->fingerprint[0];
}

static bool is_of_fingerprint(const struct donor *donor)
{
	return !donor->has_stat && donor->fingerprint[0];
}

bool donor_may_be_same_file(const struct donor *a, const struct donor *b)
{
	return donor_same_file(a, b) ||
	       (same_name(a, b) && ((is_of_stat(a) && is_of_fingerprint(b)) ||
				    (is_of_stat(b) && is_of_fingerprint(a))));
}

/* The path was resolved earlier. A link in it now could lead anywhere, also into this mount, for
 * which its own threads must not wait. */
static int open_path(const char *path)
{
	const struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
				      .resolve = RESOLVE_NO_SYMLINKS };
	struct stat stat;

	/* Opening a device may have side effects. */
	if (lstat(path, &stat) == 0 && !S_ISREG(stat.st_mode) && !S_ISLNK(stat.st_mode)) {
		errno = EINVAL;
		return -1;
	}
	return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

/* Does the file have that fingerprint? */
static bool has_fingerprint(struct backing *file, const char *wanted)
{
	const struct source source = backing_source(file);
	struct gguf *gguf = gguf_read(&source, NULL);
	char text[FINGERPRINT_TEXT];
	const bool has = gguf && fingerprint(file, gguf, text) == 0 && strcmp(text, wanted) == 0;

	gguf_free(gguf);
	return has;
}

struct backing *donor_open(const struct donor *donor, struct error *err)
{
	struct backing *file;
	int fd;

	if (donor->file)
		return backing_ref(donor->file);
	if (!donor->has_stat && !donor->fingerprint[0]) {
		error_set(err, ELOOP, ERROR_NO_OFFSET, "the path leads into this mount");
		return NULL;
	}
	/* Do not contact a server for a model that is not mounted. */
	if (url_is_remote(donor->path)) {
		error_set(err, EREMOTE, ERROR_NO_OFFSET,
			  "the URL is not mounted, so it is not read");
		return NULL;
	}
	if (donor->path[0] != '/') {
		error_set(err, ENOENT, ERROR_NO_OFFSET, "its path is unknown");
		return NULL;
	}
	fd = open_path(donor->path);
	if (fd < 0) {
		error_errno(err, errno);
		return NULL;
	}
	file = backing_fdopen(fd, donor->path, err);
	if (file && !(donor->has_stat ? paths_same_file(backing_stat(file), &donor->stat)
				      : has_fingerprint(file, donor->fingerprint))) {
		backing_unref(file);
		error_set(err, ESTALE, ERROR_NO_OFFSET,
			  "another file has that name now, or it was written to");
		return NULL;
	}
	return file;
}
