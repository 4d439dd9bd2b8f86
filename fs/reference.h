/* SPDX-License-Identifier: MIT */
/* reference.h - how a layer says that a slot holds a tensor of a model:
 *
 *	organfs reference 1
 *	model PATH
 *	fingerprint HEX         as fingerprint()
 *	tensor NAME
 *
 * In PATH and NAME, bytes up to a blank, from 0x7f on, and '%' are percent-encoded. */
#ifndef FS_REFERENCE_H
#define FS_REFERENCE_H

#include "fs/backing.h"
#include "gguf/reader.h"

/* The text, to free. NULL: out of memory. */
char *reference_text(const char *path, const char *fingerprint, const struct gguf_tensor *tensor);

/* The tensor that the text in file refers to, of a model with that fingerprint. NULL with err set:
 * EBADMSG no reference, ESTALE of another model, ENOENT no such tensor, EIO. */
const struct gguf_tensor *reference_read(struct backing *file, const struct gguf *gguf,
					 const char *fingerprint, struct error *err);

#endif
