/* SPDX-License-Identifier: MIT */
/* ollama_manifest.h - a manifest of ollama, and the layer in it that is a GGUF. */
#ifndef FS_BASE_OLLAMA_MANIFEST_H
#define FS_BASE_OLLAMA_MANIFEST_H

#include <stddef.h>
#include <stdint.h>

struct error;

/* The file that holds the layer. */
struct ollama_blob {
	char name[sizeof("sha256-") + 64]; /* "sha256-" and 64 hexadecimal digits */
	uint64_t size;			   /* bytes that it has to have */
};

/* Read n bytes of a manifest, with a NUL behind them. Returns 0, or -errno with err set: EBADMSG it
 * is damaged, ENODATA it has no model that is a GGUF, or several. */
int ollama_manifest_read(const char *text, size_t n, struct ollama_blob *blob, struct error *err);

#endif
