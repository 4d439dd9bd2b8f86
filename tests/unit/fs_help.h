/* SPDX-License-Identifier: MIT */
/* fs_help.h - what the tests of fs/ share: a temporary directory a test, in which stderr ends up
 * too, files, and small models in it. What cannot do its work here aborts. */
#ifndef TESTS_UNIT_FS_HELP_H
#define TESTS_UNIT_FS_HELP_H

#include "fs/model/model.h"
#include "fs/storage/view.h"
#include "gguf/bytes.h"
#include "tests/unit/unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define FS_TEST(name) cmocka_unit_test_setup_teardown(name, temp_setup, temp_teardown)

/* Where the sanitizers report to; there is none without one. */
void __sanitizer_set_report_fd(void *fd) __attribute__((weak));

/* What *state points to. */
struct temp {
	char dir[256];
	int stderr_fd; /* the real one */
};

static inline void must(bool done)
{
	if (!done)
		abort();
}

static inline void report_to(int fd)
{
	if (__sanitizer_set_report_fd)
		__sanitizer_set_report_fd((void *)(intptr_t)fd);
}

/* A path, returned by value: path_in(dir, "base.gguf").text lives to the end of its expression. */
struct path {
	char text[PATH_MAX];
};

static inline struct path path_in(const char *dir, const char *name)
{
	struct path path;

	must(snprintf(path.text, sizeof(path.text), "%s/%s", dir, name) < PATH_MAX);
	return path;
}

static inline struct path in_temp(void **state, const char *name)
{
	return path_in(((struct temp *)*state)->dir, name);
}

/* A FIFO at path, and a descriptor that tells assert_unopened(), which closes it, whether a process
 * opened that. */
static inline int watched_fifo(const char *path)
{
	const int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

	must(mkfifo(path, 0600) == 0 && fd >= 0 && inotify_add_watch(fd, path, IN_OPEN) >= 0);
	return fd;
}

static inline void assert_unopened(int fd)
{
	char event[sizeof(struct inotify_event) + NAME_MAX + 1];

	assert_int_equal(read(fd, event, sizeof(event)), -1);
	assert_int_equal(errno, EAGAIN);
	close(fd);
}

/* A directory that everything goes into: stderr, and layers under state/organfs. */
static inline int temp_setup(void **state)
{
	struct temp *temp = calloc(1, sizeof(*temp));
	const char *tmp = getenv("TMPDIR");
	int fd;

	must(temp);
	snprintf(temp->dir, sizeof(temp->dir), "%s/organfs-unit-XXXXXX", tmp ? tmp : "/tmp");
	must(mkdtemp(temp->dir));
	setenv("XDG_STATE_HOME", path_in(temp->dir, "state").text, 1);
	fflush(stderr);
	temp->stderr_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	fd = open(path_in(temp->dir, "stderr").text, O_WRONLY | O_CREAT | O_APPEND, 0600);
	must(temp->stderr_fd >= 0 && fd >= 0 && dup2(fd, STDERR_FILENO) >= 0);
	close(fd);
	report_to(temp->stderr_fd);
	*state = temp;
	return 0;
}

static inline int remove_one(const char *path, const struct stat *stat, int flag, struct FTW *where)
{
	(void)stat;
	(void)where;
	return flag == FTW_DP ? rmdir(path) : unlink(path);
}

static inline void remove_tree(const char *path)
{
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* What asserts have said; not what the code under test did. */
static inline void print_kept_errors(const char *path)
{
	FILE *in = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;

	while (in && getline(&line, &room, in) > 0)
		if (strncmp(line, "organfs: ", 9) != 0 && strncmp(line, "fuse: ", 6) != 0)
			fputs(line, stderr);
	free(line);
	if (in)
		fclose(in);
}

static inline int temp_teardown(void **state)
{
	struct temp *temp = *state;

	fflush(stderr);
	dup2(temp->stderr_fd, STDERR_FILENO);
	report_to(STDERR_FILENO);
	close(temp->stderr_fd);
	print_kept_errors(path_in(temp->dir, "stderr").text);
	remove_tree(temp->dir);
	free(temp);
	return 0;
}

/* ## files */

static inline bool exists(const char *path)
{
	struct stat stat;

	return lstat(path, &stat) == 0;
}

/* Write a file anew, in place, and make it look old, so that a later change shows in its times
 * however coarse the clock of the filesystem. */
static inline void write_file(const char *path, const void *bytes, size_t n)
{
	const struct timespec old[2] = { { 1000000000, 0 }, { 1000000000, 0 } };
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	must(fd >= 0 && write(fd, bytes, n) == (ssize_t)n && futimens(fd, old) == 0);
	close(fd);
}

static inline void write_text(const char *path, const char *text)
{
	write_file(path, text, strlen(text));
}

/* All of a file, with a NUL after it, to free(). */
static inline char *read_whole(const char *path, size_t *n)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat stat;
	char *bytes;

	must(fd >= 0 && fstat(fd, &stat) == 0);
	*n = (size_t)stat.st_size;
	bytes = malloc(*n + 1);
	must(bytes && read(fd, bytes, *n) == stat.st_size);
	bytes[*n] = '\0';
	close(fd);
	return bytes;
}

