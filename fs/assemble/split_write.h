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

/* End of the name of shards. */
#define SPLIT_WRITE_NUMBERS "-%05d-of-%05d.gguf"

/* Parse a target: "NAME-%05d-of-%05d.gguf split=SIZE" asks for shards with at most SIZE bytes of
 * tensors each, where SIZE may end in K, M, G or T, powers of 1000 as for gguf-split. Returns 1,
 * with the name's length in *n; 0 for other texts, names of single files; -EINVAL with err set if
 * one of name and SIZE is missing. */
int split_write_parse(const char *text, size_t *n, uint64_t *most, struct error *err);

/* Divide the view of a model into views of shards, as divide_build() does: *n views, to release
 * with split_views_free(). Only the header is read, from a view with the same bytes before those of
 * the tensors, which may be whole itself. Returns 0, or -errno with err set as gguf_read() and
 * divide_build(). */
int split_views(struct view *whole, struct view *header, uint64_t most, struct view ***views,
		uint32_t *n, struct error *err);
void split_views_free(struct view **views, uint32_t n);

/* Write the view of a model to the shards named by the target's path (split_write_parse()). None of
 * them may exist, because several files cannot be replaced in one step. The first shard, by which
 * the others are found, appears last, when the others are complete. Returns the number of shards,
 * or -errno with err set as atomic_write_view(), EEXIST included, and divide_build(). */
int split_write(struct view *view, const struct write_target *target, uint64_t most,
		struct progress *progress, struct error *err);

#endif
