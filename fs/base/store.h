/* SPDX-License-Identifier: MIT */
/* store.h - the interface of the stores of model_name.h, and their common checks. A store is a
 * directory tree that another program fills; its content is not trusted. */
#ifndef FS_BASE_STORE_H
#define FS_BASE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct model_list;

struct store {
	const char *prefix; /* of its names, "ollama:" */
	/* As model_name_find(), for the text behind the prefix. */
	int (*find)(const char *name, char **path, struct error *err);
	/* Add all models to the list. Returns 0 or -ENOMEM. */
	int (*list)(struct model_list *list);
};

extern const struct store store_ollama, store_hub, store_lm_studio;

/* The longest manifest, reference or settings file that is read. */
#define STORE_TEXT_MAX ((size_t)1 << 20)

/* The absolute path of an entry below the directory that an environment variable names, to free.
 * "~/" is the user's directory, as for huggingface_hub. NULL: it is empty or not set, or a relative
 * path to nothing, or out of memory. */
char *store_variable(const char *name, const char *below);

/* The path of a printf(3) format, to free. NULL: out of memory. */
char *store_path(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* All of a small regular file, with a NUL behind it, to free. NULL with err set: EFBIG it is longer
 * than STORE_TEXT_MAX, EBADMSG it is no file, else as open(2), read(2). */
char *store_read(const char *path, size_t *size, struct error *err);

/* Is it a relative path that stays in its directory, without control characters: parts that are
 * not empty, "." or ".."? */
bool store_is_plain(const char *path);

/* Check the file of a model: it is regular and, with inside not NULL, within that directory, and so
 * are the shards beside it that are there, with all links resolved. *size becomes the bytes of all
 * of them. Returns 0, or -errno with err set: EBADMSG, or as stat(2). */
int store_check(const char *path, const char *inside, uint64_t *size, struct error *err);

/* Call visit() for each file below a directory, as many levels deep, with its path from there, in
 * no order. A directory that cannot be read has none, and links to directories, which may lead in
 * circles, are not followed. Returns 0, or the first that is not 0 of visit(), or -ENOMEM. */
int store_walk(const char *directory, unsigned levels,
	       int (*visit)(void *context, const char *path), void *context);

/* Does the name end in ".gguf", in letters of either case, and not as a later shard? Such a file is
 * listed. */
bool store_is_listed(const char *path);

#endif
