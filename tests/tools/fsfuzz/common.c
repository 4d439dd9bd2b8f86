/* SPDX-License-Identifier: MIT */
/* common.c - files that all processes work on: a process does not know the others' operations, but
 * each content that it reads is whole, and at least as new as the last one confirmed before. */
#include "fsfuzz.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static struct slot *shared_slot(struct fuzz *fuzz)
{
	struct shared *shared = fuzz->shared;
	const uint32_t first = (uint32_t)below(fuzz, shared->slots);

	for (uint32_t i = 0; i < shared->slots; i++) {
		struct slot *slot = &shared->slot[(first + i) % shared->slots];

		if (slot->owner == SHARED_OWNER)
			return slot;
	}
	return NULL;
}

/* ## shared slots */

/* Was another version confirmed by a write that began after the end of this version's write, and
 * before the open of the file? */
static bool is_outdated(struct slot *slot, uint64_t version, uint64_t opened)
{
	const struct shared_write *mine = &slot->writes[version % WRITES_KEPT];
	const uint64_t end = version == 0 ? 1 : mine->version == version ? mine->end : 0;

	for (unsigned i = 0; end && i < WRITES_KEPT; i++) {
		const struct shared_write *write = &slot->writes[i];

		if (write->version != version && write->end && write->end < opened &&
		    write->start > end)
			return true;
	}
	return false;
}

void check_common(struct fuzz *fuzz, struct slot *slot, const uint8_t *bytes, long n,
		  uint64_t opened)
{
	uint64_t version = 0;

	if (n != (long)slot->size)
		wrong(fuzz, "%s: %ld bytes, not %u", slot->path, n, slot->size);
	if (memcmp(bytes, slot->base.bytes, slot->size) != 0) {
		if (!is_body(bytes + slot->header, slot->size - slot->header))
			wrong(fuzz, "%s: a mixture", slot->path);
		memcpy(&version, bytes + slot->header, 8);
		if (version == 0 || version > atomic_load(&slot->versions))
			wrong(fuzz, "%s: version %llu was never written", slot->path,
			      (unsigned long long)version);
	}
	if (is_outdated(slot, version, opened))
		wrong(fuzz, "%s: version %llu, after a later one was confirmed", slot->path,
		      (unsigned long long)version);
}

