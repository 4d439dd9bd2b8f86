/* SPDX-License-Identifier: MIT */
/* copy_range.h - copy bytes of one file into another by the cheapest way of the filesystem: sharing
 * blocks (reflinks), copying in the kernel, or reading and writing.
 *
 * The caller checks afterwards that the source file has not changed. */
#ifndef FS_ASSEMBLE_COPY_RANGE_H
#define FS_ASSEMBLE_COPY_RANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A file that is being filled from start to end. */
struct copy_range {
	int fd;
	uint64_t block; /* block size in bytes; only whole blocks can be shared */
	bool by_kernel; /* use copy_file_range() */
	struct progress *progress;
	char *buffer;		  /* COPY_RANGE_BUFFER bytes */
	uint64_t started, waited; /* writeback before this offset was started, has ended */
};

#define COPY_RANGE_BUFFER ((size_t)1 << 20)

/* Begin to fill fd, which is open for reading and writing. fd and progress, which counts the bytes
 * and can be cancelled, are borrowed. Returns 0 or -errno; release it either way. */
int copy_range_init(struct copy_range *share, int fd, struct progress *progress);
void copy_range_release(struct copy_range *share);

/* Make the file a clone of the file from. Adds nothing to the progress. Returns 1, 0 if it cannot
 * be shared, or -errno: ENOSPC, EDQUOT, EIO. */
int copy_range_clone_file(struct copy_range *share, int from);

/* Whether copy_range_clone() could share some of n bytes from `offset` to `at`, by block size. */
bool copy_range_can_clone(uint64_t block, uint64_t offset, uint64_t n, uint64_t at);

/* Share n bytes from `offset` of the file `from` to `at`, as far as they are whole blocks, aligned
 * alike in both files. *first and *end delimit the shared bytes of the file; both equal `at` if
 * there are none. Returns 0 or -errno as copy_range_clone_file(). */
int copy_range_clone(struct copy_range *share, int from, uint64_t offset, uint64_t n, uint64_t at,
		     uint64_t *first, uint64_t *end);

/* Reserve disk space for n bytes from `at` on, if the filesystem can. Whole blocks that were shared
 * there are released first. Returns 0 or -errno: ENOSPC, EDQUOT, EFBIG. */
int copy_range_reserve(struct copy_range *share, uint64_t at, uint64_t n);

/* Copy n bytes from `offset` of the file `from` to `at`. Returns 0 or -errno: ENODATA the bytes do
 * not exist or cannot be read; EINTR cancelled; or an error of the file. */
int copy_range_copy(struct copy_range *share, int from, uint64_t offset, uint64_t n, uint64_t at);

/* Write n bytes. Returns 0 or -errno. */
int copy_range_write(struct copy_range *share, const void *bytes, size_t n, uint64_t at);

#endif
