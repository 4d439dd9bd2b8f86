/* SPDX-License-Identifier: MIT */
/* fingerprint.h - what tells one base from another. */
#ifndef FS_FINGERPRINT_H
#define FS_FINGERPRINT_H

#include "fs/backing.h"
#include "gguf/reader.h"

/* XXH128 of a base's header bytes, its size as u64, and the first and last 64 KiB of its tensor
 * data, as hexadecimal digits. Returns 0, -EIO or -ENOMEM. */
#define FINGERPRINT_TEXT 33
int fingerprint(struct backing *base, const struct gguf *gguf, char text[FINGERPRINT_TEXT]);

/* The same of any file of size bytes with a header of that many, such as an organ file. */
int fingerprint_file(struct backing *file, uint64_t header, uint64_t size,
		     char text[FINGERPRINT_TEXT]);

/* A shorter one, of the size and the first 64 KiB: quick to make, so that a mount need not read the
 * whole header to find out that there is no layer for its base. */
#define FINGERPRINT_KEY 17
int fingerprint_key(struct backing *base, char key[FINGERPRINT_KEY]);

#endif
