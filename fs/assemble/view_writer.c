/* SPDX-License-Identifier: MIT */
/* view_writer.c - see view_writer.h. */
#include "fs/assemble/view_writer.h"
#include "fs/assemble/computed_pieces.h"
#include "fs/assemble/copy_range.h"
#include "fs/storage/backing.h"
#include "fs/storage/view.h"
#include "fs/util/array_grown.h"
#include "fs/util/progress.h"
#include "gguf/error.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* A part of the view. */
struct run {
	uint64_t at;
	struct extent extent;
	uint64_t first, end; /* bytes already in the file, as offsets in the view */
};

struct view_writer {
	struct view *view;
	struct copy_range share;
	struct computed_pieces pieces;
	struct progress *progress;
	struct run *runs; /* in order, without gaps */
	size_t n, room;
};

static int failed(struct error *err, int code, const char *what)
{
	return error_set(err, code, ERROR_NO_OFFSET, "%s: %s", what, strerror(code));
}

static int fail_reading(const struct view_writer *fill, struct error *err)
{
	const struct backing *last = NULL;
	bool changed = false;

	for (size_t i = 0; !changed && i < fill->n; i++) {
		struct backing *file = fill->runs[i].extent.backing;

		/* The kernel has copied from the file without a check. */
		if (file && file != last) {
			backing_check(file);
			changed = backing_was_changed(file);
		}
		last = file;
	}
	return error_set(err, EIO, ERROR_NO_OFFSET, "the base or a graft can no longer be read: %s",
			 changed ? "it was changed on disk since it was mounted"
				 : ".log says which, and why");
}

static int fail_interrupted(struct error *err)
{
	return error_set(err, EINTR, ERROR_NO_OFFSET, "interrupted");
}

static int list_runs(struct view_writer *fill)
{
	struct extent extent;

	for (uint64_t at = 0; view_extent(fill->view, at, &extent); at += extent.length) {
		struct run *runs = array_grown(fill->runs, fill->n, &fill->room, sizeof(*runs));

		if (!runs)
			return -ENOMEM;
		fill->runs = runs;
		fill->runs[fill->n++] = (struct run){ at, extent, at, at };
	}
	return 0;
}

/* Check that the files under the view have the bytes that were put in force. Called after the copy
 * too, since only then shared and copied bytes are known to be right. */
static int check_files(const struct view_writer *fill, struct error *err)
{
	const struct backing *last = NULL;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < fill->n; i++) {
		struct backing *file = fill->runs[i].extent.backing;

		if (file && file != last)
			rc = backing_verify(file, fill->progress->cancel);
		if (file && file != last && rc == 0)
			rc = backing_check(file);
		last = file;
	}
	if (rc == -EINTR)
		return fail_interrupted(err);
	return rc < 0 ? fail_reading(fill, err) : 0;
}

static bool is_in_place(const struct run *run, const struct backing *file)
{
	return run->extent.backing == file && run->extent.offset == run->at;
}

/* The file that has more than half of the view's bytes at the same offsets; NULL: none. The loop is
 * the majority vote algorithm (Boyer, Moore) weighted by bytes, followed by a count. */
static struct backing *find_template(const struct view_writer *fill)
{
	struct backing *file = NULL;
	uint64_t weight = 0, same = 0;

	for (size_t i = 0; i < fill->n; i++) {
		const struct run *run = &fill->runs[i];
		const bool other = !file || !is_in_place(run, file);

		if (!other) {
			weight += run->extent.length;
		} else if (weight >= run->extent.length) {
			weight -= run->extent.length;
		} else {
			weight = run->extent.length - weight;
			file = is_in_place(run, run->extent.backing) ? run->extent.backing : NULL;
		}
	}
	for (size_t i = 0; file && i < fill->n; i++)
		if (is_in_place(&fill->runs[i], file))
			same += fill->runs[i].extent.length;
	return file && same > view_size(fill->view) / 2 ? file : NULL;
}

