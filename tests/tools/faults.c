/* SPDX-License-Identifier: MIT */
/* faults.c - organfs on a disk that fails on demand. A program of its own is linked with
 * -Wl,--wrap for every call below, so that only calls of organfs itself and SQLite count:
 *
 *	ORGANFS_FAULT=CALL:K:FAULT   the K-th CALL fails; CALL "any" stands for all calls that
 *				     change the disk, "reads" for all that read from it
 *	ORGANFS_FAULT_LOG=FILE       gets a line that names the call
 *
 * FAULT is EIO or ENOSPC; EIO+ or ENOSPC+ for that call and all later ones; kill: the process ends
 * there as in a power cut; or hold:FILE, hold+:FILE: if FILE exists when the call arrives, the
 * call waits until FILE is gone or is another file. A failed call is not made, except that a write
 * to a full disk writes half. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct plan {
	char call[32];
	unsigned long k;
	int code; /* 0: kill */
	bool for_good;
	const char *file; /* of hold; NULL for another fault */
};

static bool read_plan(struct plan *plan)
{
	const char *text = getenv("ORGANFS_FAULT");
	char what[16];
	int n;

	if (!text || sscanf(text, "%31[^:]:%lu:%15[^:]%n", plan->call, &plan->k, what, &n) != 3)
		return false;
	plan->code = strncmp(what, "EIO", 3) == 0      ? EIO
		     : strncmp(what, "ENOSPC", 6) == 0 ? ENOSPC
						       : 0;
	plan->for_good = strchr(what, '+') != NULL;
	plan->file = text[n] ? text + n + 1 : NULL;
	return true;
}

/* Log the call, not through write(), which is wrapped. */
static void tell(const char *call)
{
	const char *path = getenv("ORGANFS_FAULT_LOG");
	const int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path,
					   O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)
			    : -1;
	char line[64];
	const int n = snprintf(line, sizeof(line), "%s\n", call);

	if (fd < 0)
		return;
	syscall(SYS_write, fd, line, (size_t)n);
	syscall(SYS_close, fd);
}

int __real_fstatat64(int dir, const char *path, struct stat *stat, int flags);

/* Wait until the file is gone or is another one. Keeps errno. */
static void hold(const char *call, const char *path)
{
	const int error = errno;
	struct stat first, now;

	if (__real_fstatat64(AT_FDCWD, path, &first, 0) == 0) {
		tell(call);
		while (__real_fstatat64(AT_FDCWD, path, &now, 0) == 0 && now.st_ino == first.st_ino)
			usleep(2000);
	}
	errno = error;
}

/* Does this call of that kind fail? Sets errno if it does. */
static bool fails_of(const char *kind, const char *call)
{
	static atomic_ulong calls;
	struct plan plan;
	unsigned long k;

	if (!read_plan(&plan) || (strcmp(plan.call, kind) != 0 && strcmp(plan.call, call) != 0))
		return false;
	k = atomic_fetch_add(&calls, 1) + 1;
	if (k < plan.k || (k > plan.k && !plan.for_good))
		return false;
	if (plan.file) {
		hold(call, plan.file);
		return false;
	}
	tell(call);
	if (!plan.code)
		kill(getpid(), SIGKILL);
	errno = plan.code;
	return true;
}

static bool fails(const char *call)
{
	return fails_of("any", call);
}

#define WRAP(name, parameters, arguments)                           \
	int __real_##name parameters;                               \
	int __wrap_##name parameters;                               \
	int __wrap_##name parameters                                \
	{                                                           \
		return fails(#name) ? -1 : __real_##name arguments; \
	}

WRAP(fsync, (int fd), (fd))
WRAP(ftruncate64, (int fd, off_t size), (fd, size))
WRAP(fallocate64, (int fd, int mode, off_t at, off_t n), (fd, mode, at, n))
WRAP(futimens, (int fd, const struct timespec times[2]), (fd, times))
WRAP(mkdir, (const char *path, mode_t mode), (path, mode))
WRAP(mkdirat, (int dir, const char *path, mode_t mode), (dir, path, mode))
WRAP(mknodat, (int dir, const char *path, mode_t mode, dev_t device), (dir, path, mode, device))
WRAP(rmdir, (const char *path), (path))
WRAP(unlinkat, (int dir, const char *path, int flags), (dir, path, flags))
WRAP(symlinkat, (const char *target, int dir, const char *path), (target, dir, path))
WRAP(linkat, (int from, const char *path, int to, const char *new, int flags),
     (from, path, to, new, flags))
WRAP(renameat, (int from, const char *path, int to, const char *new), (from, path, to, new))
WRAP(renameat2, (int from, const char *path, int to, const char *new, unsigned flags),
     (from, path, to, new, flags))

WRAP(sync_file_range, (int fd, off_t at, off_t n, unsigned flags), (fd, at, n, flags))

/* ioctl() shares blocks; its argument is a pointer, or fits in one. Requests to the kernel's FUSE
 * (type 229) reach no disk. */
int __real_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...)
{
	va_list arguments;
	void *argument;

	va_start(arguments, request);
	argument = va_arg(arguments, void *);
	va_end(arguments);
	return _IOC_TYPE(request) != 229 && fails("ioctl") ? -1
							   : __real_ioctl(fd, request, argument);
}