#define assert_file(path, bytes, n) unit_assert_file(path, bytes, n, __FILE__, __LINE__)

static inline void unit_assert_file(const char *path, const void *bytes, size_t n, const char *file,
				    int line)
{
	size_t has;
	char *content = read_whole(path, &has);
	const bool same = has == n && memcmp(content, bytes, n) == 0;

	free(content);
	if (same)
		return;
	print_error("%s: %zu bytes, not the %zu that are expected\n", path, has, n);
	_fail(file, line);
}

/* Entries of a directory but "." and ".."; -1: there is no directory. */
static inline int count_entries(const char *path)
{
	struct dirent **entries;
	int n = scandir(path, &entries, NULL, NULL);

	for (int i = 0; i < n; i++)
		free(entries[i]);
	if (n >= 0)
		free(entries);
	return n < 0 ? -1 : n - 2;
}

/* All of a view, to free(). */
static inline char *read_view(struct view *view)
{
	const size_t n = (size_t)view_size(view);
	char *bytes = calloc(1, n + 1);

	must(bytes);
	assert_int_equal(view_read(view, bytes, n, 0), n);
	return bytes;
}

/* ## models */

/* Tensors of the model that mk_small() makes, in file order. */
enum { SMALL_EMBED, SMALL_Q, SMALL_UP, SMALL_GATE, SMALL_NORM, SMALL_DOWN, SMALL_TENSORS };

static const uint64_t small_ne[2] = { 8, 4 }, small_row[1] = { 8 }, small_blocks[2] = { 32, 2 };

/* SMALL_UP and SMALL_GATE have one shape and type, 128 bytes; SMALL_DOWN is quantised. */
static inline struct mk_file mk_small(void)
{
	struct mkgguf *m = mkgguf_new(3);

	mkgguf_kv_string(m, "general.architecture", "llama");
	mkgguf_kv_u32(m, "llama.block_count", 1);
	mkgguf_tensor(m, "token_embd.weight", GGML_F32, 2, small_ne);
	mkgguf_tensor(m, "blk.0.attn_q.weight", GGML_F32, 2, small_ne);
	mkgguf_tensor(m, "blk.0.ffn_up.weight", GGML_F32, 2, small_ne);
	mkgguf_tensor(m, "blk.0.ffn_gate.weight", GGML_F32, 2, small_ne);
	mkgguf_tensor(m, "blk.0.ffn_norm.weight", GGML_F32, 1, small_row);
	mkgguf_tensor(m, "blk.0.ffn_down.weight", GGML_Q8_0, 2, small_blocks);
	return mkgguf_finish(m);
}

/* The file name in the test's directory. */
static inline void save(void **state, const char *name, const struct mk_file *file)
{
	write_file(in_temp(state, name).text, file->bytes, file->size);
}

static inline void save_small(void **state, const char *name)
{
	struct mk_file file = mk_small();

	save(state, name, &file);
	mk_file_free(&file);
}

/* An organ file in memory. */
struct organ_file {
	uint8_t *bytes;
	size_t size, data_at;
};

/* Its data are the bytes of mk_byte(seed, ...), enough for that type and shape. */
static inline struct organ_file mk_organ(const char *name, uint32_t type, uint32_t dims,
					 const uint64_t *ne, uint32_t seed)
{
	struct organ organ = { .name = name,
			       .name_length = (uint32_t)strlen(name),
			       .dims = dims,
			       .ne = { 1, 1, 1, 1 },
			       .type = type };
	struct organ_file file;

	for (uint32_t i = 0; i < dims; i++)
		organ.ne[i] = ne[i];
	must(type_size(type, organ.ne, &organ.data_size) == TYPE_SIZE_OK);
	file.data_at = 4 + organ.name_length + 4 + 8 * (size_t)dims + 4;
	file.size = file.data_at + (size_t)organ.data_size;
	file.bytes = malloc(file.size);
	must(file.bytes);
	organ_write_header(&organ, file.bytes);
	for (size_t i = 0; i < organ.data_size; i++)
		file.bytes[file.data_at + i] = mk_byte(seed, i);
	return file;
}

#endif
