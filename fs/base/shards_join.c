/* SPDX-License-Identifier: MIT */
/* shards_join.c - see shards.h: counts, and the joined model. */
#include "fs/base/shards.h"
#include "fs/base/shards_internal.h"
#include "fs/storage/backing.h"
#include "fs/util/time_order.h"
#include "gguf/error.h"
#include "gguf/gather.h"
#include "gguf/join.h"
#include "gguf/organ.h"
#include "gguf/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint32_t shards_count(const struct shards *shards)
{
	return shards->count;
}

bool shards_is_present(const struct shards *shards, uint32_t no)
{
	return shards->parts[no] && !shards->gone[no];
}

uint32_t shards_tensor_count(const struct shards *shards)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < shards->count; k++)
		if (shards_is_present(shards, k) && shards_tensors(shards, k))
			n += shards_tensors(shards, k)->n_tensors;
	return n;
}

uint64_t shards_tensor_total(const struct shards *shards)
{
	return shards->total;
}

bool shards_are_complete(const struct shards *shards)
{
	for (uint32_t k = 0; k < shards->count; k++)
		if (!shards_is_present(shards, k))
			return false;
	return !shards->total || shards_tensor_count(shards) == shards->total;
}

bool shards_find_tensor(const struct shards *shards, const char *name, size_t n, uint32_t *no)
{
	for (uint32_t k = 0; k < shards->count; k++) {
		const struct gguf *gguf = shards_tensors(shards, k);

		if (!gguf || !gguf_tensor(gguf, name, n))
			continue;
		*no = k;
		return true;
	}
	return false;
}

const struct gguf_tensor *shards_listed(const struct shards *shards, const char *name, size_t n)
{
	const struct shard_file *header = shards->organs ? shards->parts[0] : NULL;

	return header && header->gguf ? gguf_tensor(header->gguf, name, n) : NULL;
}

int shards_organ(const struct shards *shards, const char *name, size_t n, struct organ *organ,
		 struct error *err)
{
	struct source source;
	uint32_t no;

	if (!shards->organs || !shards_find_tensor(shards, name, n, &no))
		return error_errno(err, ENOENT);
	source = backing_source(shards->parts[no]->file);
	return organ_parse(&source, organ, err);
}

bool shards_has_file(const struct shards *shards, const struct stat *stat)
{
	for (uint32_t k = 0; k < shards->count; k++) {
		const struct stat *one =
			shards->parts[k] ? backing_stat(shards->parts[k]->file) : NULL;

		if (one && one->st_dev == stat->st_dev && one->st_ino == stat->st_ino)
			return true;
	}
	return false;
}

/* The bytes of a GGUF that exists only as shards. */
struct shards_backing {
	struct join join;
	struct shards_backing_head head;
	bool lent; /* shard 0 is a header outside the model, not one of its files */
	uint32_t n;
	struct backing *files[];
};

static void release(void *context)
{
	struct shards_backing *joined = context;

	for (uint32_t k = 0; k < joined->n; k++)
		backing_unref(joined->files[k]);
	join_release(&joined->join);
	free((uint8_t *)joined->head.bytes);
	free(joined);
}

static int read_piece(struct shards_backing *joined, const struct join_piece *piece, unsigned flags,
		      uint8_t *bytes, size_t n, uint64_t skip, const atomic_bool *stop)
{
	const struct shards_backing_head *head = &joined->head;
	struct backing *file;

	switch (piece->kind) {
	case JOIN_MEMORY:
		memcpy(bytes, joined->join.header + piece->offset + skip, n);
		return 0;
	case JOIN_ZEROS:
		memset(bytes, 0, n);
		return 0;
	case JOIN_SHARD:
		break;
	}
	if (piece->shard == 0 && head->bytes && piece->offset + skip + n <= head->length) {
		memcpy(bytes, head->bytes + piece->offset + skip, n);
		return 0;
	}
	file = joined->files[piece->shard];
	return backing_read_cancellable(file, flags, bytes, n, piece->offset + skip, stop);
}

static int read_at(void *context, unsigned flags, void *bytes, size_t n, uint64_t offset,
		   const atomic_bool *stop)
{
	struct shards_backing *joined = context;
	const struct join *join = &joined->join;
	uint8_t *to = bytes;

	if (offset > join->size || n > join->size - offset)
		return -EIO;
	while (n) {
		const struct join_piece *piece = join_find(join, offset);
		const uint64_t skip = offset - piece->start, left = piece->length - skip;
		const size_t part = left < n ? (size_t)left : n;
		const int rc = read_piece(joined, piece, flags, to, part, skip, stop);

		if (rc < 0)
			return rc;
		to += part;
		offset += part;
		n -= part;
	}
	return 0;
}

static struct backing *part_at(void *context, uint64_t *offset, uint64_t *length)
{
	const struct shards_backing *joined = context;
	const struct join_piece *piece;
	uint64_t skip;

	if (*offset >= joined->join.size)
		return NULL;
	piece = join_find(&joined->join, *offset);
	skip = *offset - piece->start;
	if (*length > piece->length - skip)
		*length = piece->length - skip;
	if (piece->kind != JOIN_SHARD || (piece->shard == 0 && joined->lent))
		return NULL;
	*offset = piece->offset + skip;
	return joined->files[piece->shard];
}

