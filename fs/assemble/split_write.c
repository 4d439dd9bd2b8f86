/* SPDX-License-Identifier: MIT */
/* split_write.c - see split_write.h. */
#include "fs/assemble/split_write.h"
#include "fs/assemble/atomic_write.h"
#include "fs/storage/view.h"
#include "gguf/bytes.h"
#include "gguf/divide.h"
#include "gguf/error.h"
#include "gguf/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char numbers[] = SPLIT_WRITE_NUMBERS;
static const char word[] = " split=";

static bool parse_size(const char *text, uint64_t *size)
{
	static const char units[] = "KMGT";
	const char *unit;
	char *end;

	errno = 0;
	if (*text < '1' || *text > '9')
		return false;
	*size = strtoull(text, &end, 10);
	if (errno)
		return false;
	unit = *end ? strchr(units, *end) : NULL;
	for (const char *u = units; unit && u <= unit; u++)
		if (!mul_u64(*size, 1000, size))
			return false;
	return unit ? end[1] == '\0' : *end == '\0';
}

int split_write_parse(const char *text, size_t *n, uint64_t *most, struct error *err)
{
	const size_t tail = sizeof(numbers) - 1;
	const char *size = NULL, *has = strstr(text, "%05d-of-%05d");

	for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
		size = at;
	*n = size ? (size_t)(size - text) : strlen(text);
	/* The name of a single file may contain either. */
	if (!has)
		return 0;
	if (!size || !parse_size(size + sizeof(word) - 1, most))
		return error_set(err, EINVAL, ERROR_NO_OFFSET,
				 "a name for shards is followed by the limit of tensor bytes in "
				 "each, as in \"out%s split=4G\"",
				 numbers);
	if (*n <= tail || memcmp(text + *n - tail, numbers, tail) != 0 ||
	    has != text + *n - tail + 1)
		return error_set(err, EINVAL, ERROR_NO_OFFSET,
				 "a name for shards has to end in %s, or no program finds them",
				 numbers);
	return 1;
}

static size_t count_segments(const struct divide_part *part, const struct view *whole)
{
	size_t n = 0;

	for (size_t i = 0; i < part->n_pieces; i++) {
		const struct divide_piece *piece = &part->pieces[i];

		n += piece->kind == DIVIDE_WHOLE
			     ? view_segments(whole, piece->offset, piece->length, NULL)
			     : 1;
	}
	return n;
}

/* The view of a shard. It takes the part's header, and keeps whole if it shows memory of it. NULL:
 * out of memory. */
static struct view *view_of_part(struct divide_part *part, struct view *whole)
{
	struct segment *segments = calloc(count_segments(part, whole) + 1, sizeof(*segments));
	struct view *view;
	bool borrows = false;
	size_t n = 0;

	if (!segments)
		return NULL;
	for (size_t i = 0; i < part->n_pieces; i++) {
		const struct divide_piece *piece = &part->pieces[i];
		const size_t first = n;

		if (piece->kind == DIVIDE_WHOLE)
			n += view_segments(whole, piece->offset, piece->length, segments + n);
		else if (piece->kind == DIVIDE_ZEROS)
			segments[n++] =
				(struct segment){ .kind = SEGMENT_ZEROS, .length = piece->length };
		else
			segments[n++] = (struct segment){ .kind = SEGMENT_MEMORY,
							  .length = piece->length,
							  .memory = part->header + piece->offset };
		for (size_t k = first; piece->kind == DIVIDE_WHOLE && k < n; k++)
			borrows |= segments[k].kind == SEGMENT_MEMORY;
	}
	view = view_new(segments, n, part->header);
	part->header = NULL;
	free(segments);
	if (view && borrows)
		view_keep_alive(view, whole);
	return view;
}

/* Path of shard number k of n, to free. */
static char *path_of(const char *path, uint32_t k, uint32_t n)
{
	const size_t stem = strlen(path) - (sizeof(numbers) - 1);
	char *name;

	return asprintf(&name, "%.*s-%05" PRIu32 "-of-%05" PRIu32 ".gguf", (int)stem, path, k + 1,
			n) < 0
		       ? NULL
		       : name;
}

void split_views_free(struct view **views, uint32_t n)
{
	for (uint32_t k = 0; views && k < n; k++)
		view_unref(views[k]);
	free(views);
}

/* Read the header; zeros stand for all further bytes, which gguf_read() reads but does not parse,
 * so that no tensor is read or computed. */
static int read_header(void *context, void *bytes, size_t n, uint64_t offset)
{
	const ssize_t got = view_read(context, bytes, n, offset);

	if (got < 0)
		return (int)got;
	memset((char *)bytes + got, 0, n - (size_t)got);
	return 0;
}

int split_views(struct view *whole, struct view *header, uint64_t most, struct view ***views,
		uint32_t *n, struct error *err)
{
	const struct source source = { read_header, header, view_size(whole) };
	struct gguf *gguf = gguf_read(&source, err);
	struct division division;
	struct view **made;
	bool all;
	int rc;

	if (!gguf)
		return -err->code;
	rc = divide_build(gguf, most, &division, err);
	gguf_free(gguf);
	if (rc < 0)
		return rc;
	made = calloc(division.n, sizeof(struct view *));
	all = made != NULL;
	for (uint32_t k = 0; all && k < division.n; k++) {
		made[k] = view_of_part(&division.parts[k], whole);
		all = made[k] != NULL;
	}
	if (all) {
		*views = made;
		*n = division.n;
	} else {
		split_views_free(made, division.n);
		rc = error_errno(err, ENOMEM);
	}
	divide_release(&division);
	return rc;
}

static int write_views(struct view **views, uint32_t n, const struct write_target *target,
		       struct progress *progress, struct error *err)
{
	struct write_file *files = calloc(n, sizeof(*files));
	struct write_target each = *target;
	bool all = files != NULL;
	int rc;

	each.replace = REPLACE_NONE;
	each.several = true;
	each.written = NULL;
	for (uint32_t k = 0; all && k < n; k++) {
		files[k].path = path_of(target->path, k, n);
		files[k].view = views[k];
		all = files[k].path != NULL;
	}
	rc = all ? atomic_write_files(files, n, &each, progress, err) : error_errno(err, ENOMEM);
	for (uint32_t k = 0; files && k < n; k++)
		free(files[k].path);
	free(files);
	return rc;
}

int split_write(struct view *view, const struct write_target *target, uint64_t most,
		struct progress *progress, struct error *err)
{
	struct view **views;
	uint32_t n;
	int rc = split_views(view, view, most, &views, &n, err);

	if (rc < 0)
		return rc;
	rc = write_views(views, n, target, progress, err);
	split_views_free(views, n);
	return rc < 0 ? rc : (int)n;
}
