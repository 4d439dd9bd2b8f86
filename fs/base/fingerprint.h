/* SPDX-License-Identifier: MIT */
/* fingerprint.h - hashes that identify a base. */
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

/* fingerprint() of any file of size bytes with a header of `header` bytes, such as an organ
 * file. */
int fingerprint_file(struct backing *file, uint64_t header, uint64_t size,
		     char text[FINGERPRINT_TEXT]);

/* Hash of the tensor data that fingerprint() omits: XXH128 of 4 KiB at the beginning of each
 * tensor, of each expert in a stack, and at the end of each tensor. Chimeras of one base, whose
 * organs have the base's types, share its fingerprint but not its contents. Returns 0, -EREMOTE if
 * servers would have to be asked for each piece, -EIO or -ENOMEM; after an error the text is
 * empty. */
int fingerprint_contents(struct backing *base, const struct gguf *gguf,
			 char text[FINGERPRINT_TEXT]);

/* A shorter hash, of the size and the first 64 KiB. It is quick, so that a mount need not read the
 * whole header to find that there is no layer for its base. */
#define FINGERPRINT_KEY 17
int fingerprint_key(struct backing *base, char key[FINGERPRINT_KEY]);

/* XXH128 of the modification times, in nanoseconds, of the files with the tensors. Copies that keep
 * the times have the same hash, and nothing is read. False, with an empty text: a time is in whole
 * seconds, as set by archives and servers, which is not specific enough; a file is on a server; or
 * out of memory. */
bool fingerprint_times(struct backing *base, const struct gguf *gguf, char text[FINGERPRINT_TEXT]);

/* A number of seconds from 1 to FINGERPRINT_DAY, derived from the base's header and
 * fingerprint_times(), or if the latter is unknown, from 4 KiB in the middle of each tensor (of
 * some thousands), as far as they are in files. Programs take files of equal size and mtime for the
 * same, and this number makes the mtimes of bases of one shape differ that were written in the same
 * second, except one pair in 86,400. Copies of a base that kept its time have the same number.
 * Unreadable bytes are omitted. */
#define FINGERPRINT_DAY 86400
uint32_t fingerprint_seconds(struct backing *base, const struct gguf *gguf);

#endif