/* Clone that file as a start. */
static int clone_template(struct view_writer *fill)
{
	struct backing *file = find_template(fill);
	const int fd = file ? backing_fd_get(file) : -1;
	const int rc = fd >= 0 ? copy_range_clone_file(&fill->share, fd) : 0;

	if (fd >= 0)
		backing_fd_put(file);
	if (rc <= 0)
		return rc;
	for (size_t i = 0; i < fill->n; i++) {
		struct run *run = &fill->runs[i];

		if (!is_in_place(run, file))
			continue;
		run->end = run->at + run->extent.length;
		progress_add(fill->progress, &fill->progress->shared, run->extent.length);
	}
	return 0;
}

static int clone_run(struct view_writer *fill, struct run *run)
{
	const struct extent *extent = &run->extent;
	const int fd = backing_fd_get(extent->backing);
	int rc;

	if (fd < 0)
		return 0;
	rc = copy_range_clone(&fill->share, fd, extent->offset, extent->length, run->at,
			      &run->first, &run->end);
	backing_fd_put(extent->backing);
	return rc;
}

static int clone_runs(struct view_writer *fill)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < fill->n; i++) {
		struct run *run = &fill->runs[i];

		if (progress_is_cancelled(fill->progress))
			return -EINTR;
		if (run->extent.backing && run->first == run->end)
			rc = clone_run(fill, run);
	}
	return rc;
}

/* Reserve space for all bytes that are not in the file yet, from the end of each part that is to
 * the next one. */
static int reserve(struct view_writer *fill)
{
	uint64_t from = 0;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < fill->n; i++) {
		const struct run *run = &fill->runs[i];

		if (run->first == run->end)
			continue;
		rc = copy_range_reserve(&fill->share, from, run->first - from);
		from = run->end;
	}
	return rc < 0 ? rc : copy_range_reserve(&fill->share, from, view_size(fill->view) - from);
}

static int put_bytes(struct view_writer *fill, const struct run *run, uint64_t from, uint64_t to)
{
	struct backing *file = run->extent.backing;
	int fd, rc;

	if (from == to)
		return 0;
	if (!file)
		return computed_pieces_write(&fill->pieces, from, to);
	fd = backing_fd_get(file);
	if (fd < 0)
		return -ENODATA;
	rc = copy_range_copy(&fill->share, fd, run->extent.offset + (from - run->at), to - from,
			     from);
	backing_fd_put(file);
	return rc;
}

static int put_runs(struct view_writer *fill)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < fill->n; i++) {
		const struct run *run = &fill->runs[i];

		rc = put_bytes(fill, run, run->at, run->first);
		if (rc == 0)
			rc = put_bytes(fill, run, run->end, run->at + run->extent.length);
	}
	return rc;
}

static int run_view_writer(struct view_writer *fill, struct error *err)
{
	int rc = list_runs(fill);

	if (rc < 0)
		return failed(err, -rc, "the plan");
	/* Find a changed file before all is copied. */
	rc = check_files(fill, err);
	if (rc < 0)
		return rc;
	rc = clone_template(fill);
	/* The cloned file may be longer. */
	if (rc == 0 && ftruncate(fill->share.fd, (off_t)view_size(fill->view)) < 0)
		rc = -errno;
	if (rc == 0)
		rc = clone_runs(fill);
	if (rc == 0)
		rc = reserve(fill);
	if (rc == 0)
		rc = put_runs(fill);
	if (rc == -EINTR)
		return fail_interrupted(err);
	if (rc == -ENODATA)
		return fail_reading(fill, err);
	return rc < 0 ? failed(err, -rc, "writing") : check_files(fill, err);
}

int view_write(int fd, struct view *view, struct progress *progress, struct error *err)
{
	struct view_writer fill = { .view = view,
				    .pieces = { .view = view, .share = &fill.share },
				    .progress = progress };
	int rc = copy_range_init(&fill.share, fd, progress);

	rc = rc < 0 ? failed(err, -rc, "the buffer") : run_view_writer(&fill, err);
	computed_pieces_release(&fill.pieces);
	copy_range_release(&fill.share);
	free(fill.runs);
	return rc;
}
