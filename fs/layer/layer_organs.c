/* SPDX-License-Identifier: MIT */
/* layer_organs.c - see layer.h: the files in a layer. */
#include "fs/layer/layer_checksums.h"
#include "fs/layer/layer_commit.h"
#include "fs/layer/layer_open.h"
#include "fs/layer/layer_origin.h"
#include "fs/layer/layer_seen.h"
#include "fs/storage/backing.h"
#include "fs/storage/view.h"
#include "fs/util/disk.h"
#include "fs/util/io.h"
#include "gguf/error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_CHUNK ((size_t)1 << 20)

/* There is a directory from now on. */
static int ensure(struct layer *layer)
{
	int rc;

	pthread_mutex_lock(&layer->lock);
	rc = layer_ensure(layer);
	pthread_mutex_unlock(&layer->lock);
	return rc;
}

void layer_stage_name(unsigned number, const char *suffix, char name[LAYER_STAGE_NAME])
{
	snprintf(name, LAYER_STAGE_NAME, ".stage/%u%s", number, suffix);
}

/* A link would lead out of the layer. */
static int make_stage_directory(const struct layer *layer)
{
	struct stat stat;

	if (fstatat(layer->dir, ".stage", &stat, AT_SYMLINK_NOFOLLOW) == 0)
		return S_ISDIR(stat.st_mode) ? 0 : -ENOTDIR;
	return errno == ENOENT && mkdirat(layer->dir, ".stage", 0700) == 0 ? 0 : -errno;
}

/* A number for a stage, and a directory for its files. Returns 0 or -errno. */
static int number_stage(struct layer *layer, unsigned *number)
{
	int rc;

	pthread_mutex_lock(&layer->lock);
	rc = layer_ensure(layer);
	if (rc == 0)
		rc = make_stage_directory(layer);
	*number = layer->next_stage++;
	pthread_mutex_unlock(&layer->lock);
	return rc;
}

int layer_stage(struct layer *layer, unsigned *number)
{
	char name[LAYER_STAGE_NAME];
	const int rc = number_stage(layer, number);

	if (rc < 0)
		return rc;
	layer_stage_name(*number, "", name);
	return layer_create_file(layer->dir, name);
}

/* MFD_NOEXEC_SEAL of <linux/memfd.h>, which older systems do not name. */
#define NOEXEC_SEAL 0x8u

/* Processes may hold any number of files open that they have begun to write. */
#define IN_MEMORY_MOST 64u

int layer_stage_in_memory(struct layer *layer, unsigned *number)
{
	const int rc = number_stage(layer, number);
	int fd = -1;

	if (rc < 0)
		return rc;
	if (atomic_fetch_add(&layer->in_memory, 1) >= IN_MEMORY_MOST)
		errno = ENOMEM;
	else
		fd = memfd_create("organfs", MFD_CLOEXEC | NOEXEC_SEAL);
	/* Kernels before 6.3 do not know the flag, and later ones may insist on it. */
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("organfs", MFD_CLOEXEC);
	if (fd >= 0)
		return fd;
	atomic_fetch_sub(&layer->in_memory, 1);
	return -errno;
}

void layer_close_in_memory(struct layer *layer, int fd)
{
	close(fd);
	atomic_fetch_sub(&layer->in_memory, 1);
}

int layer_copy_view(int fd, uint64_t at, struct view *view, uint64_t size)
{
	char *bytes = malloc(COPY_CHUNK);
	int rc = bytes ? 0 : -ENOMEM;

	for (uint64_t from = 0; rc == 0 && from < size;) {
		const uint64_t left = size - from;
		const ssize_t got =
			view_read(view, bytes, left < COPY_CHUNK ? (size_t)left : COPY_CHUNK, from);

		if (got <= 0)
			rc = got < 0 ? (int)got : -EIO;
		else
			rc = io_write(fd, bytes, (size_t)got, at + from);
		from += got > 0 ? (uint64_t)got : 0;
	}
	free(bytes);
	return rc;
}

void layer_unstage(struct layer *layer, unsigned number)
{
	static const char *const suffixes[] = { "", STAGED_COMPRESSED, STAGED_CHECKSUM,
						STAGED_ORIGIN, STAGED_SEEN };
	char name[LAYER_STAGE_NAME];

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		layer_stage_name(number, suffixes[i], name);
		unlinkat(layer->dir, name, 0);
	}
}

void layer_drop_stage(struct layer *layer, unsigned number)
{
	char name[LAYER_STAGE_NAME];

	layer_stage_name(number, "", name);
	unlinkat(layer->dir, name, 0);
}

/* The name of the file that says what a slot holds, or of one that lies beside it; LAYER_NOTHING:
 * of one that lies beside whatever it holds. */
