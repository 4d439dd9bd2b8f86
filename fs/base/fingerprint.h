/* SPDX-License-Identifier: MIT */
/* fingerprint.h - what tells one base from another. */
#ifndef FS_BASE_FINGERPRINT_H
#define FS_BASE_FINGERPRINT_H

#include <stdbool.h>
#include <stdint.h>

struct backing;
struct gguf;

/* XXH128 of a base's header bytes, its size as u64, and the first and last 64 KiB of its tensor
 * data, as hexadecimal digits. Returns 0, -EIO or -ENOMEM. */
#define FINGERPRINT_TEXT 33
int fingerprint(struct backing *base, const struct gguf *gguf, char text[FINGERPRINT_TEXT]);

/* The same of any file of size bytes with a header of that many, such as an organ file. */
int fingerprint_file(struct backing *file, uint64_t header, uint64_t size,
		     char text[FINGERPRINT_TEXT]);

/* What a fingerprint does not see, the tensor data between its ends: XXH128 of 4 KiB at the
 * beginning of each tensor, of each expert where a tensor is a stack of them, and at the end of
 * each tensor. Chimeras of one base whose organs have the types of the base's have one fingerprint,
 * and other contents. Returns 0, -EREMOTE where servers would have to be asked for every piece,
 * -EIO or -ENOMEM; then the text is empty. */
int fingerprint_contents(struct backing *base, const struct gguf *gguf,
			 char text[FINGERPRINT_TEXT]);

/* A shorter one, of the size and the first 64 KiB: quick to make, so that a mount need not read the
 * whole header to find out that there is no layer for its base. */
#define FINGERPRINT_KEY 17
int fingerprint_key(struct backing *base, char key[FINGERPRINT_KEY]);

/* XXH128 of the modification times, to the nanosecond, of the files that hold the tensors. It is
 * the same for the files as they were and for copies that kept their times, and takes no reading.
 * False, and the text is empty: a file has a time in whole seconds, as archives and servers give
 * it, which tells too little, or is on a server; or there is no memory. */
bool fingerprint_times(struct backing *base, const struct gguf *gguf, char text[FINGERPRINT_TEXT]);

/* A number of seconds from 1 to FINGERPRINT_DAY, of the base's header and fingerprint_times();
 * where those are not known, of 4 KiB in the middle of each tensor (of some thousands), as far as
 * they are in files. Programs take files of one size and time for the same: bases of one shape that
 * were written in one second have other such numbers, but for one pair in 86,400. Copies of a base
 * that kept its time have the same. What cannot be read is left out. */
#define FINGERPRINT_DAY 86400
uint32_t fingerprint_seconds(struct backing *base, const struct gguf *gguf);

#endif
