/* SPDX-License-Identifier: MIT */
/* organ_files.h - the files of a model that lies on disk as a directory: header.gguf, and an organ
 * file for every tensor in the directory of its class, as a mount shows them.
 *
 * 1. Which tensors the model has, and in which order, header.gguf says. The name of a tensor's file
 *    is the one that a mount gives it.
 * 2. An organ file beside those is a tensor that was added, if its name is one that the organ in it
 *    may have. One that is none is passed over.
 * 3. Without header.gguf every organ file is such a one. */
#ifndef FS_BASE_ORGAN_FILES_H
#define FS_BASE_ORGAN_FILES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct error;
struct gguf;

struct organ_file_entry {
	const char *file;   /* "organs/blk_5_ffn_up.bin" */
	const char *tensor; /* which it is; NULL: none, and then why says why */
	uint32_t length;
	const char *why;
	bool listed_regular; /* the directory said that it is a regular file, and no link */
};

/* Counted, as sets of shards share it; not changed once it is made. */
struct organ_files {
	atomic_uint refs;
	uint32_t n;	 /* tensors: so many of the entries come first */
	uint32_t listed; /* so many of these are the header's, in its order */
	uint32_t n_all;	 /* with those that are passed over */
	bool linked;	 /* the directory of a class is a link, or could not be asked */
	struct organ_file_entry *entries;
	struct arena *arena;
};

/* Is the directory at path one? It has an organ file in the directory of a class, or such a
 * directory and a header.gguf. */
bool organ_files_are_in(const char *path);

/* The directory of which path is the header.gguf, or path itself where it is one: absolute, to
 * free. NULL: neither. */
char *organ_files_directory(const char *path);

/* Does the header list the same tensors as the one with which the files were found? */
bool organ_files_are_of(const struct organ_files *files, const struct gguf *header);

/* The files of the directory, with a header or NULL. NULL with err set: a directory cannot be
 * listed, EMFILE, ENOMEM. */
struct organ_files *organ_files_find(const char *directory, const struct gguf *header,
				     struct error *err);
struct organ_files *organ_files_ref(struct organ_files *files);
void organ_files_unref(struct organ_files *files); /* NULL is fine */

#endif
