/* SPDX-License-Identifier: MIT */
/* view_hash.c - see view_hash.h. */
#include "fs/storage/view_hash.h"
#include "fs/storage/view.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/types.h>

#define CHUNK ((size_t)1 << 20)

int view_hash(struct view *view, const atomic_bool *stop, char text[XXH128_TEXT])
{
	const uint64_t size = view_size(view);
	XXH3_state_t *state = XXH3_createState();
	char *bytes = malloc(CHUNK);
	ssize_t got = 0;

	if (!state || !bytes) {
		got = -ENOMEM;
	} else {
		XXH3_128bits_reset(state);
		for (uint64_t at = 0; at < size && got >= 0; at += (uint64_t)got) {
			const size_t n = size - at < CHUNK ? (size_t)(size - at) : CHUNK;

			got = view_read_cancellable(view, bytes, n, at, stop);
			if (got >= 0 && (size_t)got != n)
				got = -EIO;
			if (got > 0)
				XXH3_128bits_update(state, bytes, (size_t)got);
		}
		if (got >= 0)
			xxh128_text(XXH3_128bits_digest(state), text);
	}
	free(bytes);
	XXH3_freeState(state);
	return got < 0 ? (int)got : 0;
}
