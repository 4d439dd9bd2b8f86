/* SPDX-License-Identifier: MIT */
/* temp_dir.h - a temporary directory of each case, in which stderr ends up too, and files in it.
 * These functions abort on failure. */
#ifndef TESTS_UNIT_TEMP_DIR_H
#define TESTS_UNIT_TEMP_DIR_H

#include "tests/unit/unit.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

/* Target of *state. */
struct temp {
	char dir[256];
	int stderr_fd; /* the real one */
};

void must(bool done);

/* A path, returned by value: path_in(dir, "base.gguf").text lives to the end of its expression. */
struct path {
	char text[PATH_MAX];
};

struct path path_in(const char *dir, const char *name);

struct path in_temp(void **state, const char *name);

/* A FIFO at path, and a descriptor that tells assert_unopened(), which closes it, whether a process
 * opened that. */
int watched_fifo(const char *path);

void assert_unopened(int fd);

/* A directory that everything goes into: stderr, and layers under state/organfs. */
int temp_setup(void **state);

void remove_tree(const char *path);

int temp_teardown(void **state);

/* ## files */

bool exists(const char *path);

/* Write a file anew, in place, and make it look old, so that a later change shows in its times
 * however coarse the clock of the filesystem. */
void write_file(const char *path, const void *bytes, size_t n);

void write_text(const char *path, const char *text);

/* All of a file, with a NUL after it, to free(). */
char *read_whole(const char *path, size_t *n);

#define assert_file(path, bytes, n) unit_assert_file(path, bytes, n, __FILE__, __LINE__)

void unit_assert_file(const char *path, const void *bytes, size_t n, const char *file, int line);

/* Entries of a directory but "." and ".."; -1: there is no directory. */
int count_entries(const char *path);

/* The file has other times than write_file() gave it; those again. */
void change_times(void **state, const char *name);

void restore_times(void **state, const char *name);

#endif