static void file_name(enum layer_kind kind, const char *name, const char *beside,
		      char out[LAYER_FILE_MAX])
{
	static const char *const suffixes[] = {
		[LAYER_WHITEOUT] = ".bin", [LAYER_REFERENCE] = ".bin.ref",  [LAYER_ORGAN] = ".bin",
		[LAYER_LINK] = ".bin",	   [LAYER_COMPRESSED] = ".bin.zst", [LAYER_NOTHING] = ""
	};

	snprintf(out, LAYER_FILE_MAX, "%s%s%s%s", kind == LAYER_WHITEOUT ? ".wh." : "", name,
		 suffixes[kind], beside);
}

static bool is_organ(enum layer_kind kind)
{
	return kind == LAYER_ORGAN || kind == LAYER_COMPRESSED;
}

static int set_aside(struct layer_transaction *change, enum layer_kind kind, const char *name,
		     const char *beside)
{
	char file[LAYER_FILE_MAX];

	file_name(kind, name, beside, file);
	return layer_transaction_remove(change, file);
}

/* Put the file of the stage with that suffix in place. */
static int put_staged(struct layer_transaction *change, const char *suffix, enum layer_kind kind,
		      const char *name, const char *beside)
{
	char staged[LAYER_STAGE_NAME], file[LAYER_FILE_MAX];

	layer_stage_name(change->number, suffix, staged);
	file_name(kind, name, beside, file);
	return layer_transaction_put(change, staged, file);
}

/* Have files of both kinds the same name? */
static bool same_name(enum layer_kind a, enum layer_kind b)
{
	return a == b || (a == LAYER_ORGAN && b == LAYER_LINK) ||
	       (a == LAYER_LINK && b == LAYER_ORGAN);
}

/* Before what fills the slot, an organ of that hash if it has one, is put in place: what is kept of
 * the slot beside it. Where it came from is not worth a failure. */
static int put_origin(struct layer_transaction *change, const char *name,
		      const struct layer_origin *origin, const char *xxh128)
{
	char staged[LAYER_STAGE_NAME];
	int rc;

	if (!origin || !layer_origin_is_known(origin, xxh128))
		return set_aside(change, LAYER_NOTHING, name, LAYER_ORIGIN_SUFFIX);
	layer_stage_name(change->number, STAGED_ORIGIN, staged);
	rc = layer_origin_write(change->layer, staged, origin, xxh128);
	if (rc < 0 && !origin->slot)
		return set_aside(change, LAYER_NOTHING, name, LAYER_ORIGIN_SUFFIX);
	return rc < 0 ? rc
		      : put_staged(change, STAGED_ORIGIN, LAYER_NOTHING, name, LAYER_ORIGIN_SUFFIX);
}

/* What is to be known of a link beside it. */
struct seen_link {
	const char *target, *seen;
};

static int put_seen(struct layer_transaction *change, const char *name,
		    const struct seen_link *link)
{
	char staged[LAYER_STAGE_NAME];
	int rc;

	if (!link || !link->seen)
		return set_aside(change, LAYER_NOTHING, name, LAYER_SEEN_SUFFIX);
	layer_stage_name(change->number, STAGED_SEEN, staged);
	rc = layer_seen_write(change->layer, staged, link->target, link->seen);
	return rc < 0 ? rc
		      : put_staged(change, STAGED_SEEN, LAYER_NOTHING, name, LAYER_SEEN_SUFFIX);
}

/* What the slot held before goes. */
static int remove_other_kinds(struct layer_transaction *change, enum layer_kind kind,
			      const char *name)
{
	int rc = 0;

	for (enum layer_kind other = 0; rc == 0 && other < LAYER_NOTHING; other++) {
		/* An organ and a link have one name. */
		if (same_name(other, kind) || other == LAYER_LINK)
			continue;
		rc = set_aside(change, other, name, "");
		if (rc == 0 && is_organ(other))
			rc = set_aside(change, other, name, LAYER_CHECKSUM_SUFFIX);
	}
	if (rc == 0 && kind == LAYER_NOTHING)
		rc = set_aside(change, kind, name, LAYER_ORIGIN_SUFFIX);
	if (rc == 0 && kind == LAYER_NOTHING)
		rc = set_aside(change, kind, name, LAYER_SEEN_SUFFIX);
	return rc;
}

/* The slot's new file is durable, and what it held before is gone as durably. That goes after it,
 * so that one of the two is there whenever the mount ends: where the filesystem keeps order both
 * were done together. */
static int finish_put(struct layer_transaction *change, enum layer_kind kind, const char *name)
{
	const unsigned before = change->n;
	int rc;

	if (layer_is_ordered(change->layer))
		return 0;
	rc = remove_other_kinds(change, kind, name);
	return rc == 0 && change->n > before ? layer_transaction_sync(change) : rc;
}

