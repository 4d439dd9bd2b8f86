/* SPDX-License-Identifier: MIT */
/* layer_trust.h - whether another user may have put anything into a layer. What links and
 * references in it lead to is opened with rights, so that a layer which another user made, or may
 * change, can show what that user cannot read. A mount takes such a layer only where it was
 * named. */
#ifndef FS_LAYER_LAYER_TRUST_H
#define FS_LAYER_LAYER_TRUST_H

/* Why not all in the layer, whose directory is open, is this user's: a text that is constant. NULL:
 * it is. */
const char *layer_trust_doubt(int dir);

#endif
