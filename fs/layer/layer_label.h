/* SPDX-License-Identifier: MIT */
/* layer_label.h - the file LAYER, which says for which base a directory is a layer:
 *
 *	organfs layer 1         the format's version
 *	base NAME
 *	fingerprint HEX         as fingerprint()
 *	contents HEX            as fingerprint_contents(), where that could be made. Labels of
 *			before this line was written have none.
 *	times HEX               as fingerprint_times(), where that could be made: of a base
 *			that has them too, the contents are not read.
 *	path PATH               of a private layer: where the base lies, canonical, as paths_print()
 *			writes it. Labels of before this line was written have none. It comes last.
 *
 * Readers pass over lines they do not know. */
#ifndef FS_LAYER_LAYER_LABEL_H
#define FS_LAYER_LAYER_LABEL_H

struct backing;
struct error;
struct gguf;

/* Does the label in that directory say that the layer is of this base? Returns 0, or -errno with
 * err set: ENOENT there is none, ENOTSUP of a newer version, ESTALE of another base, EBADMSG, EIO,
 * ENOMEM. */
int layer_label_check(int dir, struct backing *base, const struct gguf *gguf, struct error *err);

/* Write it where there is none, durably; a crash leaves all of it or none. path is NULL for a layer
 * that is not private. Returns 0 or -errno; then there is none. */
int layer_label_write(int dir, struct backing *base, const struct gguf *gguf, const char *path);

/* The same in place of one that is there, for its base lies at another path now. Returns 0 or
 * -errno; then either of them is there. */
int layer_label_replace(int dir, struct backing *base, const struct gguf *gguf, const char *path);

/* The path in that directory's label, to free. NULL: there is none, or no memory. */
char *layer_label_path(int dir);

/* The same for removing it. */
int layer_label_remove(int dir);

/* The name under which it is written before it is renamed. */
#define LAYER_LABEL_NEW "LAYER.new"

#endif