static const char *staged_suffix(enum layer_kind kind)
{
	return kind == LAYER_COMPRESSED ? STAGED_COMPRESSED : "";
}

/* Put the stage in place as what the slot holds; with the sum that lies beside it, which says
 * xxh128, if that is not empty, and what is known of it, if it is a link. Not durable yet. */
static int begin_put(struct layer_transaction *change, enum layer_kind kind, const char *name,
		     const struct layer_origin *origin, const char *xxh128,
		     const struct seen_link *link)
{
	int rc = put_origin(change, name, origin, xxh128);

	if (rc == 0)
		rc = put_seen(change, name, link);
	/* Of what has that name now, if it is an organ. */
	if (rc == 0 && (is_organ(kind) || kind == LAYER_LINK))
		rc = set_aside(change, kind, name, LAYER_CHECKSUM_SUFFIX);
	if (rc == 0)
		rc = put_staged(change, staged_suffix(kind), kind, name, "");
	if (rc == 0 && xxh128[0])
		rc = put_staged(change, STAGED_CHECKSUM, kind, name, LAYER_CHECKSUM_SUFFIX);
	if (rc == 0 && layer_is_ordered(change->layer))
		rc = remove_other_kinds(change, kind, name);
	return rc;
}

static int put(struct layer *layer, unsigned number, int dir, enum layer_kind kind,
	       const char *name, const struct layer_origin *origin, const struct seen_link *link)
{
	struct layer_transaction change = { .layer = layer, .dir = dir, .number = number };
	int rc = begin_put(&change, kind, name, origin, "", link);

	if (rc == 0)
		rc = layer_transaction_sync(&change);
	if (rc == 0)
		rc = finish_put(&change, kind, name);
	return layer_transaction_end(&change, rc);
}

/* The bytes of an organ file, whose descriptor is used up. */
static struct backing *organ_of(struct layer *layer, int fd, enum layer_kind kind,
				enum organ_class klass, const char *name, struct error *err)
{
	char path[PATH_MAX], file[LAYER_FILE_MAX];
	struct backing *backing;

	file_name(kind, name, "", file);
	snprintf(path, sizeof(path), "%s/%s/%s", layer_path(layer), class_name(klass), file);
	backing = kind == LAYER_COMPRESSED ? backing_fdopen_zstd(fd, path, layer->manner.cache, err)
					   : backing_fdopen(fd, path, err);
	if (backing)
		backing_set_log(backing, layer->manner.log);
	return backing;
}

/* The same for the file of a stage. Opened before the rename: after it nothing may fail but the
 * durability itself. Returns 0 or -errno. */
static int open_staged(struct layer *layer, unsigned number, enum layer_kind kind,
		       enum organ_class klass, const char *name, struct backing **file)
{
	char staged[LAYER_STAGE_NAME];
	struct error err = { 0 };
	int fd;

	layer_stage_name(number, staged_suffix(kind), staged);
	fd = layer_open_file(layer->dir, staged);
	if (fd < 0)
		return fd;
	*file = organ_of(layer, fd, kind, klass, name, &err);
	return *file ? 0 : -(err.code == EBADMSG ? EIO : err.code);
}

int layer_commit_begin(struct layer_commit *commit, struct layer *layer, unsigned number,
		       const struct layer_seal *seal, enum organ_class klass, const char *name,
		       const struct layer_origin *origin)
{
	char sum[LAYER_STAGE_NAME];
	bool has_sum = false;
	int rc;

	*commit = (struct layer_commit){ .kind = seal->kind, .name = name };
	commit->change.layer = layer;
	commit->change.number = number;
	commit->change.dir = layer_open_directory(layer->dir, class_name(klass), true);
	if (commit->change.dir < 0)
		return commit->change.dir;
	rc = open_staged(layer, number, seal->kind, klass, name, &commit->file);
	if (rc == 0 && seal->xxh128[0]) {
		layer_stage_name(number, STAGED_CHECKSUM, sum);
		has_sum = layer_checksum_write(layer, sum, seal->xxh128, klass, name) == 0;
	}
	if (rc == 0)
		rc = begin_put(&commit->change, seal->kind, name, origin,
			       has_sum ? seal->xxh128 : "", NULL);
	if (rc == 0)
		layer_group_join(&layer->group, &commit->wait, commit->change.dir);
	return rc;
}

int layer_commit_wait(struct layer_commit *commit)
{
	struct layer *layer = commit->change.layer;

	return layer_group_await(&layer->group, &commit->wait, layer_is_ordered(layer));
}

