/* SPDX-License-Identifier: MIT */
/* copy_range.h - bytes of one file put into another by the cheapest way the filesystem has: sharing
 * the blocks (reflinks), copying inside the kernel, or reading and writing.
 *
 * Whether the other file is still what it was is for the caller to find out afterwards. */
#ifndef FS_ASSEMBLE_COPY_RANGE_H
#define FS_ASSEMBLE_COPY_RANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A file that is being filled from its beginning to its end. */
struct copy_range {
	int fd;
	uint64_t block; /* bytes; only whole ones can be shared */
	bool by_kernel; /* may it copy without us? */
	struct progress *progress;
	char *buffer;		  /* COPY_RANGE_BUFFER bytes */
	uint64_t started, waited; /* writeback before this offset was started, has ended */
};

#define COPY_RANGE_BUFFER ((size_t)1 << 20)

/* fd is open for reading and writing. It and the progress, which counts what is done and can be
 * cancelled, are borrowed. Returns 0 or -errno; release it either way. */
int copy_range_init(struct copy_range *share, int fd, struct progress *progress);
void copy_range_release(struct copy_range *share);

/* Let the whole file be that of the descriptor from. Counts nothing as done. Returns 1, 0 it cannot
 * be shared, or -errno: ENOSPC, EDQUOT, EIO. */
int copy_range_clone_file(struct copy_range *share, int from);

/* Would copy_range_clone() share some of the n bytes at offset that are to lie at at, in blocks of
 * that size? */
bool copy_range_can_clone(uint64_t block, uint64_t offset, uint64_t n, uint64_t at);

/* Share what can be of the n bytes that lie at offset in from and are to lie at at: whole blocks,
 * and only where both lie alike in them. *first and *end say which bytes of the file those are;
 * none at all: both are at. Returns 0 or -errno as copy_range_clone_file(). */
int copy_range_clone(struct copy_range *share, int from, uint64_t offset, uint64_t n, uint64_t at,
		     uint64_t *first, uint64_t *end);

/* Make sure that there is room on the disk for n bytes at at, where the filesystem can tell. What
 * is shared there is let go of before, as far as it is whole blocks. Returns 0 or -errno: ENOSPC,
 * EDQUOT, EFBIG. */
int copy_range_reserve(struct copy_range *share, uint64_t at, uint64_t n);

/* Copy the n bytes at offset in from to at. Returns 0 or -errno: ENODATA they cannot be read, or
 * are not there; EINTR cancelled; else why the file cannot be written. */
int copy_range_copy(struct copy_range *share, int from, uint64_t offset, uint64_t n, uint64_t at);

/* Write n bytes. Returns 0 or -errno. */
int copy_range_write(struct copy_range *share, const void *bytes, size_t n, uint64_t at);

#endif
