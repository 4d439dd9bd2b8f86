/* SPDX-License-Identifier: MIT */
/* paths.h - opening paths of users; making, syncing and removing directories; names of models, and
 * names in a line of text. */
#ifndef FS_UTIL_PATHS_H
#define FS_UTIL_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>

/* openat(2) for a path that a user gave, with O_CLOEXEC. Magic links, such as those in /proc/PID,
 * are not followed, because they bypass path resolution. Returns a descriptor or -errno, -ELOOP for
 * a magic link. */
int paths_open(int dir, const char *path, int flags);

/* Make a directory and its missing parents, with mode 0700. Returns 0 or -errno. */
int paths_mkdir(const char *path);

/* Make the entries of a directory durable. Returns 0 or -errno. */
int paths_fsync_directory(const char *path);

/* Remove the directory name in dir, and the files in it. Entries that cannot be removed stay. */
void paths_remove_directory(int dir, const char *name);

/* Do size and mtime say that both are the same file, unchanged? */
bool paths_same_file(const struct stat *a, const struct stat *b);

/* Absolute path of the directory that contains path, to free. A symbolic link path is not followed:
 * its target may lie in a cache that no user looks into. If path is a URL or a name in a store
 * (url_is_store()), the working directory. NULL with errno set. */
char *paths_directory(const char *path);

/* The path of a mount point in the form of /proc/self/mountinfo, to free. The directory itself,
 * whose daemon may be gone, is not accessed. NULL with errno set. */
char *paths_mount_point(const char *given);

/* File name of a model's path, URL or name in a store, without directories, ".gguf" and the number
 * of a shard: "qwen3-8b" for "ollama:qwen3:8b". To free. NULL: out of memory. */
char *paths_stem(const char *path);

/* Length of the part before -NNNNN-of-NNNNN.gguf in a shard's name; 0: not a shard's name. */
size_t paths_shard_prefix(const char *name);

/* Print n bytes of a path or name as one word: blanks, control characters, '%' and bytes that are
 * not ASCII are percent-encoded. text_unescape() decodes the word. */
void paths_print(const char *bytes, size_t n, FILE *out);

#endif