int layer_commit_end(struct layer_commit *commit, int rc, struct backing **file)
{
	if (commit->change.dir < 0)
		return rc;
	if (rc == 0)
		rc = finish_put(&commit->change, commit->kind, commit->name);
	rc = layer_transaction_end(&commit->change, rc);
	close(commit->change.dir);
	if (rc == 0)
		*file = commit->file;
	else
		backing_unref(commit->file);
	return rc;
}

int layer_commit(struct layer *layer, unsigned number, const struct layer_seal *seal,
		 enum organ_class klass, const char *name, const struct layer_origin *origin,
		 struct backing **file)
{
	struct layer_commit commit;
	int rc = layer_commit_begin(&commit, layer, number, seal, klass, name, origin);

	if (rc == 0)
		rc = layer_commit_wait(&commit);
	rc = layer_commit_end(&commit, rc, file);
	if (rc == 0)
		layer_drop_stage(layer, number);
	return rc;
}

static int set_mtime(int fd, const struct timespec *mtime)
{
	const struct timespec times[2] = { *mtime, *mtime };

	return futimens(fd, times) < 0 ? -errno : 0;
}

int layer_stage_text(struct layer *layer, enum organ_class klass, const char *text,
		     const struct timespec *mtime, unsigned *number)
{
	const size_t n = strlen(text);
	const int fd = layer_stage(layer, number);
	int dir, rc;

	if (fd < 0)
		return fd;
	rc = io_write(fd, text, n, 0);
	if (rc == 0 && mtime)
		rc = set_mtime(fd, mtime);
	if (rc == 0)
		rc = layer_write_back(layer, fd);
	close(fd);
	dir = rc == 0 ? layer_open_directory(layer->dir, class_name(klass), true) : rc;
	if (dir >= 0)
		close(dir);
	else
		layer_unstage(layer, *number);
	return dir < 0 ? dir : 0;
}

int layer_commit_text(struct layer *layer, unsigned number, enum layer_kind kind,
		      enum organ_class klass, const char *name, const struct layer_origin *origin)
{
	const int dir = layer_open_directory(layer->dir, class_name(klass), true);
	const int rc = dir < 0 ? dir : put(layer, number, dir, kind, name, origin, NULL);

	if (dir >= 0)
		close(dir);
	if (rc < 0)
		layer_unstage(layer, number);
	return rc;
}

int layer_write(struct layer *layer, enum layer_kind kind, enum organ_class klass, const char *name,
		const struct layer_origin *origin, const char *text, const struct timespec *mtime)
{
	unsigned number;
	const int rc = layer_stage_text(layer, klass, text, mtime, &number);

	return rc < 0 ? rc : layer_commit_text(layer, number, kind, klass, name, origin);
}

int layer_stage_link(struct layer *layer, const char *target, uid_t uid, gid_t gid,
		     const struct timespec *mtime, unsigned *number)
{
	const struct timespec times[2] = { *mtime, *mtime };
	char stage[LAYER_STAGE_NAME];
	const int fd = layer_stage(layer, number);
	int rc;

	if (fd < 0)
		return fd;
	close(fd);
	layer_unstage(layer, *number);
	layer_stage_name(*number, "", stage);
	rc = symlinkat(target, layer->dir, stage) < 0 ? -errno : 0;
	/* Only root can say whose it is, and only root acts for others. */
	if (rc == 0 && geteuid() == 0 &&
	    fchownat(layer->dir, stage, uid, gid, AT_SYMLINK_NOFOLLOW) < 0)
		rc = -errno;
	if (rc == 0 && utimensat(layer->dir, stage, times, AT_SYMLINK_NOFOLLOW) < 0)
		rc = -errno;
	if (rc < 0)
		layer_unstage(layer, *number);
	return rc;
}

int layer_symlink(struct layer *layer, enum organ_class klass, const char *name,
		  const struct layer_origin *origin, const char *target, const char *seen,
		  uid_t uid, gid_t gid, const struct timespec *mtime)
{
	const struct seen_link link = { target, seen };
	const int rc = ensure(layer),
		  dir = rc < 0 ? rc : layer_open_directory(layer->dir, class_name(klass), true);
	unsigned number;
	int done;

	if (dir < 0)
		return dir;
	done = layer_stage_link(layer, target, uid, gid, mtime, &number);
	if (done == 0) {
		done = put(layer, number, dir, LAYER_LINK, name, origin, &link);
		if (done < 0)
			layer_unstage(layer, number);
	}
	close(dir);
	return done;
}

int layer_record_seen(struct layer *layer, enum organ_class klass, const char *name,
		      const char *target, const char *seen)
{
	const struct seen_link link = { target, seen };
	struct layer_transaction change = { .layer = layer };
	int rc;

	if (layer->manner.read_only)
		return 0;
	change.dir = layer_open_directory(layer->dir, class_name(klass), false);
	if (change.dir < 0)
		return change.dir;
	rc = layer_unused_stage_number(layer, &change.number);
	if (rc == 0)
		rc = put_seen(&change, name, &link);
	if (rc == 0)
		rc = layer_transaction_sync(&change);
	rc = layer_transaction_end(&change, rc);
	layer_unstage(layer, change.number);
	close(change.dir);
	return rc;
}

