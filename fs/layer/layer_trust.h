/* SPDX-License-Identifier: MIT */
/* layer_trust.h - whether another user may have changed a layer. Links and references in a layer
 * are opened with this user's rights, so a layer that another user made or may change could expose
 * files that the other user cannot read. Mounts use such a layer only with -o layer=. */
#ifndef FS_LAYER_LAYER_TRUST_H
#define FS_LAYER_LAYER_TRUST_H

/* The reason for which the layer, whose directory is open, may contain changes by other users, a
 * constant text; NULL: none. */
const char *layer_trust_doubt(int dir);

#endif
