/* SPDX-License-Identifier: MIT */
/* temp_dir.c - see temp_dir.h. */
#include "tests/unit/temp_dir.h"

#include <dirent.h>
#include <ftw.h>
#include <sys/inotify.h>

/* Descriptor of the sanitizers' reports; the function exists only with a sanitizer. */
void __sanitizer_set_report_fd(void *fd) __attribute__((weak));

void must(bool done)
{
	if (!done)
		abort();
}

static void report_to(int fd)
{
	if (__sanitizer_set_report_fd)
		__sanitizer_set_report_fd((void *)(intptr_t)fd);
}

struct path path_in(const char *dir, const char *name)
{
	struct path path;

	must(snprintf(path.text, sizeof(path.text), "%s/%s", dir, name) < PATH_MAX);
	return path;
}

struct path in_temp(void **state, const char *name)
{
	return path_in(((struct temp *)*state)->dir, name);
}

int watched_fifo(const char *path)
{
	const int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

	must(mkfifo(path, 0600) == 0 && fd >= 0 && inotify_add_watch(fd, path, IN_OPEN) >= 0);
	return fd;
}

void assert_unopened(int fd)
{
	char event[sizeof(struct inotify_event) + NAME_MAX + 1];

	assert_int_equal(read(fd, event, sizeof(event)), -1);
	assert_int_equal(errno, EAGAIN);
	close(fd);
}

int temp_setup(void **state)
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

static int remove_one(const char *path, const struct stat *stat, int flag, struct FTW *where)
{
	(void)stat;
	(void)where;
	return flag == FTW_DP ? rmdir(path) : unlink(path);
}

void remove_tree(const char *path)
{
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Print the messages of asserts, not those of the code under test. */
static void print_kept_errors(const char *path)
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

int temp_teardown(void **state)
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

bool exists(const char *path)
{
	struct stat stat;

	return lstat(path, &stat) == 0;
}

void write_file(const char *path, const void *bytes, size_t n)
{
	const struct timespec old[2] = { { 1000000000, 0 }, { 1000000000, 0 } };
	/* A link may lead to a file outside of the test. */
	const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;
	const int fd = open(path, flags, 0600);

	must(fd >= 0 && write(fd, bytes, n) == (ssize_t)n && futimens(fd, old) == 0);
	close(fd);
}

void write_text(const char *path, const char *text)
{
	write_file(path, text, strlen(text));
}

char *read_whole(const char *path, size_t *n)
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

void unit_assert_file(const char *path, const void *bytes, size_t n, const char *file, int line)
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

int count_entries(const char *path)
{
	struct dirent **entries;
	int n = scandir(path, &entries, NULL, NULL);

	for (int i = 0; i < n; i++)
		free(entries[i]);
	if (n >= 0)
		free(entries);
	return n < 0 ? -1 : n - 2;
}

void change_times(void **state, const char *name)
{
	must(utimensat(AT_FDCWD, in_temp(state, name).text, NULL, 0) == 0);
}

void restore_times(void **state, const char *name)
{
	const struct timespec old[2] = { { 1000000000, 0 }, { 1000000000, 0 } };

	must(utimensat(AT_FDCWD, in_temp(state, name).text, old, 0) == 0);
}