void read_common(struct fuzz *fuzz)
{
	struct slot *slot = shared_slot(fuzz);
	uint64_t opened;
	struct stat attr;
	char path[4096];
	void *map;
	long n;
	int fd;

	if (!slot)
		return;
	path_of(fuzz, slot->path, path);
	say(fuzz, "read %s", slot->path);
	opened = atomic_fetch_add(&fuzz->shared->clock, 1);
	fd = open(path, O_RDONLY | O_CLOEXEC | (one_in(fuzz, 4) ? O_DIRECT : 0));
	expect(fuzz, fd, 0, "open");
	expect(fuzz, fstat(fd, &attr), 0, "fstat");
	if (attr.st_size != (off_t)slot->size)
		wrong(fuzz, "%s: fstat says %lld bytes", slot->path, (long long)attr.st_size);
	if (one_in(fuzz, 4)) {
		map = mmap(NULL, slot->size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (map == MAP_FAILED)
			wrong(fuzz, "mmap: %s", strerror(errno));
		memcpy(fuzz->bytes, map, slot->size);
		munmap(map, slot->size);
		n = (long)slot->size;
	} else {
		/* Read in two parts, between which the other processes may write. */
		const long first = (long)below(fuzz, slot->size);

		n = pread(fd, fuzz->bytes, (size_t)first, 0);
		if (n == first)
			n += pread(fd, fuzz->bytes + first, MOST - (size_t)first, first);
	}
	close(fd);
	check_common(fuzz, slot, fuzz->bytes, n, opened);
}

void write_common(struct fuzz *fuzz)
{
	struct slot *slot = shared_slot(fuzz);
	struct shared_write *kept;
	char path[4096], other[4096];
	uint64_t version, start;
	const bool renames = one_in(fuzz, 3);
	int fd;

	if (!slot)
		return;
	start = atomic_fetch_add(&fuzz->shared->clock, 1);
	version = atomic_fetch_add(&slot->versions, 1) + 1;
	kept = &slot->writes[version % WRITES_KEPT];
	*kept = (struct shared_write){ .version = version, .start = start };
	memcpy(fuzz->bytes, slot->base.bytes, slot->header);
	make_body(fuzz->bytes + slot->header, slot->size - slot->header, version);
	path_of(fuzz, slot->path, path);
	snprintf(other, sizeof(other), "%s/organs/.fsfuzz-common-%u", fuzz->mnt, fuzz->number);
	say(fuzz, "%s version %llu of %s", renames ? "rename" : "write",
	    (unsigned long long)version, slot->path);
	fd = open(renames ? other : path,
		  O_CLOEXEC | O_WRONLY | (renames || one_in(fuzz, 2) ? O_TRUNC | O_CREAT : 0),
		  0600);
	expect(fuzz, fd, 0, "open");
	for (size_t at = 0, n; at < slot->size; at += n) {
		n = 1 + below(fuzz, slot->size - at);
		if (pwrite(fd, fuzz->bytes + at, n, (off_t)at) != (ssize_t)n)
			wrong(fuzz, "write: %s", strerror(errno));
	}
	expect(fuzz, close(fd), 0, "close");
	if (renames)
		expect(fuzz, rename(other, path), 0, "rename");
	kept->end = atomic_fetch_add(&fuzz->shared->clock, 1);
}

/* ## generated files */

/* Read the whole file while the model changes; its length has to be the size of fstat(). */
static void read_all(struct fuzz *fuzz, const char *name, bool may_be_gone)
{
	struct stat attr;
	char path[4096];
	off_t sum = 0;
	ssize_t got;
	int fd;

	path_of(fuzz, name, path);
	say(fuzz, "read %s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && may_be_gone && (errno == ENOENT || errno == ESTALE || errno == ENODATA))
		return;
	expect(fuzz, fd, 0, "open");
	expect(fuzz, fstat(fd, &attr), 0, "fstat");
	do {
		got = pread(fd, fuzz->bytes, MOST, sum);
		if (got < 0)
			wrong(fuzz, "%s at %lld: %s", name, (long long)sum, strerror(errno));
		sum += got;
	} while (got > 0);
	if (sum != attr.st_size)
		wrong(fuzz, "%s: fstat says %lld bytes, there are %lld", name,
		      (long long)attr.st_size, (long long)sum);
	close(fd);
}

void read_generated(struct fuzz *fuzz)
{
	static const char *const names[] = {
		"model.gguf",  "manifest.json",	  "header.gguf", "theta.svg", "checksums.xxh128",
		".theta",      ".report.json",	  ".table",	 ".grafts",   ".check",
		".undo",       ".recipe",	  ".log",	 ".assemble", "organs/.theta",
		"norm/.theta", ".base/theta.svg",
	};
	const struct slot *slot = any_slot(fuzz, false);
	static const char *const views[] = { ".views/npy/%s.npy", ".views/spectral/%s.bin",
					     ".views/fractal/%s.bin", "%s.theta" };
	char name[200], stem[112];

	if (one_in(fuzz, 2)) {
		read_all(fuzz, names[below(fuzz, sizeof(names) / sizeof(names[0]))], false);
		return;
	}
	snprintf(stem, sizeof(stem), "%.*s", (int)(strlen(slot->path) - 4), slot->path);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(name, sizeof(name), views[below(fuzz, 4)], stem);
#pragma GCC diagnostic pop
	read_all(fuzz, name, true);
}

void read_base(struct fuzz *fuzz)
{
	const struct slot *slot = any_slot(fuzz, false);
	char name[200], path[4096];
	long n;

	if (!slot->base.exists)
		return;
	snprintf(name, sizeof(name), ".base/%s", slot->path);
	path_of(fuzz, name, path);
	say(fuzz, "read %s", name);
	n = read_whole(path, fuzz->bytes);
	expect(fuzz, n, 0, "read");
	if (n != (long)slot->base.size || memcmp(fuzz->bytes, slot->base.bytes, (size_t)n) != 0)
		wrong(fuzz, "%s differs from the base", name);
	expect(fuzz, open(path, O_WRONLY), EACCES, "write to the base");
}

void refuse_common(struct fuzz *fuzz)
{
	static const char *const fixed[] = { "model.gguf", "organs", ".undo", ".views",
					     "metadata" };
	const char *name = fixed[below(fuzz, 5)];
	struct statvfs space;
	char path[4096], other[4096];

	path_of(fuzz, "x", other);
	path_of(fuzz, name, path);
	say(fuzz, "refused operations in the root, on %s", name);
	expect(fuzz, open(other, O_WRONLY | O_CREAT, 0600), EPERM, "create");
	expect(fuzz, mkdir(other, 0700), EPERM, "mkdir");
	expect(fuzz, symlink("x", other), EPERM, "symlink");
	expect(fuzz, rename(path, other), EPERM, "rename");
	expect(fuzz, statvfs(fuzz->mnt, &space), 0, "statvfs");
	path_of(fuzz, "organs/.DS_Store", other);
	expect(fuzz, open(other, O_WRONLY | O_CREAT, 0600), EPERM, "create .DS_Store");
}

DIR *open_directory(struct fuzz *fuzz, const char *name)
{
	char path[4096];
	DIR *directory;

	path_of(fuzz, name, path);
	directory = opendir(path);
	if (!directory)
		wrong(fuzz, "opendir: %s", strerror(errno));
	return directory;
}

/* Walk the tree as find does. Each listed name exists, unless another process owns it. */
void walk(struct fuzz *fuzz)
{
	static const char *const places[] = { "",	  "organs",	   "skeleton",
					      "norm",	  "metadata",	   ".base/organs",
					      ".views",	  ".views/npy",	   ".views/experts",
					      "adapters", ".base/metadata" };
	const char *name = places[below(fuzz, sizeof(places) / sizeof(places[0]))];
	const struct dirent *entry;
	struct stat attr;
	DIR *directory;

	say(fuzz, "walk through /%s", name);
	directory = open_directory(fuzz, name);
	for (errno = 0; (entry = readdir(directory)); errno = 0) {
		if (fstatat(dirfd(directory), entry->d_name, &attr, AT_SYMLINK_NOFOLLOW) < 0 &&
		    errno != ENOENT)
			wrong(fuzz, "%s: %s", entry->d_name, strerror(errno));
		if (one_in(fuzz, 30))
			seekdir(directory, telldir(directory));
	}
	if (errno)
		wrong(fuzz, "readdir: %s", strerror(errno));
	closedir(directory);
}
