/* SPDX-License-Identifier: MIT */
/* scratch.c - private names: files as on any disk, until they are renamed onto a slot. */
#include "fsfuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif

void begin_scratches(struct fuzz *fuzz)
{
	for (unsigned i = 0; i < SCRATCHES_MAX; i++)
		snprintf(fuzz->scratch[i].path, sizeof(fuzz->scratch[i].path), "%s/.fsfuzz-%u-%u",
			 i < 4 ? "organs" : "metadata", fuzz->number, i);
}

static struct scratch *some_scratch(struct fuzz *fuzz)
{
	return &fuzz->scratch[below(fuzz, SCRATCHES_MAX)];
}

static bool is_beside_keys(const struct scratch *scratch)
{
	return scratch->path[0] == 'm';
}

void open_scratch(struct fuzz *fuzz)
{
	static const int modes[] = { O_RDONLY, O_WRONLY, O_RDWR, O_RDWR };
	static const int more[] = { 0, 0, O_TRUNC, O_APPEND, O_DIRECT, O_CREAT, O_CREAT | O_EXCL };
	struct scratch *scratch = some_scratch(fuzz);
	struct handle *handle = free_handle(fuzz);
	const int flags = O_CLOEXEC | modes[below(fuzz, 4)] | more[below(fuzz, 7)];
	const bool made = !scratch->file && flags & O_CREAT;
	char path[4096];
	int fd;

	if (!handle || (flags & O_TRUNC && (flags & O_ACCMODE) == O_RDONLY))
		return;
	path_of(fuzz, scratch->path, path);
	say(fuzz, "open %s, flags %o", scratch->path, (unsigned)flags);
	fd = open(path, flags, 0600);
	expect(fuzz, fd, scratch->file ? flags & O_EXCL ? EEXIST : 0 : made ? 0 : ENOENT, "open");
	if (fd < 0)
		return;
	if (made)
		scratch->file = new_file(fuzz, NULL, 0);
	if (flags & O_TRUNC)
		scratch->file->size = 0;
	scratch->file->refs++;
	*handle = (struct handle){
		.kind = SCRATCH, .fd = fd, .flags = flags, .file = scratch->file, .most = MOST
	};
	handle->busy = (flags & O_ACCMODE) != O_RDONLY;
	say_more(fuzz, ", which is %d", (int)(handle - fuzz->handle));
}