static bool copy_head(struct shards_backing *joined, const struct shards_backing_head *head)
{
	uint8_t *bytes = head->bytes ? malloc(head->length + 1) : NULL;

	if (bytes)
		memcpy(bytes, head->bytes, head->length);
	joined->head = (struct shards_backing_head){ bytes, head->length };
	return bytes || !head->bytes;
}

/* A backing of the file that join describes, which the backing owns, also on failure. files are
 * those of the n shards, NULL if missing; the backing takes references, and copies the head. lent:
 * the first file is not the model's. path is the backing's path; its status is that of the first
 * existing file, with the latest mtime. NULL: out of memory. */
static struct backing *shards_backing_new(struct join *join, struct backing *const *files,
					  uint32_t n, const struct shards_backing_head *head,
					  bool lent, const char *path)
{
	struct shards_backing *joined = calloc(1, sizeof(*joined) + n * sizeof(joined->files[0]));
	const struct backing *first = NULL;
	struct stat stat = { 0 };
	struct timespec latest = { 0 };

	if (!joined) {
		join_release(join);
		return NULL;
	}
	joined->join = *join;
	*join = (struct join){ 0 };
	joined->n = n;
	joined->lent = lent;
	for (uint32_t k = 0; k < n; k++) {
		if (!files[k])
			continue;
		joined->files[k] = backing_ref(files[k]);
		if (lent && k == 0)
			continue;
		first = first ? first : files[k];
		if (is_earlier(&latest, &backing_stat(files[k])->st_mtim))
			latest = backing_stat(files[k])->st_mtim;
	}
	if (!copy_head(joined, head)) {
		release(joined);
		return NULL;
	}
	if (first)
		stat = *backing_stat(first);
	stat.st_size = (off_t)joined->join.size;
	stat.st_mtim = latest;
	return backing_from_ops(&(struct backing_ops){ .read = read_at,
						       .part = part_at,
						       .release = release,
						       .context = joined,
						       .remote =
							       first && backing_is_remote(first) },
				path, &stat);
}

/* The parsed shard k. NULL: missing, or shard 0 is gone and its head, with the metadata, was not
 * kept. */
static const struct gguf *gguf_of(const struct shards *shards, uint32_t k)
{
	if (k == 0 && shards->parts[0] && shards->gone[0] && !shards->parts[0]->head.bytes)
		return NULL;
	return shards->parts[k] ? shards->parts[k]->gguf : NULL;
}

/* Path of the first readable shard; the other shards are found from there. */
static const char *path_of(const struct shards *shards, struct backing *const *files)
{
	for (uint32_t k = shards->header ? 1 : 0; k < shards->count; k++)
		if (files[k])
			return shards->parts[k]->path;
	return shards->candidates[0].path;
}

static int join_files(const struct shards *shards, struct join *join, struct backing *const *files,
		      struct backing **file, struct gguf **gguf, struct error *err)
{
	static const struct shards_backing_head none;
	/* Moved to the backing, which frees it. */
	const struct join kept = *join;
	const struct shard_file *first = shards->parts[0];
	/* A shard that is gone has no data. */
	struct backing_head head = { .end = join->head_end };
	const struct source source = { backing_head_read, &head, join->size };

	*file = shards_backing_new(join, files, shards->count,
				   first && shards->gone[0] ? &first->head : &none, shards->header,
				   path_of(shards, files));
	if (!*file)
		return error_errno(err, ENOMEM);
	head.file = *file;
	*gguf = join_read(&kept, &source, err);
	if (*gguf)
		return 0;
	backing_unref(*file);
	*file = NULL;
	return -err->code;
}

static int join_ggufs(const struct shards *shards, const struct gguf *const *ggufs,
		      struct join *join, struct error *err)
{
	const struct shard_file *first = shards->parts[0];
	struct gather_header header = { .packed = first && first->packed };

	if (!shards->organs)
		return join_build(ggufs, shards->count, join, err);
	if (first)
		header.size = backing_size(first->file);
	return gather_join(ggufs, shards->count, &header, join, err);
}

int shards_join(const struct shards *shards, struct backing **file, struct gguf **gguf,
		struct error *err)
{
	const struct gguf **ggufs = calloc(shards->count, sizeof(const struct gguf *));
	struct backing **files = calloc(shards->count, sizeof(struct backing *));
	struct join join = { 0 };
	int rc = ggufs && files ? 0 : error_errno(err, ENOMEM);

	*file = NULL;
	*gguf = NULL;
	for (uint32_t k = 0; rc == 0 && k < shards->count; k++) {
		ggufs[k] = gguf_of(shards, k);
		files[k] = ggufs[k] ? shards->parts[k]->file : NULL;
	}
	if (rc == 0)
		rc = join_ggufs(shards, ggufs, &join, err);
	if (rc == 0)
		rc = join_files(shards, &join, files, file, gguf, err);
	free(ggufs);
	free(files);
	return rc;
}