int layer_unused_stage_number(struct layer *layer, unsigned *number)
{
	int rc;

	pthread_mutex_lock(&layer->lock);
	rc = make_stage_directory(layer);
	*number = layer->next_stage++;
	pthread_mutex_unlock(&layer->lock);
	return rc;
}

int layer_revert(struct layer *layer, enum organ_class klass, const char *name)
{
	struct layer_transaction change = { .layer = layer };
	int rc;

	/* Without a directory it says nothing about anything. */
	if (layer->dir < 0)
		return 0;
	change.dir = layer_open_directory(layer->dir, class_name(klass), false);
	if (change.dir < 0)
		return change.dir == -ENOENT ? 0 : change.dir;
	rc = layer_unused_stage_number(layer, &change.number);
	if (rc == 0)
		rc = remove_other_kinds(&change, LAYER_NOTHING, name);
	if (rc == 0 && change.n)
		rc = layer_transaction_sync(&change);
	rc = layer_transaction_end(&change, rc);
	close(change.dir);
	return rc;
}

/* On a filesystem that keeps order, where the file that says it needs no fsync() of its own: it is
 * empty, and there with its name. */
static int remove_slot(struct layer_transaction *change, const char *name, bool whiteout)
{
	char file[LAYER_FILE_MAX];
	int rc = 0;

	if (whiteout) {
		file_name(LAYER_WHITEOUT, name, "", file);
		rc = layer_transaction_create(change, file);
	}
	if (rc == 0 && whiteout)
		rc = set_aside(change, LAYER_NOTHING, name, LAYER_ORIGIN_SUFFIX);
	if (rc == 0 && whiteout)
		rc = set_aside(change, LAYER_NOTHING, name, LAYER_SEEN_SUFFIX);
	if (rc == 0)
		rc = remove_other_kinds(change, whiteout ? LAYER_WHITEOUT : LAYER_NOTHING, name);
	if (rc == 0 && change->n)
		rc = layer_transaction_sync_later(change);
	return layer_transaction_end(change, rc);
}

/* A further name for a whiteout that is durable, in a directory. Returns 0 or -errno. */
static int link_durable(struct layer_transaction *change, const char *file)
{
	struct layer *layer = change->layer;
	char from[sizeof(layer->whiteout)];

	pthread_mutex_lock(&layer->lock);
	memcpy(from, layer->whiteout, sizeof(from));
	pthread_mutex_unlock(&layer->lock);
	return from[0] ? layer_transaction_link(change, from, file) : -ENOENT;
}

/* The whiteout of that slot was made durable, and others may be names of the same file. */
static void remember_whiteout(struct layer *layer, enum organ_class klass, const char *name)
{
	char file[LAYER_FILE_MAX];

	file_name(LAYER_WHITEOUT, name, "", file);
	pthread_mutex_lock(&layer->lock);
	snprintf(layer->whiteout, sizeof(layer->whiteout), "%s/%s", class_name(klass), file);
	pthread_mutex_unlock(&layer->lock);
}

/* Does the layer say anything of the slot but that it is empty? */
static bool says_more(int dir, const char *name)
{
	static const struct {
		enum layer_kind kind;
		const char *beside;
	} files[] = { { LAYER_REFERENCE, "" },
		      { LAYER_ORGAN, "" },
		      { LAYER_ORGAN, LAYER_CHECKSUM_SUFFIX },
		      { LAYER_COMPRESSED, "" },
		      { LAYER_COMPRESSED, LAYER_CHECKSUM_SUFFIX },
		      { LAYER_NOTHING, LAYER_ORIGIN_SUFFIX },
		      { LAYER_NOTHING, LAYER_SEEN_SUFFIX } };
	char file[LAYER_FILE_MAX];
	struct stat there;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		file_name(files[i].kind, name, files[i].beside, file);
		/* Where that cannot be told, there may be. */
		if (fstatat(dir, file, &there, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT)
			return true;
	}
	return false;
}

/* Where no order is kept: one more name of an empty file that is durable is all that a slot of the
 * base needs, and may reach the disk later, for it does so whole or not at all. What else the layer
 * says of a slot counts less, and goes when the name is durable. -ENOLINK: it cannot be linked. */
static int link_whiteout(struct layer_transaction *change, const char *name, bool *more)
{
	char file[LAYER_FILE_MAX];
	int rc = layer_unused_stage_number(change->layer, &change->number);

	if (rc < 0)
		return rc;
	file_name(LAYER_WHITEOUT, name, "", file);
	if (link_durable(change, file) < 0)
		return -ENOLINK;
	*more = says_more(change->dir, name);
	return *more ? layer_transaction_sync(change) : layer_transaction_leave(change);
}

