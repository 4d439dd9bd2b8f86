/* SPDX-License-Identifier: MIT */
/* paths.h - paths that users give, opened; directories: made with their parents, made durable,
 * emptied; names of models, and names in a line of text. */
#ifndef FS_UTIL_PATHS_H
#define FS_UTIL_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>

/* As openat(2), where a path that a user gave is opened for him: magic links, as those in /proc/PID
 * are, which lead where no path does, are not followed. A descriptor, or -errno: ELOOP for one. */
int paths_open(int dir, const char *path, int flags);

/* Make a directory, private to the user, and the parents it lacks. Returns 0 or -errno. */
int paths_mkdir(const char *path);

/* Make the entries of a directory durable. Returns 0 or -errno. */
int paths_fsync_directory(const char *path);

/* Remove the directory name in the directory dir, with the files in it; what cannot be removed
 * stays. */
void paths_remove_directory(int dir, const char *name);

/* Is it the same file, not written to in between, as far as its size and time tell? */
bool paths_same_file(const struct stat *a, const struct stat *b);

/* The directory in which the name stands, as given: what it may link to lies in some cache that
 * no user looks into. Of a URL, the working directory. Absolute, to free. NULL with errno set:
 * there is none, or no memory. */
char *paths_directory(const char *path);

/* The name of a file, also at a URL, without directories and ".gguf", and of a shard without its
 * number, to free. NULL: out of memory. */
char *paths_stem(const char *path);

/* The length of what comes before -NNNNN-of-NNNNN.gguf in the name of a shard; 0 for other
 * names. */
size_t paths_shard_prefix(const char *name);

/* Print n bytes of a path or name so that they have no blank and are one line: those and '%', and
 * bytes that are not ASCII, stand percent-encoded: text_unescape() has them back. */
void paths_print(const char *bytes, size_t n, FILE *out);

#endif