ssize_t __real_copy_file_range(int from, off_t *at, int to, off_t *to_at, size_t n, unsigned flags);
ssize_t __wrap_copy_file_range(int from, off_t *at, int to, off_t *to_at, size_t n, unsigned flags);
ssize_t __wrap_copy_file_range(int from, off_t *at, int to, off_t *to_at, size_t n, unsigned flags)
{
	return fails("copy_file_range") ? -1
					: __real_copy_file_range(from, at, to, to_at, n, flags);
}

ssize_t __real_pwrite64(int fd, const void *bytes, size_t n, off_t at);
ssize_t __wrap_pwrite64(int fd, const void *bytes, size_t n, off_t at);
ssize_t __wrap_pwrite64(int fd, const void *bytes, size_t n, off_t at)
{
	if (!fails("pwrite64"))
		return __real_pwrite64(fd, bytes, n, at);
	if (errno == ENOSPC && __real_pwrite64(fd, bytes, n / 2, at) >= 0)
		errno = ENOSPC;
	return -1;
}

ssize_t __real_write(int fd, const void *bytes, size_t n);
ssize_t __wrap_write(int fd, const void *bytes, size_t n);
ssize_t __wrap_write(int fd, const void *bytes, size_t n)
{
	return fails("write") ? -1 : __real_write(fd, bytes, n);
}

/* Calls that read from a disk. */
#define WRAP_READ(type, failed, name, parameters, arguments)                          \
	type __real_##name parameters;                                                \
	type __wrap_##name parameters;                                                \
	type __wrap_##name parameters                                                 \
	{                                                                             \
		return fails_of("reads", #name) ? (failed) : __real_##name arguments; \
	}

WRAP_READ(ssize_t, -1, pread64, (int fd, void *bytes, size_t n, off_t at), (fd, bytes, n, at))
WRAP_READ(ssize_t, -1, preadv64v2, (int fd, const struct iovec *parts, int n, off_t at, int flags),
	  (fd, parts, n, at, flags))
WRAP_READ(ssize_t, -1, readlinkat, (int dir, const char *path, char *bytes, size_t n),
	  (dir, path, bytes, n))
WRAP_READ(int, -1, fstat64, (int fd, struct stat *stat), (fd, stat))
WRAP_READ(int, -1, fstatat64, (int dir, const char *path, struct stat *stat, int flags),
	  (dir, path, stat, flags))
WRAP_READ(int, -1, faccessat, (int dir, const char *path, int mode, int flags),
	  (dir, path, mode, flags))
WRAP_READ(DIR *, NULL, fdopendir, (int fd), (fd))
WRAP_READ(struct dirent *, NULL, readdir64, (DIR * entries), (entries))

int __real_openat64(int dir, const char *path, int flags, ...);
int __wrap_openat64(int dir, const char *path, int flags, ...);
int __wrap_openat64(int dir, const char *path, int flags, ...)
{
	va_list arguments;
	mode_t mode;

	if (!(flags & O_CREAT))
		return fails_of("reads", "openat64") ? -1 : __real_openat64(dir, path, flags);
	va_start(arguments, flags);
	mode = va_arg(arguments, mode_t);
	va_end(arguments);
	return fails("openat64") ? -1 : __real_openat64(dir, path, flags, mode);
}

/* open() for SQLite, set in its VFS: --wrap does not change calls within a shared library. */
static int open_for_sqlite(const char *path, int flags, int mode)
{
	return flags & O_CREAT ? __wrap_openat64(AT_FDCWD, path, flags, (mode_t)mode)
			       : __wrap_openat64(AT_FDCWD, path, flags);
}

static int unlink_for_sqlite(const char *path)
{
	return __wrap_unlinkat(AT_FDCWD, path, 0);
}

static int access_for_sqlite(const char *path, int mode)
{
	return __wrap_faccessat(AT_FDCWD, path, mode, 0);
}

/* The VFS calls fdatasync() by name, and an executable's definition comes first. */
int fdatasync(int fd)
{
	return fails("fdatasync") ? -1 : (int)syscall(SYS_fdatasync, fd);
}

__attribute__((constructor)) static void wrap_sqlite(void)
{
	static const struct {
		const char *name;
		sqlite3_syscall_ptr call;
	} calls[] = {
		{ "open", (sqlite3_syscall_ptr)open_for_sqlite },
		{ "access", (sqlite3_syscall_ptr)access_for_sqlite },
		{ "fstat", (sqlite3_syscall_ptr)__wrap_fstat64 },
		{ "ftruncate", (sqlite3_syscall_ptr)__wrap_ftruncate64 },
		{ "pread", (sqlite3_syscall_ptr)__wrap_pread64 },
		{ "pread64", (sqlite3_syscall_ptr)__wrap_pread64 },
		{ "pwrite", (sqlite3_syscall_ptr)__wrap_pwrite64 },
		{ "pwrite64", (sqlite3_syscall_ptr)__wrap_pwrite64 },
		{ "unlink", (sqlite3_syscall_ptr)unlink_for_sqlite },
	};
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);

	for (size_t i = 0; vfs && i < sizeof(calls) / sizeof(calls[0]); i++)
		vfs->xSetSystemCall(vfs, calls[i].name, calls[i].call);
}