static int remove_unordered(struct layer *layer, enum organ_class klass, const char *name)
{
	struct layer_transaction change = { .layer = layer };
	bool more = false;
	int rc;

	change.dir = layer_open_directory(layer->dir, class_name(klass), true);
	if (change.dir < 0)
		return change.dir;
	rc = link_whiteout(&change, name, &more);
	if (rc == 0 && more) {
		remove_other_kinds(&change, LAYER_WHITEOUT, name);
		set_aside(&change, LAYER_NOTHING, name, LAYER_ORIGIN_SUFFIX);
		set_aside(&change, LAYER_NOTHING, name, LAYER_SEEN_SUFFIX);
	}
	rc = layer_transaction_end(&change, rc);
	close(change.dir);
	if (rc != -ENOLINK)
		return rc;
	rc = layer_write(layer, LAYER_WHITEOUT, klass, name, NULL, "", NULL);
	if (rc == 0)
		remember_whiteout(layer, klass, name);
	return rc;
}

int layer_remove(struct layer *layer, enum organ_class klass, const char *name, bool whiteout)
{
	struct layer_transaction change = { .layer = layer };
	int rc = whiteout ? ensure(layer) : 0;

	/* Without a directory it says nothing about anything. */
	if (!whiteout && layer->dir < 0)
		return 0;
	if (rc == 0 && !layer_is_ordered(layer))
		return whiteout ? remove_unordered(layer, klass, name)
				: layer_revert(layer, klass, name);
	if (rc == 0)
		rc = layer_unused_stage_number(layer, &change.number);
	if (rc < 0)
		return rc;
	change.dir = layer_open_directory(layer->dir, class_name(klass), whiteout);
	if (change.dir < 0)
		return change.dir == -ENOENT ? 0 : change.dir;
	rc = remove_slot(&change, name, whiteout);
	close(change.dir);
	return rc;
}

static int remove_in(int dir, enum layer_kind kind, const char *name, const char *beside)
{
	char file[LAYER_FILE_MAX];

	file_name(kind, name, beside, file);
	return unlinkat(dir, file, 0) < 0 && errno != ENOENT ? -errno : 0;
}

/* The kind that counts goes last. The notes beside it are ignored without it, and may stay. */
static int erase_slot(int dir, const char *name)
{
	int rc = 0;

	for (enum layer_kind kind = LAYER_NOTHING; rc == 0 && kind-- > 0;) {
		if (is_organ(kind))
			rc = remove_in(dir, kind, name, LAYER_CHECKSUM_SUFFIX);
		if (rc == 0)
			rc = remove_in(dir, kind, name, "");
	}
	if (rc == 0) {
		remove_in(dir, LAYER_NOTHING, name, LAYER_ORIGIN_SUFFIX);
		remove_in(dir, LAYER_NOTHING, name, LAYER_SEEN_SUFFIX);
	}
	return rc;
}

int layer_erase(const struct layer *layer, enum organ_class klass, const char *file)
{
	const int dir = layer_open_directory(layer->dir, class_name(klass), false);
	const size_t n = strlen(file);
	char name[NAME_MAX + 1];
	int rc;

	if (dir < 0)
		return dir == -ENOENT ? 0 : dir;
	if (n > 4 && n <= NAME_MAX && strcmp(file + n - 4, ".bin") == 0) {
		snprintf(name, sizeof(name), "%.*s", (int)(n - 4), file);
		rc = erase_slot(dir, name);
	} else {
		rc = remove_in(dir, LAYER_NOTHING, file, "");
	}
	close(dir);
	return rc;
}

bool layer_organ_hash(struct layer *layer, enum organ_class klass, const char *name,
		      char xxh128[XXH128_TEXT])
{
	static const enum layer_kind kinds[] = { LAYER_ORGAN, LAYER_COMPRESSED };
	const int dir = layer_open_directory(layer->dir, class_name(klass), false);
	char file[LAYER_FILE_MAX];
	bool found = false;

	if (dir < 0)
		return false;
	for (size_t i = 0; !found && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		file_name(kinds[i], name, "", file);
		found = layer_checksum_read(dir, file, xxh128) > 0;
	}
	close(dir);
	return found;
}

/* One more name for the slot's organ file, as stage number of layer. Tells how it is kept, and what
 * was recorded of it. */
