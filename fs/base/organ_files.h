/* SPDX-License-Identifier: MIT */
/* organ_files.h - a model as a directory of files, as shown by a mount: header.gguf, and for each
 * tensor an organ file in its class's directory.
 *
 * 1. header.gguf lists the tensors and their order. Names of organ files are those of a mount.
 * 2. Further organ files are added tensors, if the name of their organ permits it. Other files are
 *    ignored.
 * 3. Without header.gguf all organ files are added tensors. */
#ifndef FS_BASE_ORGAN_FILES_H
#define FS_BASE_ORGAN_FILES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct error;
struct gguf;

struct organ_file_entry {
	const char *file;   /* "organs/blk_5_ffn_up.bin" */
	const char *tensor; /* name of its tensor; NULL: none, for the reason in why */
	uint32_t length;
	const char *why;
	bool listed_regular; /* the directory lists it as a regular file, not a link */
};

/* Reference-counted, because sets of shards share it; immutable. */
struct organ_files {
	atomic_uint refs;
	uint32_t n;	 /* tensors: the first n entries */
	uint32_t listed; /* of these, the first ones are the header's, in its order */
	uint32_t n_all;	 /* including ignored files */
	bool linked;	 /* a class's directory is a link, or its type is unknown */
	struct organ_file_entry *entries;
	struct arena *arena;
};

/* Does the directory at path contain a model as organ files? True if a class's directory exists and
 * contains an organ file, or header.gguf exists beside it. */
bool organ_files_are_in(const char *path);

/* The directory that contains path, if path is a header.gguf, or path itself if it is such a
 * directory; absolute, to free. NULL: neither. */
char *organ_files_directory(const char *path);

/* Does this header list the same tensors as the header with which the files were found? */
bool organ_files_are_of(const struct organ_files *files, const struct gguf *header);

/* Find the files of the directory, with a parsed header or NULL. NULL with err set: a directory
 * cannot be listed, EMFILE, ENOMEM. */
struct organ_files *organ_files_find(const char *directory, const struct gguf *header,
				     struct error *err);
struct organ_files *organ_files_ref(struct organ_files *files);
void organ_files_unref(struct organ_files *files); /* NULL is fine */

#endif
