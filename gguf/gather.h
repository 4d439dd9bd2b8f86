/* SPDX-License-Identifier: MIT */
/* gather.h - the GGUF that organ files are together, with the header that lists them: the reverse
 * of taking a model apart. Reads headers, never tensors; writes nothing.
 *
 * The header (HEADER_FILE beside the organs' directories) is the model's file without the bytes of
 * its tensors. Where every organ is what the header says of it, the file is the one that was taken
 * apart, byte for byte, whatever lies between its tensors. Where one is of another type or shape,
 * is missing, or is not in the header, the file is laid out as that of a split model (join.h). */
#ifndef GGUF_GATHER_H
#define GGUF_GATHER_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct gguf;
struct join;
struct source;

#define HEADER_FILE "header.gguf"

/* A file that is to lend its header: a header, or the whole GGUF that it is of. *packed says which,
 * true for a header; one that can be read as a whole is taken for that. NULL with err set: as
 * gguf_read_header(). */
struct gguf *gather_read_lent(const struct source *source, bool *packed, struct error *err);

/* An organ file as a GGUF of one tensor, of that name; NULL: of its own. NULL with err set: as
 * organ_parse(). */
struct gguf *gather_read_organ(const struct source *source, const char *name, uint32_t length,
			       struct error *err);

/* What a header's bytes are: the file's size; packed: without those of the tensors. */
struct gather_header {
	uint64_t size;
	bool packed;
};

/* Join n files: the header, whose tensors are the files after it in their order, and perhaps
 * organs that it does not list. NULL for each that is missing, the header too. As join_build(),
 * with these as its shards. */
int gather_join(const struct gguf *const *files, uint32_t n, const struct gather_header *header,
		struct join *join, struct error *err);

#endif
