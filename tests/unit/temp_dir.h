/* SPDX-License-Identifier: MIT */
/* temp_dir.h - a temporary directory for each case, with its stderr in a file. These functions
 * abort on failure. */
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
	int stderr_fd; /* the original one */
};

void must(bool done);

/* A path by value: path_in(dir, "base.gguf").text lives to the end of its full expression. */
struct path {
	char text[PATH_MAX];
};

struct path path_in(const char *dir, const char *name);

struct path in_temp(void **state, const char *name);

/* Make a FIFO at path. Returns a descriptor by which assert_unopened() tells whether a process
 * opened the FIFO; assert_unopened() closes it. */
int watched_fifo(const char *path);

void assert_unopened(int fd);

/* Make the case's directory, for stderr and for layers under state/organfs. */
int temp_setup(void **state);

void remove_tree(const char *path);

int temp_teardown(void **state);

/* ## files */

bool exists(const char *path);

/* Write a file anew, in place, with old times, so that a later change shows in its times however
 * coarse the filesystem's clock is. */
void write_file(const char *path, const void *bytes, size_t n);

void write_text(const char *path, const char *text);

/* Content of a file, with a NUL behind it; caller frees. */
char *read_whole(const char *path, size_t *n);

#define assert_file(path, bytes, n) unit_assert_file(path, bytes, n, __FILE__, __LINE__)

void unit_assert_file(const char *path, const void *bytes, size_t n, const char *file, int line);

/* Number of entries of a directory except "." and ".."; -1 without the directory. */
int count_entries(const char *path);

/* Change the times of a file of write_file(), or restore them. */
void change_times(void **state, const char *name);

void restore_times(void **state, const char *name);

#endif