static int link_stage(struct layer *layer, unsigned number, int dir, const char *name,
		      struct layer_seal *seal)
{
	static const enum layer_kind kinds[] = { LAYER_ORGAN, LAYER_COMPRESSED };
	char staged[LAYER_STAGE_NAME], file[LAYER_FILE_MAX];

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		seal->kind = kinds[i];
		layer_stage_name(number, staged_suffix(seal->kind), staged);
		file_name(seal->kind, name, "", file);
		if (linkat(dir, file, layer->dir, staged, 0) == 0) {
			if (layer_checksum_read(dir, file, seal->xxh128) <= 0)
				seal->xxh128[0] = '\0';
			return 0;
		}
		if (errno != ENOENT)
			break;
	}
	return -errno;
}

static int link_into(struct layer *layer, int from, const char *name, enum organ_class klass,
		     const char *new_name, const struct layer_origin *origin, struct backing **file)
{
	struct layer_seal seal;
	unsigned number;
	int fd = layer_stage(layer, &number), rc;

	if (fd < 0)
		return fd;
	close(fd);
	layer_unstage(layer, number);
	rc = link_stage(layer, number, from, name, &seal);
	if (rc == 0)
		rc = layer_commit(layer, number, &seal, klass, new_name, origin, file);
	/* Perhaps no thread has read the other one yet. */
	if (rc == 0 && seal.xxh128[0])
		backing_expect_hash(*file, seal.xxh128);
	/* A rename of one name of a file onto another leaves both. */
	layer_unstage(layer, number);
	return rc;
}

int layer_link(struct layer *from, enum organ_class klass, const char *name, struct layer *to,
	       enum organ_class new_class, const char *new_name, const struct layer_origin *origin,
	       struct backing **file)
{
	const int old = layer_open_directory(from->dir, class_name(klass), false);
	int rc = old < 0 ? old : ensure(to);

	if (rc == 0)
		rc = link_into(to, old, name, new_class, new_name, origin, file);
	if (old >= 0)
		close(old);
	return rc;
}

int layer_write_note(struct layer *layer, const char *name, const char *text)
{
	const size_t n = strlen(text);
	unsigned number;
	char stage[LAYER_STAGE_NAME];
	const int fd = layer_stage(layer, &number);
	int rc;

	if (fd < 0)
		return fd;
	layer_stage_name(number, "", stage);
	rc = io_write(fd, text, n, 0);
	if (rc == 0 && (fsync(fd) < 0 || renameat(layer->dir, stage, layer->dir, name) < 0))
		rc = -errno;
	if (rc == 0)
		rc = disk_sync_directory(layer->dir);
	close(fd);
	if (rc < 0)
		layer_unstage(layer, number);
	return rc;
}

int layer_drop_note(struct layer *layer, const char *name)
{
	int rc = 0;

	/* The disk may have the note's end without a removal that was left to later. */
	if (layer->dir >= 0)
		rc = layer_group_flush(&layer->group, layer_is_ordered(layer));
	return rc < 0 ? rc : layer_refuse_note(layer, name);
}

int layer_refuse_note(const struct layer *layer, const char *name)
{
	if (unlinkat(layer->dir, name, 0) < 0 && errno != ENOENT)
		return -errno;
	return disk_sync_directory(layer->dir);
}

int layer_journal_write(struct layer *layer, const char *text)
{
	return layer_write_note(layer, "MOVING", text);
}

ssize_t layer_journal_read(struct layer *layer, char *text, size_t n)
{
	/* Who may not write cannot finish it either. */
	const int fd = layer->dir < 0 || layer->manner.read_only
			       ? -ENOENT
			       : layer_open_file(layer->dir, "MOVING");
	const ssize_t got = fd < 0 ? fd : io_read(fd, text, n - 1, 0);

	if (fd >= 0)
		close(fd);
	text[got < 0 ? 0 : got] = '\0';
	return got == -ENOENT ? 0 : got;
}

int layer_journal_clear(struct layer *layer)
{
	return layer_drop_note(layer, "MOVING");
}

/* The slot that a file says something about, and what. False: it is none of ours. */
static bool parse_name(const char *entry, enum layer_kind *kind, char name[NAME_MAX + 1])
{
	size_t n = strlen(entry);

	*kind = LAYER_ORGAN;
	if (n > 4 && strcmp(entry + n - 4, ".zst") == 0) {
		*kind = LAYER_COMPRESSED;
		n -= 4;
	} else if (strncmp(entry, ".wh.", 4) == 0) {
		*kind = LAYER_WHITEOUT;
		entry += 4;
		n -= 4;
	} else if (n > 4 && strcmp(entry + n - 4, ".ref") == 0) {
		*kind = LAYER_REFERENCE;
		n -= 4;
	}
	if (n < 5 || n > NAME_MAX || strncmp(entry + n - 4, ".bin", 4) != 0)
		return false;
	snprintf(name, NAME_MAX + 1, "%.*s", (int)(n - 4), entry);
	return true;
}

