/* SPDX-License-Identifier: MIT */
/* gather.h - the plan for joining organ files to a GGUF by means of a header: the reverse of taking
 * a model apart. Reads headers only, writes nothing.
 *
 * The header (HEADER_FILE beside the organs' directories) is the model's file without the data of
 * its tensors. If the organs are exactly those that the header lists, the result equals the model
 * that was taken apart, byte for byte, even between tensors. If an organ has another type or shape,
 * is missing or is not in the header, the result has the layout of a joined split model
 * (join.h). */
#ifndef GGUF_GATHER_H
#define GGUF_GATHER_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct gguf;
struct join;
struct source;

#define HEADER_FILE "header.gguf"

/* Read a file that provides the header: such a header, for which *packed is true, or a whole GGUF.
 * A file that parses as a whole GGUF counts as one. NULL with err set: errors of
 * gguf_read_header(). */
struct gguf *gather_read_lent(const struct source *source, bool *packed, struct error *err);

/* Read an organ file as a GGUF with one tensor, of that name, or if name is NULL, its own. NULL
 * with err set: errors of organ_parse(). */
struct gguf *gather_read_organ(const struct source *source, const char *name, uint32_t length,
			       struct error *err);

/* size: bytes of the file that provides the header; packed: it lacks the tensors' data. */
struct gather_header {
	uint64_t size;
	bool packed;
};

/* Join n files: the header, then its tensors in their order, then organs that the header does not
 * list. NULL stands for a missing file, also for the header. Results and errors as for
 * join_build(), with the files as shards. */
int gather_join(const struct gguf *const *files, uint32_t n, const struct gather_header *header,
		struct join *join, struct error *err);

#endif
