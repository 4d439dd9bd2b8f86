/* SPDX-License-Identifier: MIT */
/* split_write.h - an assembled model written out as shards, which llama.cpp loads as one model. */
#ifndef FS_ASSEMBLE_SPLIT_WRITE_H
#define FS_ASSEMBLE_SPLIT_WRITE_H

#include <stddef.h>
#include <stdint.h>

struct error;
struct progress;
struct view;
struct write_target;

/* What the name of shards ends in. */
#define SPLIT_WRITE_NUMBERS "-%05d-of-%05d.gguf"

/* What a text asks for: "NAME-%05d-of-%05d.gguf split=SIZE" shards with at most SIZE bytes of
 * tensors each, in bytes or with K, M, G or T behind, which are powers of 1000 as for gguf-split.
 * Then 1, and the name's length in *n; 0 for other texts, which are names of single files; -EINVAL
 * with err set: one of both is missing. */
int split_write_parse(const char *text, size_t *n, uint64_t *most, struct error *err);

/* The shards of the view of a model, each a view of its own, as divide_build() has them: *n of
 * them, to release with split_views_free(). Only the header is read, from a view that has the same
 * bytes before those of the tensors; it may be whole itself. Returns 0, or -errno with err set as
 * gguf_read() and divide_build(). */
int split_views(struct view *whole, struct view *header, uint64_t most, struct view ***views,
		uint32_t *n, struct error *err);
void split_views_free(struct view **views, uint32_t n);

/* Write the view of a model to the shards that the target's path, as split_write_parse() has it,
 * stands for. None of them may exist: several files cannot be replaced in one step. The first
 * shard, from which the others are found, appears last, and all others are whole then. Returns how
 * many, or -errno with err set as atomic_write_view(), EEXIST, and as divide_build(). */
int split_write(struct view *view, const struct write_target *target, uint64_t most,
		struct progress *progress, struct error *err);

#endif
