/* SPDX-License-Identifier: MIT */
/* layer_origin.h - what a layer knows of a slot that is not in what fills it, as the neighbour
 * CLASS/NAME.bin.from: the first line, and then lines of a key, a blank and a value, each key at
 * most once, in any order. Lines with other keys are passed over.
 *
 *	organfs origin 1
 *	slot TENSOR         the exact name of the tensor, where the slot is none of the base's
 *	organ XXH128        what follows is told of the organ file with that hash
 *	donor PATH          the file that it was copied from: a GGUF; without `tensor` an organ
 *			    file. A GGUF's name without '/': it is not known where it
 *			    lies
 *	fingerprint HEX     of the GGUF, as fingerprint()
 *	tensor TENSOR       in the GGUF
 *	of base|another     whose GGUF it is, as in a reference
 *	view NAME           not the tensor itself was copied but what .views/NAME makes of it
 *
 * TENSOR and PATH are percent-encoded as in a reference.
 *
 * A slot that was added keeps its name whatever is put into it later: an organ of another role, a
 * link, a reference. So its name is not derived again from what it holds. The file is durable
 * before what fills the slot is renamed into place, and that line says the same for as long as the
 * slot is there, so that a crash between the two renames leaves it true. Where an organ came from
 * is no promise: a file without the slot's name waits for no disk, and is not believed beside an
 * organ file whose recorded hash (layer_checksums.h) is another or missing. */
#ifndef FS_LAYER_LAYER_ORIGIN_H
#define FS_LAYER_LAYER_ORIGIN_H

#include <stdbool.h>

struct layer;
struct layer_origin;

#define LAYER_ORIGIN_SUFFIX ".bin.from"

/* Write it to a new file in the stage, xxh128 being the organ's; durably, if the slot's name is in
 * it. Returns 0 or -errno; then there is none. */
int layer_origin_write(struct layer *layer, const char *staged, const struct layer_origin *origin,
		       const char *xxh128);

/* Is there anything to write, with an organ of that hash (empty: not known)? */
bool layer_origin_is_known(const struct layer_origin *origin, const char *xxh128);

/* Read that of the slot with that name in a class, whose organ file has that hash; empty: it is not
 * known, or there is no organ file. Release with layer_origin_release(). 1, or 0: there is none, or
 * no regular file that is one, or it says nothing; then all is NULL. -errno where
 * layer_is_unread(). */
int layer_origin_read(int dir, const char *name, const char *xxh128, struct layer_origin *origin);
void layer_origin_release(struct layer_origin *origin);

#endif
