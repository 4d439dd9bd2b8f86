/* SPDX-License-Identifier: MIT */
/* database_fault.c - see database_fault.h. */
#include "tests/unit/database_fault.h"
#include "tests/unit/temp_dir.h"

#include <sqlite3.h>
#include <stdatomic.h>
#include <sys/syscall.h>

static atomic_int failing_code;
static atomic_bool has_failed;
static const char *while_exists;
static atomic_int failing_sync;
static atomic_bool fails_then;

static ssize_t faulty_pwrite(int fd, const void *bytes, size_t n, off_t at)
{
	if (!atomic_load(&failing_code) || (while_exists && access(while_exists, F_OK) < 0))
		return pwrite(fd, bytes, n, at);
	atomic_store(&has_failed, true);
	errno = atomic_load(&failing_code);
	return -1;
}

static ssize_t faulty_write(int fd, const void *bytes, size_t n)
{
	if (!atomic_load(&failing_code) || (while_exists && access(while_exists, F_OK) < 0))
		return write(fd, bytes, n);
	atomic_store(&has_failed, true);
	errno = atomic_load(&failing_code);
	return -1;
}

void database_writes_fail(int code, const char *path)
{
	static const char *const calls[] = { "pwrite", "pwrite64" };
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);

	while_exists = path;
	atomic_store(&has_failed, false);
	atomic_store(&failing_code, code);
	/* SQLite's build decides between write() and pwrite(). */
	vfs->xSetSystemCall(vfs, "write", (sqlite3_syscall_ptr)faulty_write);
	for (size_t i = 0; i < ARRAY_LENGTH(calls); i++)
		vfs->xSetSystemCall(vfs, calls[i], (sqlite3_syscall_ptr)faulty_pwrite);
}

void database_syncs_fail(int code)
{
	atomic_store(&failing_sync, code);
	atomic_store(&fails_then, false);
}

void database_fails_from_sync(int code)
{
	database_writes_fail(0, NULL);
	atomic_store(&failing_sync, code);
	atomic_store(&fails_then, true);
}

/* The VFS calls fdatasync() by name, and an executable's definition comes first. */
int fdatasync(int fd)
{
	if (!atomic_load(&failing_sync))
		return (int)syscall(SYS_fdatasync, fd);
	if (atomic_load(&fails_then))
		atomic_store(&failing_code, atomic_load(&failing_sync));
	errno = atomic_load(&failing_sync);
	return -1;
}

bool database_write_failed(void)
{
	atomic_store(&failing_code, 0);
	return atomic_load(&has_failed);
}
