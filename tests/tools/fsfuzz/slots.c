/* SPDX-License-Identifier: MIT */
/* slots.c - organs and keys by their names: opened, put in force by close(), moved, removed. */
#include "fsfuzz.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#define RENAME_EXCHANGE	 2
#endif

#define MAKERS (1u << MAKER)

static struct slot *some_slot(struct fuzz *fuzz)
{
	return any_slot(fuzz, one_in(fuzz, 4));
}

/* ## open */

static int open_handle_at(struct fuzz *fuzz, const char *path, int flags)
{
	struct {
		struct file_handle handle;
		unsigned char room[128];
	} to = { .handle = { .handle_bytes = 128 } };
	int mount, at = -1, fd = -1, known = open(path, O_PATH | O_CLOEXEC), error;

	if (known >= 0 && name_to_handle_at(AT_FDCWD, path, &to.handle, &mount, 0) == 0)
		at = open(fuzz->mnt, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (at >= 0)
		fd = open_by_handle_at(at, &to.handle, flags);
	error = errno;
	if (at >= 0)
		close(at);
	if (known >= 0)
		close(known);
	errno = error;
	return fd;
}

static int open_again(const char *path, int flags)
{
	const int known = open(path, O_PATH | O_CLOEXEC);
	char link[64];
	int fd = -1, error;

	if (known < 0)
		return -1;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", known);
	fd = open(link, flags);
	error = errno;
	close(known);
	errno = error;
	return fd;
}

/* Open by name, or without one; *nameless tells which. */
static int open_somehow(struct fuzz *fuzz, const char *path, int *flags, bool *nameless)
{
	const unsigned way = (unsigned)below(fuzz, 6);

	*nameless = way == 0 || (way == 1 && fuzz->handles_work);
	if (!*nameless)
		return open(path, *flags, 0600);
	*flags &= ~(O_APPEND | O_CREAT | O_NOFOLLOW);
	say_more(fuzz, way ? ", by handle" : ", through /proc");
	return way ? open_handle_at(fuzz, path, *flags) : open_again(path, *flags);
}

static void add_handle(struct fuzz *fuzz, enum handle_kind kind, int fd, int flags,
		       struct slot *slot, struct file *file)
{
	struct handle *handle = free_handle(fuzz);

	*handle = (struct handle){
		.fd = fd, .flags = flags, .slot = slot, .file = file, .most = MOST
	};
	handle->kind = kind;
	/* Others wait for a file opened for writing. */
	handle->busy = (flags & O_ACCMODE) != O_RDONLY;
	say_more(fuzz, ", which is %d", (int)(handle - fuzz->handle));
}

/* The file that is making the slot, or NULL. */
static struct file *file_being_made(struct fuzz *fuzz, const struct slot *slot)
{
	for (unsigned i = 0; i < HANDLES_MAX; i++) {
		struct handle *handle = &fuzz->handle[i];

		if (handle->kind == MAKER && handle->slot == slot && !slot->now.exists)
			return handle->file;
	}
	return NULL;
}

static void share_file(struct fuzz *fuzz, struct slot *slot, struct file *file, int fd, int flags)
{
	expect(fuzz, fd, 0, "open of a file that is being made");
	file->refs++;
	add_handle(fuzz, MAKER, fd, flags, slot, file);
}

void open_reader(struct fuzz *fuzz)
{
	static const int more[] = { 0, 0, O_DIRECT, O_NONBLOCK, O_NOFOLLOW };
	struct slot *slot = some_slot(fuzz);
	struct file *made = file_being_made(fuzz, slot);
	int flags = O_RDONLY | O_CLOEXEC | more[below(fuzz, 5)];
	char path[4096];
	bool nameless;
	int fd;

	if (!free_handle(fuzz) || (made && slot->key))
		return;
	path_of(fuzz, slot->path, path);
	say(fuzz, "open %s to read, flags %o", slot->path, (unsigned)flags);
	fd = open_somehow(fuzz, path, &flags, &nameless);
	if (made) {
		share_file(fuzz, slot, made, fd, flags);
		return;
	}
	expect(fuzz, fd, slot->now.exists ? 0 : ENOENT, "open");
	if (fd >= 0)
		add_handle(fuzz, READER, fd, flags, slot,
			   new_file(fuzz, slot->now.bytes, slot->now.size));
}

/* Open a slot that is empty, or is being made. */
static void make_slot(struct fuzz *fuzz, struct slot *slot, const char *path, int flags)
{
	struct file *made = file_being_made(fuzz, slot);
	const unsigned how = (unsigned)below(fuzz, 6);
	int fd;

	if (how > 0)
		flags |= O_CREAT;
	if (how == 1)
		flags |= O_EXCL;
	say(fuzz, "open %s to make it, flags %o", slot->path, (unsigned)flags);
	fd = open(path, flags, 0600);
	if (made && how != 1) {
		if (flags & O_TRUNC)
			made->size = 0;
		share_file(fuzz, slot, made, fd, flags);
		return;
	}
	expect(fuzz, fd, made ? EEXIST : how ? 0 : ENOENT, "open");
	if (fd >= 0)
		add_handle(fuzz, MAKER, fd, flags, slot, new_file(fuzz, NULL, 0));
}

void open_writer(struct fuzz *fuzz)
{
	static const int more[] = { 0, 0, O_TRUNC, O_TRUNC, O_TRUNC, O_APPEND, O_DIRECT, O_SYNC };
	struct slot *slot = some_slot(fuzz);
	int flags = (one_in(fuzz, 2) ? O_RDWR : O_WRONLY) | O_CLOEXEC | more[below(fuzz, 8)];
	bool nameless = false;
	struct handle *handle;
	char path[4096];
	int fd;

	handle = free_handle(fuzz);
	if (!handle)
		return;
	path_of(fuzz, slot->path, path);
	if (!slot->now.exists) {
		make_slot(fuzz, slot, path, flags);
		return;
	}
	if (one_in(fuzz, 4))
		flags |= O_CREAT;
	say(fuzz, "open %s to write, flags %o", slot->path, (unsigned)flags);
	if (one_in(fuzz, 12)) {
		expect(fuzz, open(path, flags | O_CREAT | O_EXCL, 0600), EEXIST, "O_EXCL");
		return;
	}
	fd = slot->key ? open(path, flags, 0600) : open_somehow(fuzz, path, &flags, &nameless);
	/* The kernel reads that file by passthrough. */
	if (nameless && fd < 0 && errno == EBUSY)
		return;
	expect(fuzz, fd, 0, "open");
	add_handle(fuzz, STAGE, fd, flags, slot,
		   new_file(fuzz, slot->now.bytes, flags & O_TRUNC ? 0 : slot->now.size));
	handle->nameless = nameless;
	handle->most = nameless ? slot->now.size : MOST;
}

/* ## close */

/* Can the content still be in a map, so that the file has no more than its size? */
static bool awaits_map(const struct handle *handle)
{
	const struct file *file = handle->file;
	const size_t n = 512;

	if ((handle->flags & O_ACCMODE) != O_RDWR || handle->nameless || file->size < n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (file->bytes[i])
			return false;
	return true;
}

static bool others_busy(const struct fuzz *fuzz, const struct handle *handle)
{
	for (unsigned i = 0; i < HANDLES_MAX; i++)
		if (&fuzz->handle[i] != handle && fuzz->handle[i].kind != CLOSED &&
		    fuzz->handle[i].file == handle->file && fuzz->handle[i].busy)
			return true;
	return false;
}

/* Wait until the name has that size, or is gone: the release may follow close(). */
static void wait_until(struct fuzz *fuzz, const char *name, long size)
{
	const uint64_t end = milliseconds() + 20000;
	char path[4096];
	struct stat attr;

	path_of(fuzz, name, path);
	for (;;) {
		const int rc = stat(path, &attr);

		if (size < 0 ? rc < 0 && errno == ENOENT : rc == 0 && attr.st_size == size)
			return;
		if ((rc < 0 && errno != ENOENT) || milliseconds() > end)
			wrong(fuzz, "%s: %s instead of %ld bytes, long after the close", name,
			      rc < 0 ? strerror(errno) : "another size", size);
		usleep(1000);
	}
}

/* Close fd, one of the descriptors of a writer. */
static void commit(struct fuzz *fuzz, struct handle *handle, int fd)
{
	struct slot *slot = handle->slot;
	struct file *file = handle->file;
	const bool commits = (handle->flags & O_ACCMODE) != O_RDONLY && file->written &&
			     !others_busy(fuzz, handle) && !awaits_map(handle);
	const enum fit fit = fits(fuzz, slot, file->bytes, file->size);
	int rc;

	if (commits && fit != FITS_NOT)
		begin_change(slot, file->bytes, file->size);
	rc = close(fd);
	handle->busy = false;
	if (!commits) {
		expect(fuzz, rc, 0, "close");
		return;
	}
	if (fit == FITS_MAYBE && rc < 0 && errno == EINVAL)
		end_changes(fuzz, false);
	else
		expect(fuzz, rc, fit == FITS_NOT ? EINVAL : 0, "close");
	if (rc == 0) {
		end_changes(fuzz, true);
		file->written = false;
		file->over = true;
	}
}

/* The last descriptor of a file that made a slot is closed: the name is a slot, or gone. */
static void settle_made(struct fuzz *fuzz, struct slot *slot)
{
	if (handles_of(fuzz, slot, MAKERS) == 0)
		wait_until(fuzz, slot->path, slot->now.exists ? (long)slot->now.size : -1);
}

/* An emptied key is empty once the kernel has closed the file, which a look-up waits for. */
static void settle_emptied(struct fuzz *fuzz, struct slot *slot)
{
	begin_change(slot, fuzz->bytes, 0);
	wait_until(fuzz, slot->path, 1);
	end_changes(fuzz, true);
}

void close_this(struct fuzz *fuzz, struct handle *handle)
{
	struct slot *slot = handle->slot;
	struct file *file = handle->file;
	const bool stage = handle->kind == STAGE || handle->kind == MAKER;
	const bool maker = handle->kind == MAKER;
	const bool emptied = handle->kind == STAGE && slot->key && file->size == 0 &&
			     !file->written && slot->now.size > 1;

	/* A new key without content stays as a name, and is no key. */
	if (maker && slot->key && !file->written && !slot->now.exists &&
	    handles_of(fuzz, slot, MAKERS) == 1) {
		if (pwrite(handle->fd, "x", 1, 0) != 1)
			wrong(fuzz, "write: %s", strerror(errno));
		file->bytes[0] = 'x';
		file->size = file->size ? file->size : 1;
		file->written = handle->busy = true;
	}
	say(fuzz, "%d: close, %zu bytes%s, %s", (int)(handle - fuzz->handle), file->size,
	    file->written ? " written" : "", slot ? slot->path : "private");
	if (emptied)
		begin_change(slot, fuzz->bytes, 0);
	if (stage)
		commit(fuzz, handle, handle->fd);
	else
		expect(fuzz, close(handle->fd), 0, "close");
	if (handle->map && memcmp(handle->map, file->bytes, handle->mapped) != 0)
		wrong(fuzz, "its map has changed");
	unmap(handle);
	handle->kind = CLOSED;
	put_file(file);
	if (maker)
		settle_made(fuzz, slot);
	if (emptied)
		settle_emptied(fuzz, slot);
}

void close_handle(struct fuzz *fuzz)
{
	struct handle *handle = any_handle(fuzz, ~0u);

	if (handle)
		close_this(fuzz, handle);
}

void duplicate_handle(struct fuzz *fuzz)
{
	struct handle *handle = any_handle(fuzz, ~0u);
	int fd;

	if (!handle || (handle->slot && handle->slot->key))
		return;
	say(fuzz, "%d: dup, and close of the first", (int)(handle - fuzz->handle));
	fd = dup(handle->fd);
	expect(fuzz, fd, 0, "dup");
	if (handle->kind == STAGE || handle->kind == MAKER) {
		commit(fuzz, handle, handle->fd);
	} else {
		expect(fuzz, close(handle->fd), 0, "close");
		handle->busy = false;
	}
	handle->fd = fd;
}

/* ## names */

static bool is_made(const struct fuzz *fuzz, const struct slot *slot)
{
	return handles_of(fuzz, slot, MAKERS) > 0 && !slot->now.exists;
}

/* unlink() by another process. A refusal of the next file under that name by this process would
 * undo this process's removal, unless other processes change the model in between. */
static int unlink_in_child(struct fuzz *fuzz, const char *path)
{
	int status = 0;
	const pid_t pid = fork();

	if (pid == 0)
		_exit(unlink(path) < 0 ? errno : 0);
	expect(fuzz, pid, 0, "fork");
	expect(fuzz, waitpid(pid, &status, 0), 0, "waitpid");
	errno = WEXITSTATUS(status);
	return status ? -1 : 0;
}

void remove_slot(struct fuzz *fuzz)
{
	struct slot *slot = some_slot(fuzz);
	const bool there = slot->now.exists || is_made(fuzz, slot);
	char path[4096];

	path_of(fuzz, slot->path, path);
	say(fuzz, "unlink %s", slot->path);
	begin_change(slot, NULL, 0);
	expect(fuzz, unlink_in_child(fuzz, path), there ? 0 : ENOENT, "unlink");
	end_changes(fuzz, true);
	displace(fuzz, slot);
	expect(fuzz, access(path, F_OK), ENOENT, "access after unlink");
}

void move_slot(struct fuzz *fuzz)
{
	const bool key = one_in(fuzz, 4);
	struct slot *from = any_slot(fuzz, key), *to = any_slot(fuzz, key);
	enum fit fit = fits(fuzz, to, from->now.bytes, from->now.size);
	char path[4096], target[4096];
	const unsigned flags = one_in(fuzz, 4) ? RENAME_NOREPLACE : 0;
	const bool refused = flags && (to->now.exists || is_made(fuzz, to));
	int rc;

	if (from == to || !from->now.exists)
		return;
	path_of(fuzz, from->path, path);
	path_of(fuzz, to->path, target);
	say(fuzz, "rename %s to %s, flags %u", from->path, to->path, flags);
	if (fit != FITS_NOT && !refused) {
		begin_change(to, from->now.bytes, from->now.size);
		/* The shown newline is the only one in a key's value. */
		if (key)
			to->next = from->now;
		begin_change(from, NULL, 0);
	}
	rc = renameat2(AT_FDCWD, path, AT_FDCWD, target, flags);
	if (fit == FITS_MAYBE && rc < 0 && errno == EPERM)
		fit = FITS_NOT;
	expect(fuzz, rc, refused ? EEXIST : fit == FITS_NOT ? EPERM : 0, "rename");
	end_changes(fuzz, rc == 0);
	if (rc == 0) {
		displace(fuzz, from);
		displace(fuzz, to);
	}
}

void link_slot(struct fuzz *fuzz)
{
	struct slot *from = any_slot(fuzz, false), *to = any_slot(fuzz, false);
	enum fit fit = fits(fuzz, to, from->now.bytes, from->now.size);
	char path[4096], target[4096];
	int rc;

	if (from == to || !from->now.exists || is_made(fuzz, from) || is_made(fuzz, to))
		return;
	path_of(fuzz, from->path, path);
	path_of(fuzz, to->path, target);
	say(fuzz, "link %s to %s", from->path, to->path);
	if (to->now.exists) {
		expect(fuzz, link(path, target), EEXIST, "link");
		return;
	}
	begin_change(to, from->now.bytes, from->now.size);
	rc = link(path, target);
	if (fit == FITS_MAYBE && rc < 0 && errno == EINVAL)
		fit = FITS_NOT;
	expect(fuzz, rc, fit == FITS_NOT ? EINVAL : 0, "link");
	end_changes(fuzz, rc == 0);
}

void undo_slot(struct fuzz *fuzz)
{
	struct slot *slot = some_slot(fuzz);
	char path[4096], word[160];
	int fd, n;

	if (handles_of(fuzz, slot, MAKERS) || (!slot->now.exists && !slot->base.exists))
		return;
	path_of(fuzz, ".undo", path);
	n = snprintf(word, sizeof(word), "%s\n", slot->path);
	say(fuzz, "undo %s", slot->path);
	begin_change(slot, slot->base.exists ? slot->base.bytes : NULL, slot->base.size);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	expect(fuzz, fd, 0, "open .undo");
	expect(fuzz, write(fd, word, (size_t)n), 0, "write to .undo");
	expect(fuzz, close(fd), 0, "close of .undo");
	end_changes(fuzz, true);
}

/* ## attributes */

static void check_number(struct fuzz *fuzz, const struct slot *slot, const struct stat *attr)
{
	const unsigned number = slot_number(fuzz, slot);
	const bool unchanged =
		fuzz->seen[number].ino && fuzz->seen[number].generation == fuzz->generation[number];

	if (unchanged && fuzz->seen[number].ino != attr->st_ino)
		wrong(fuzz, "the inode number is %lx, and was %lx with this content",
		      (unsigned long)attr->st_ino, (unsigned long)fuzz->seen[number].ino);
	fuzz->seen[number].ino = attr->st_ino;
	fuzz->seen[number].generation = fuzz->generation[number];
}

void look_at_slot(struct fuzz *fuzz)
{
	struct slot *slot = some_slot(fuzz);
	const struct file *made = file_being_made(fuzz, slot);
	const size_t size = made ? made->size : slot->now.size;
	const uint8_t *good = made ? made->bytes : slot->now.bytes;
	struct stat attr;
	char path[4096];
	nlink_t links;
	long n;
	int rc;

	path_of(fuzz, slot->path, path);
	say(fuzz, "look at %s", slot->path);
	rc = stat(path, &attr);
	expect(fuzz, rc, made || slot->now.exists ? 0 : ENOENT, "stat");
	if (rc < 0)
		return;
	/* An organ of a block has a second name in blocks/N; a file that is being made has not. */
	links = !made && strstr(slot->path, "/blk_") ? 2 : 1;
	if (!S_ISREG(attr.st_mode) || attr.st_nlink != links || (size_t)attr.st_size != size)
		wrong(fuzz, "mode %o, %u links, %lld bytes instead of %zu", attr.st_mode,
		      (unsigned)attr.st_nlink, (long long)attr.st_size, size);
	if (!made && !slot->key)
		check_number(fuzz, slot, &attr);
	n = read_whole(path, fuzz->bytes);
	expect(fuzz, n, 0, "read of all");
	if ((size_t)n != size || memcmp(fuzz->bytes, good, size) != 0)
		wrong(fuzz, "%s is %ld bytes, and not the right %zu", slot->path, n, size);
}

void attributes_of_slot(struct fuzz *fuzz)
{
	static const char *const names[] = { "user.organfs.tensor", "user.organfs.type",
					     "user.organfs.shape",  "user.organfs.class",
					     "user.organfs.theta",  "user.organfs.xxh128",
					     "user.organfs.read" };
	const char *name = names[below(fuzz, sizeof(names) / sizeof(names[0]))];
	struct slot *slot = any_slot(fuzz, false);
	char path[4096], value[1024];
	ssize_t n;

	if (!slot->now.exists || is_made(fuzz, slot))
		return;
	path_of(fuzz, slot->path, path);
	say(fuzz, "attribute %s of %s", name, slot->path);
	n = getxattr(path, name, NULL, 0);
	expect(fuzz, n, 0, "getxattr for the length");
	/* The read mode may change at any time. */
	if (getxattr(path, name, value, sizeof(value)) != n && strcmp(name + 13, "read") != 0)
		wrong(fuzz, "the length of %s is not %zd", name, n);
	if (n > 1)
		expect(fuzz, getxattr(path, name, value, 1), ERANGE, "getxattr with little room");
	expect(fuzz, getxattr(path, "user.organfs.no", value, 9), ENODATA, "user.organfs.no");
	n = listxattr(path, value, sizeof(value));
	expect(fuzz, n, 0, "listxattr");
	for (const char *at = value; at < value + n; at += strlen(at) + 1)
		expect(fuzz, getxattr(path, at, NULL, 0), 0, at);
}

/* Does the slot have a nameless writer? Then truncate() to 0 counts as the O_TRUNC of an open. */
static bool has_nameless(const struct fuzz *fuzz, const struct slot *slot)
{
	for (unsigned i = 0; i < HANDLES_MAX; i++)
		if (fuzz->handle[i].kind == STAGE && fuzz->handle[i].nameless &&
		    fuzz->handle[i].slot == slot)
			return true;
	return false;
}

/* Make calls that succeed and change nothing. */
void touch_slot(struct fuzz *fuzz)
{
	const struct timespec times[2] = { { 1, 1 }, { (time_t)below(fuzz, 2000000000), 5 } };
	struct slot *slot = any_slot(fuzz, false);
	size_t least;
	struct stat before, after;
	char path[4096];

	if (!slot->now.exists || is_made(fuzz, slot))
		return;
	least = has_nameless(fuzz, slot);
	path_of(fuzz, slot->path, path);
	say(fuzz, "chmod, chown, utimensat, setxattr of %s", slot->path);
	expect(fuzz, stat(path, &before), 0, "stat");
	expect(fuzz, chmod(path, (mode_t)below(fuzz, 0777)), 0, "chmod");
	expect(fuzz, chown(path, getuid(), getgid()), 0, "chown");
	expect(fuzz, utimensat(AT_FDCWD, path, times, 0), 0, "utimensat");
	expect(fuzz, setxattr(path, "user.organfs.shape", "1x1", 3, 0), 0, "setxattr");
	expect(fuzz, setxattr(path, "user.x", "1", 1, 0), EOPNOTSUPP, "setxattr of user.x");
	expect(fuzz, removexattr(path, "user.organfs.shape"), EPERM, "removexattr");
	expect(fuzz, truncate(path, slot->now.size), 0, "truncate to the same");
	expect(fuzz, truncate(path, (off_t)(least + below(fuzz, slot->now.size - least))), EINVAL,
	       "truncate");
	expect(fuzz, stat(path, &after), 0, "stat");
	if (before.st_ino != after.st_ino || before.st_size != after.st_size ||
	    before.st_mode != after.st_mode || before.st_mtim.tv_sec != after.st_mtim.tv_sec)
		wrong(fuzz, "they changed something");
}

static void refuse_existing(struct fuzz *fuzz, const char *path, const char *other)
{
	char below_it[4200], text[16];

	snprintf(below_it, sizeof(below_it), "%s/x", path);
	expect(fuzz, open(path, O_RDONLY | O_DIRECTORY), ENOTDIR, "O_DIRECTORY");
	expect(fuzz, open(below_it, O_RDONLY), ENOTDIR, "a file as a directory");
	expect(fuzz, mkdir(path, 0700), EEXIST, "mkdir onto it");
	expect(fuzz, symlink("x", path), EEXIST, "symlink onto it");
	expect(fuzz, mknod(path, S_IFREG | 0600, 0), EEXIST, "mknod onto it");
	expect(fuzz, rmdir(path), ENOTDIR, "rmdir");
	expect(fuzz, readlink(path, text, sizeof(text)), EINVAL, "readlink");
	expect(fuzz, execl(path, "x", NULL), EACCES, "exec");
	if (access(other, F_OK) == 0)
		expect(fuzz, renameat2(AT_FDCWD, path, AT_FDCWD, other, RENAME_EXCHANGE), EINVAL,
		       "RENAME_EXCHANGE");
}

void refuse_slot(struct fuzz *fuzz)
{
	struct slot *slot = any_slot(fuzz, false), *other = any_slot(fuzz, false);
	char path[4096], second[4096], class[4096];

	if (is_made(fuzz, slot) || is_made(fuzz, other))
		return;
	path_of(fuzz, slot->path, path);
	path_of(fuzz, other->path, second);
	snprintf(class, sizeof(class), "%s", path);
	*strrchr(class, '/') = '\0';
	say(fuzz, "refused operations on %s", slot->path);
	expect(fuzz, open(class, O_RDWR | O_TMPFILE, 0600), EOPNOTSUPP, "O_TMPFILE");
	expect(fuzz, open(class, O_RDWR), EISDIR, "open of a directory");
	if (slot->now.exists) {
		refuse_existing(fuzz, path, slot == other ? "" : second);
		return;
	}
	expect(fuzz, mkdir(path, 0700), EPERM, "mkdir");
	expect(fuzz, mkfifo(path, 0600), EPERM, "mkfifo");
	expect(fuzz, rename(path, second), ENOENT, "rename of nothing");
	expect(fuzz, truncate(path, 0), ENOENT, "truncate of nothing");
}

/* ## writers that end in other ways */

static void new_organ(struct fuzz *fuzz, const struct slot *slot, uint8_t bytes[MOST])
{
	memcpy(bytes, fuzz->shared->slot[slot->like].base.bytes, slot->header);
	make_body(bytes + slot->header, slot->size - slot->header, next_random(fuzz) | 1);
}

/* A map outlives its descriptor: bytes written through the map count when it is unmapped. */
void outlive_close(struct fuzz *fuzz)
{
	struct slot *slot = any_slot(fuzz, false);
	static uint8_t organ[MOST];
	char path[4096];
	uint8_t *map;
	int fd;

	if (!slot->now.exists || is_made(fuzz, slot))
		return;
	path_of(fuzz, slot->path, path);
	new_organ(fuzz, slot, organ);
	say(fuzz, "%s: mmap, close, write, munmap", slot->path);
	fd = open(path, O_RDWR | O_CLOEXEC);
	expect(fuzz, fd, 0, "open");
	expect(fuzz, ftruncate(fd, (off_t)slot->size), 0, "ftruncate");
	map = mmap(NULL, slot->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		wrong(fuzz, "mmap: %s", strerror(errno));
	memcpy(map, organ, slot->size / 2);
	memcpy(map + slot->size / 2, organ + slot->size / 2, slot->size - slot->size / 2);
	begin_change(slot, organ, slot->size);
	expect(fuzz, close(fd), 0, "close");
	end_changes(fuzz, true);
	new_organ(fuzz, slot, organ);
	begin_change(slot, organ, slot->size);
	memcpy(map + slot->header, organ + slot->header, slot->size - slot->header);
	expect(fuzz, munmap(map, slot->size), 0, "munmap");
	for (const uint64_t end = milliseconds() + 20000;; usleep(1000)) {
		const long n = read_whole(path, fuzz->bytes);

		expect(fuzz, n, 0, "read");
		if (n == (long)slot->size && memcmp(fuzz->bytes, organ, slot->size) == 0)
			break;
		if (milliseconds() > end)
			wrong(fuzz, "bytes written through the map are lost");
	}
	end_changes(fuzz, true);
}

/* Kill a writer. The kernel closes its files, and a whole organ counts. */
void kill_writer(struct fuzz *fuzz)
{
	struct slot *slot = any_slot(fuzz, false);
	const bool whole = one_in(fuzz, 2);
	const struct content *due = whole ? &slot->next : &slot->now;
	static uint8_t organ[MOST];
	char path[4096];
	int status;
	pid_t pid;

	if (!slot->now.exists)
		return;
	path_of(fuzz, slot->path, path);
	new_organ(fuzz, slot, organ);
	say(fuzz, "%s: a writer of %s is killed", slot->path, whole ? "all" : "a part");
	if (whole)
		begin_change(slot, organ, slot->size);
	pid = fork();
	if (pid == 0) {
		const int fd = open(path, O_WRONLY | O_TRUNC);
		const size_t n = whole ? slot->size : slot->size / 2;

		if (fd < 0 || write(fd, organ, n) != (ssize_t)n)
			_exit(1);
		kill(getpid(), SIGKILL);
	}
	expect(fuzz, pid, 0, "fork");
	expect(fuzz, waitpid(pid, &status, 0), 0, "waitpid");
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		wrong(fuzz, "the writer ends with 0x%x", (unsigned)status);
	/* The result of the close at the kill is unknown, because the daemon may be gone too. */
	if (read_whole(path, fuzz->bytes) != (long)due->size ||
	    memcmp(fuzz->bytes, due->bytes, due->size) != 0)
		wrong(fuzz, "%s has an unexpected content", slot->path);
	end_changes(fuzz, whole);
}

/* Have a child write last: its close puts a complete file in force. The child's exit status does
 * not tell whether the daemon was gone by then. */
void write_in_child(struct fuzz *fuzz)
{
	struct handle *handle = any_handle(fuzz, 1u << STAGE);
	struct slot *slot = handle ? handle->slot : NULL;
	struct file *file = handle ? handle->file : NULL;
	bool commits;
	int status;
	size_t at;
	pid_t pid;

	if (!handle || slot->key || file->over || file->size != slot->size ||
	    (handle->flags & O_ACCMODE) == O_RDONLY || handle->flags & O_APPEND ||
	    fits(fuzz, slot, file->bytes, file->size) != FITS)
		return;
	commits = !others_busy(fuzz, handle);
	at = slot->header + below(fuzz, slot->size - slot->header);
	say(fuzz, "%d: a child writes a byte at %zu", (int)(handle - fuzz->handle), at);
	file->bytes[at] = (uint8_t)next_random(fuzz);
	if (commits)
		begin_change(slot, file->bytes, file->size);
	pid = fork();
	if (pid == 0)
		_exit(pwrite(handle->fd, file->bytes + at, 1, (off_t)at) != 1 ||
		      close(handle->fd) < 0);
	expect(fuzz, pid, 0, "fork");
	expect(fuzz, waitpid(pid, &status, 0), 0, "waitpid");
	if (status != 0)
		wrong(fuzz, "the child ends with 0x%x", (unsigned)status);
	handle->busy = false;
	file->over = commits;
	file->written = !commits;
	end_changes(fuzz, commits);
}

/* ## listings */

/* Check that a class lists each expected name of the process once, and no other. */
void list_class(struct fuzz *fuzz)
{
	static const char *const classes[] = { "embed", "norm", "organs", "skeleton" };
	const char *class = classes[below(fuzz, 4)];
	const size_t n = strlen(class);
	unsigned there[SLOTS_MAX] = { 0 };
	const struct dirent *entry;
	DIR *directory;

	say(fuzz, "list %s", class);
	directory = open_directory(fuzz, class);
	for (errno = 0; (entry = readdir(directory)); errno = 0)
		for (unsigned i = 0; i < fuzz->n_own; i++)
			if (strncmp(fuzz->own[i]->path, class, n) == 0 &&
			    strcmp(fuzz->own[i]->path + n + 1, entry->d_name) == 0)
				there[i]++;
	if (errno)
		wrong(fuzz, "readdir: %s", strerror(errno));
	closedir(directory);
	for (unsigned i = 0; i < fuzz->n_own; i++) {
		const struct slot *slot = fuzz->own[i];

		if (strncmp(slot->path, class, n) != 0 || slot->path[n] != '/')
			continue;
		if (there[i] != (slot->now.exists || is_made(fuzz, slot) ? 1 : 0))
			wrong(fuzz, "%s is listed %u times", slot->path, there[i]);
	}
}
