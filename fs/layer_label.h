/* SPDX-License-Identifier: MIT */
/* layer_label.h - the file LAYER, which says for which base a directory is a layer:
 *
 *	organfs layer 1         the format's version
 *	base NAME
 *	fingerprint HEX         as fingerprint()
 *
 * Readers pass over lines they do not know. */
#ifndef FS_LAYER_LABEL_H
#define FS_LAYER_LABEL_H

#include "fs/backing.h"
#include "gguf/reader.h"

/* Does the label in that directory say that the layer is of this base? Returns 0, or -errno with
 * err set: ENOENT there is none, ENOTSUP of a newer version, ESTALE of another base, EBADMSG, EIO,
 * ENOMEM. */
int label_check(int dir, struct backing *base, const struct gguf *gguf, struct error *err);

/* Write it where there is none, durably; a crash leaves all of it or none. Returns 0 or -errno;
 * then there is none. */
int label_write(int dir, struct backing *base, const struct gguf *gguf);

/* The same for removing it. */
int label_remove(int dir);

/* The name under which it is written before it is renamed. */
#define LABEL_NEW "LAYER.new"

#endif
