/* SPDX-License-Identifier: MIT */
/* layer_seen.h - what a layer knows of a symbolic link in it that is not in the link itself, as the
 * neighbour CLASS/NAME.bin.seen: the place that the link led to when there was a good organ.
 *
 *	organfs seen 1
 *	target TARGET   of the link, percent-encoded as in a reference
 *	...             a reference (reference.h): to a tensor of a GGUF, or to an organ file,
 *	                of which "tensor" is the name in its header
 *
 * It is put in place before the link is. A crash between the two leaves it beside another link,
 * whose target is not the one that it names; then it counts as none. */
#ifndef FS_LAYER_LAYER_SEEN_H
#define FS_LAYER_LAYER_SEEN_H

struct layer;

#define LAYER_SEEN_SUFFIX ".bin.seen"

/* Write it, with that reference, to a new file in the stage, durably. Returns 0 or -errno; then
 * there is none. */
int layer_seen_write(struct layer *layer, const char *staged, const char *target,
		     const char *reference);

/* The reference in that of the link to target with that name in a class, to free. NULL: there is
 * none, or no regular file of this user or root that is one. What follows the target is not looked
 * at. *rc is -errno where layer_is_unread(), else 0. */
char *layer_seen_read(int dir, const char *name, const char *target, int *rc);

#endif