/* Make a private file with an organ in it, which mostly fits some slot. */
void make_scratch(struct fuzz *fuzz)
{
	struct scratch *scratch = &fuzz->scratch[below(fuzz, 4)];
	const struct slot *slot = any_slot(fuzz, false);
	const struct slot *like = &fuzz->shared->slot[slot->like];
	size_t n = slot->size;
	char path[4096];
	int fd;

	memcpy(fuzz->bytes, like->base.bytes, slot->header);
	make_body(fuzz->bytes + slot->header, slot->size - slot->header, next_random(fuzz) | 1);
	if (one_in(fuzz, 5))
		n = below(fuzz, n);
	path_of(fuzz, scratch->path, path);
	say(fuzz, "%s: %zu bytes as of %s", scratch->path, n, slot->path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	expect(fuzz, fd, 0, "open");
	if (write(fd, fuzz->bytes, n) != (ssize_t)n)
		wrong(fuzz, "write: %s", strerror(errno));
	expect(fuzz, close(fd), 0, "close");
	if (!scratch->file)
		scratch->file = new_file(fuzz, NULL, 0);
	memcpy(scratch->file->bytes, fuzz->bytes, n);
	scratch->file->size = n;
}

/* Rename or close a private file. Unless its name is a temporary one, the file has to be an organ
 * or empty. The release, which follows the close, removes a refused file. */
static void name_private(struct fuzz *fuzz, bool renamed)
{
	const struct slot *slot = any_slot(fuzz, false);
	const size_t n = one_in(fuzz, 2) ? slot->size : below(fuzz, slot->size);
	const bool kept = n == 0 || n == slot->size;
	char name[64], path[4096], temporary[4096];
	int fd;

	memcpy(fuzz->bytes, fuzz->shared->slot[slot->like].base.bytes, slot->header);
	make_body(fuzz->bytes + slot->header, slot->size - slot->header, next_random(fuzz) | 1);
	snprintf(name, sizeof(name), "organs/fsfuzz-%u", fuzz->number);
	path_of(fuzz, name, path);
	snprintf(name, sizeof(name), "organs/fsfuzz-%u.tmp", fuzz->number);
	path_of(fuzz, name, temporary);
	say(fuzz, "%s: %zu bytes as of %s%s", path, n, slot->path, renamed ? ", renamed" : "");
	fd = open(renamed ? temporary : path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	expect(fuzz, fd, 0, "open");
	if (write(fd, fuzz->bytes, n) != (ssize_t)n)
		wrong(fuzz, "write: %s", strerror(errno));
	expect(fuzz, close(fd), renamed || kept ? 0 : EINVAL, "close");
	if (renamed) {
		expect(fuzz, rename(temporary, path), kept ? 0 : EPERM, "rename");
		expect(fuzz, unlink(kept ? path : temporary), 0, "unlink");
	} else if (unlink(path) < 0 && (kept || errno != ENOENT)) {
		wrong(fuzz, "unlink: %s", strerror(errno));
	}
}

void close_private(struct fuzz *fuzz)
{
	name_private(fuzz, false);
}

void rename_private(struct fuzz *fuzz)
{
	name_private(fuzz, true);
}

static void forget(struct scratch *scratch)
{
	put_file(scratch->file);
	scratch->file = NULL;
}

void remove_scratch(struct fuzz *fuzz)
{
	struct scratch *scratch = some_scratch(fuzz);
	char path[4096];

	path_of(fuzz, scratch->path, path);
	say(fuzz, "unlink %s", scratch->path);
	expect(fuzz, unlink(path), scratch->file ? 0 : ENOENT, "unlink");
	forget(scratch);
}

void rename_scratch(struct fuzz *fuzz)
{
	struct scratch *from = some_scratch(fuzz), *to = some_scratch(fuzz);
	const unsigned flags = one_in(fuzz, 3) ? RENAME_NOREPLACE : 0;
	char path[4096], target[4096];
	int expected = 0;

	path_of(fuzz, from->path, path);
	path_of(fuzz, to->path, target);
	say(fuzz, "rename %s to %s, flags %u", from->path, to->path, flags);
	if (!from->file)
		expected = ENOENT;
	else if (flags && to->file)
		expected = EEXIST;
	else if (from != to && from->file != to->file && is_beside_keys(from) != is_beside_keys(to))
		expected = EXDEV;
	expect(fuzz, renameat2(AT_FDCWD, path, AT_FDCWD, target, flags), expected, "rename");
	/* rename() between two names of one file does nothing. */
	if (expected || from == to || from->file == to->file)
		return;
	forget(to);
	to->file = from->file;
	from->file = NULL;
}

void link_scratch(struct fuzz *fuzz)
{
	struct scratch *from = &fuzz->scratch[below(fuzz, 4)], *to = &fuzz->scratch[below(fuzz, 4)];
	struct slot *slot = any_slot(fuzz, false);
	const bool organ = one_in(fuzz, 3);
	const char *name = organ ? slot->path : from->path;
	char path[4096], target[4096];
	bool there = from->file != NULL;

	if (organ && handles_of(fuzz, slot, 1u << MAKER))
		return;
	if (organ)
		there = slot->now.exists;
	path_of(fuzz, name, path);
	path_of(fuzz, to->path, target);
	say(fuzz, "link %s to %s", name, to->path);
	expect(fuzz, link(path, target), !there ? ENOENT : to->file ? EEXIST : 0, "link");
	if (!there || to->file)
		return;
	if (organ) {
		to->file = new_file(fuzz, slot->now.bytes, slot->now.size);
	} else {
		to->file = from->file;
		to->file->refs++;
	}
}

static bool has_two_names(const struct fuzz *fuzz, const struct file *file)
{
	unsigned n = 0;

	for (unsigned i = 0; i < SCRATCHES_MAX; i++)
		n += fuzz->scratch[i].file == file;
	return n > 1;
}

/* Move a private file onto a slot: a graft. If the slot is empty, link() may do it, as ln does.
 * Open files that have another name too are not used. */
void graft_scratch(struct fuzz *fuzz)
{
	struct scratch *scratch = &fuzz->scratch[below(fuzz, 4)];
	struct slot *slot = any_slot(fuzz, false);
	struct file *file = scratch->file;
	enum fit fit = file ? fits(fuzz, slot, file->bytes, file->size) : FITS_NOT;
	const bool links = one_in(fuzz, 4);
	char path[4096], target[4096];
	int rc;

	if (!file || has_two_names(fuzz, file) || (links && handles_of(fuzz, slot, 1u << MAKER)))
		return;
	path_of(fuzz, scratch->path, path);
	path_of(fuzz, slot->path, target);
	say(fuzz, "%s %s to %s", links ? "link" : "rename", scratch->path, slot->path);
	if (links && slot->now.exists) {
		expect(fuzz, link(path, target), EEXIST, "link");
		return;
	}
	if (fit != FITS_NOT)
		begin_change(slot, file->bytes, file->size);
	rc = links ? link(path, target) : rename(path, target);
	if (fit == FITS_MAYBE && rc < 0 && errno == (links ? EINVAL : EPERM))
		fit = FITS_NOT;
	expect(fuzz, rc, fit != FITS_NOT ? 0 : links ? EINVAL : EPERM, "graft");
	end_changes(fuzz, rc == 0);
	if (rc == 0 && !links) {
		place(fuzz, file, slot);
		forget(scratch);
	}
}

/* Move a slot to a private name. */
void set_aside(struct fuzz *fuzz)
{
	struct scratch *scratch = &fuzz->scratch[below(fuzz, 4)];
	struct slot *slot = any_slot(fuzz, false);
	char path[4096], target[4096];

	if (!slot->now.exists)
		return;
	path_of(fuzz, slot->path, path);
	path_of(fuzz, scratch->path, target);
	say(fuzz, "rename %s to %s", slot->path, scratch->path);
	begin_change(slot, NULL, 0);
	expect(fuzz, rename(path, target), 0, "rename");
	displace(fuzz, slot);
	forget(scratch);
	scratch->file = new_file(fuzz, slot->now.bytes, slot->now.size);
	end_changes(fuzz, true);
}

void drop_scratches(struct fuzz *fuzz)
{
	char path[4096];

	for (unsigned i = 0; i < SCRATCHES_MAX; i++) {
		path_of(fuzz, fuzz->scratch[i].path, path);
		if (unlink(path) < 0 && errno != ENOENT)
			wrong(fuzz, "%s: %s", fuzz->scratch[i].path, strerror(errno));
		forget(&fuzz->scratch[i]);
	}
}