/* Is there a file that counts more? One of the two is what was to be forgotten when the daemon was
 * killed. 1 or 0, or -errno. */
static int is_superseded(int dir, enum layer_kind kind, const char *name)
{
	int found = 0;

	for (enum layer_kind other = 0; found == 0 && other < kind; other++) {
		char file[LAYER_FILE_MAX];

		file_name(other, name, "", file);
		found = layer_has_file(dir, file);
	}
	return found;
}

/* The target of a symbolic link, into text. Returns 1, 0: it is none, or -errno. */
static int read_link(int dir, const char *entry, struct layer_entry *what, char text[PATH_MAX])
{
	const ssize_t n = readlinkat(dir, entry, text, PATH_MAX - 1);

	if (n < 0 && errno == EINVAL)
		return 0;
	if (n < 0 || fstatat(dir, entry, &what->stat, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	text[n] = '\0';
	what->kind = LAYER_LINK;
	what->target = text;
	return 1;
}

/* What is noted of the file beside it, and where it leads if it is a link. Returns 0 or -errno. */
static int read_notes(int dir, const char *entry, struct layer_entry *what,
		      char xxh128[XXH128_TEXT], char target[PATH_MAX])
{
	int rc = is_organ(what->kind) ? layer_checksum_read(dir, entry, xxh128) : 0;

	if (rc <= 0)
		xxh128[0] = '\0';
	if (rc >= 0)
		rc = layer_origin_read(dir, what->name, xxh128, &what->origin);
	if (rc >= 0 && what->kind == LAYER_ORGAN)
		rc = read_link(dir, entry, what, target);
	if (rc >= 0 && what->kind == LAYER_LINK)
		what->seen = layer_seen_read(dir, what->name, target, &rc);
	return rc < 0 ? rc : 0;
}

/* An organ that was put in force by an earlier mount, or came with the layer. */
static struct backing *recovered_organ(struct layer *layer, int fd, const struct layer_entry *what,
				       const char *xxh128, struct error *err)
{
	struct backing *file = organ_of(layer, fd, what->kind, what->klass, what->name, err);

	if (file && xxh128[0])
		backing_expect_hash(file, xxh128);
	return file;
}

/* What the file says, in *what, which the caller gets. */
static void open_entry(struct layer *layer, int dir, const char *entry, struct layer_entry *what,
		       const char *xxh128, struct error *err)
{
	const int fd = layer_open_file(dir, entry);
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s/%s", layer->path, class_name(what->klass), entry);
	if (fd < 0)
		error_set(err, -fd, ERROR_NO_OFFSET, "%s", layer_open_error(fd));
	else if (is_organ(what->kind))
		what->file = recovered_organ(layer, fd, what, xxh128, err);
	else
		what->file = backing_fdopen(fd, path, err);
}

/* What found returns. */
static int say_entry(struct layer *layer, int dir, const char *entry, struct layer_entry *what,
		     layer_entry_fn *found, void *context, struct error *err)
{
	char target[PATH_MAX], xxh128[XXH128_TEXT];
	struct error why = { 0 };
	int rc = read_notes(dir, entry, what, xxh128, target);

	if (rc < 0) {
		layer_unread(layer, class_name(what->klass), entry, -rc, &why);
	} else {
		if (what->kind != LAYER_LINK)
			open_entry(layer, dir, entry, what, xxh128, &why);
		rc = found(context, what, &why);
	}
	if (rc < 0)
		*err = why;
	layer_origin_release(&what->origin);
	free((char *)what->seen);
	return rc;
}

static int each_file(struct layer *layer, int dir, enum organ_class klass, const char *entry,
		     layer_entry_fn *found, void *context, struct error *err)
{
	struct layer_entry what = { .klass = klass };
	char name[NAME_MAX + 1];
	int superseded;

	if (!parse_name(entry, &what.kind, name))
		return 0;
	superseded = is_superseded(dir, what.kind, name);
	if (superseded < 0)
		return layer_unread(layer, class_name(klass), entry, -superseded, err);
	what.name = name;
	return superseded ? 0 : say_entry(layer, dir, entry, &what, found, context, err);
}

int layer_each(struct layer *layer, layer_entry_fn *found, void *context, struct error *err)
{
	int rc = 0;

	for (enum organ_class klass = 0; rc == 0 && klass < CLASSES; klass++) {
		int listed;
		DIR *entries = layer_list(layer->dir, class_name(klass), &listed);
		const char *entry;

		while ((entry = layer_list_next(entries, &listed)))
			if (rc == 0)
				rc = each_file(layer, dirfd(entries), klass, entry, found, context,
					       err);
		if (rc == 0 && listed < 0)
			rc = layer_unread(layer, class_name(klass), NULL, -listed, err);
	}
	return rc;
}
