/* SPDX-License-Identifier: MIT */
/* test_path_probe.c - fs/paths/path_probe.c: the file that a path leads to, and the trust in
 * another mount of organfs. Plain files play such a mount: the test answers the two calls that
 * identify it. */
#include "fs/paths/path_probe.h"
#include "fs/paths/path_resolve.h"
#include "fs/paths/probe_threads.h"
#include "fs/storage/backing.h"
#include "tests/unit/small_gguf.h"

#include <linux/magic.h>
#include <pthread.h>
#include <sys/statfs.h>
#include <sys/xattr.h>

/* Value of "user.organfs.extent" of every file, and type of its filesystem; NULL and 0: the real
 * ones. */
static const char *extent_text;
static long filesystem;

ssize_t __real_fgetxattr(int fd, const char *name, void *value, size_t size);
ssize_t __wrap_fgetxattr(int fd, const char *name, void *value, size_t size);
int __real_fstatfs64(int fd, struct statfs *status);
int __wrap_fstatfs64(int fd, struct statfs *status);

ssize_t __wrap_fgetxattr(int fd, const char *name, void *value, size_t size)
{
	if (!extent_text || strcmp(name, "user.organfs.extent") != 0)
		return __real_fgetxattr(fd, name, value, size);
	must(strlen(extent_text) <= size);
	memcpy(value, extent_text, strlen(extent_text));
	return (ssize_t)strlen(extent_text);
}

int __wrap_fstatfs64(int fd, struct statfs *status)
{
	const int rc = __real_fstatfs64(fd, status);

	if (filesystem)
		status->f_type = filesystem;
	return rc;
}

static unsigned threads; /* number of threads started */

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
			  void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
			  void *argument);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
			  void *argument)
{
	threads++;
	return __real_pthread_create(thread, attr, start, argument);
}

static struct timespec in_a_minute(void)
{
	struct timespec until;

	must(clock_gettime(CLOCK_MONOTONIC, &until) == 0);
	until.tv_sec += 60;
	return until;
}

/* Probe organ.bin, which claims that its data lie at that extent. */
static struct path_probe_result probe(void **state, const char *extent, long type)
{
	const struct path_resolve_mount own = { .point = NULL };
	const struct path path = in_temp(state, "organ.bin");
	const struct path_probe at = { .path = path.text, .uid = getuid(), .gid = getgid() };
	struct probe_threads *probes = probe_threads_new();
	struct path_probe_result found = { .own = false };
	const struct timespec until = in_a_minute();

	must(probes != NULL);
	extent_text = extent;
	filesystem = type;
	path_probe(probes, &own, &at, 1, &until, &found);
	extent_text = NULL;
	filesystem = 0;
	probe_threads_unref(probes);
	return found;
}

/* Save an organ file with 128 bytes of data, and disk.gguf with disk_size bytes. */
static void save_both(void **state, size_t disk_size)
{
	struct organ_file organ = mk_organ("blk.0.ffn_up.weight", GGML_F32, 2, small_ne, 7);
	char *disk = calloc(1, disk_size);

	must(disk && organ.size - organ.data_at == 128);
	write_file(in_temp(state, "organ.bin").text, organ.bytes, organ.size);
	write_file(in_temp(state, "disk.gguf").text, disk, disk_size);
	free(disk);
	free(organ.bytes);
}

/* Check that a believed extent gives the organ in disk.gguf at that offset. */
static void assert_on_disk(void **state, const char *numbers, uint64_t offset)
{
	char text[PATH_MAX + 64];
	struct path_probe_result found;

	snprintf(text, sizeof(text), "%s%s", in_temp(state, "disk.gguf").text, numbers);
	found = probe(state, text, FUSE_SUPER_MAGIC);
	assert_int_equal(found.err.code, 0);
	assert_non_null(found.file);
	assert_string_equal(strrchr(backing_path(found.file), '/'), "/disk.gguf");
	assert_int_equal(found.offset, offset);
	assert_int_equal(found.organ.data_size, 128);
	path_probe_result_release(&found);
}

/* Check that a claim that is not believed gives the file itself. */
static void assert_itself(void **state, const char *extent, long type)
{
	struct path_probe_result found = probe(state, extent, type);

	assert_int_equal(found.err.code, 0);
	assert_non_null(found.file);
	assert_string_equal(strrchr(backing_path(found.file), '/'), "/organ.bin");
	assert_int_equal(found.offset, found.organ.header_size);
	path_probe_result_release(&found);
}

static void assert_wrong(void **state, const char *numbers, const char *words)
{
	char text[PATH_MAX + 64];
	struct path_probe_result found;

	snprintf(text, sizeof(text), "%s%s", in_temp(state, "disk.gguf").text, numbers);
	found = probe(state, text, FUSE_SUPER_MAGIC);
	assert_int_equal(found.err.code, EINVAL);
	assert_string_equal(found.err.text, words);
	path_probe_result_release(&found);
}

static void an_organ_of_another_mount_is_read_where_it_lies_on_disk(void **state)
{
	save_both(state, 1040);
	assert_on_disk(state, ":0:128", 0);
	assert_on_disk(state, ":512:128", 512);
	assert_on_disk(state, ":0900:00128", 900);
	/* The extent may end at the end of the file. */
	assert_on_disk(state, ":912:128", 912);
}

static void an_extent_that_cannot_be_is_refused(void **state)
{
	save_both(state, 1040);
	assert_wrong(state, ":913:128", "the file ends before its extent");
	assert_wrong(state, ":1041:128", "the file ends before its extent");
	assert_wrong(state, ":18446744073709551615:128", "the file ends before its extent");
	assert_wrong(state, ":0:127", "the file and its extent do not agree");
	assert_wrong(state, ":0:129", "the file and its extent do not agree");
}

static void malformed_extent_is_ignored(void **state)
{
	static const char *const others[] = {
		"",
		"/etc/passwd",
		"/etc/passwd:0",
		"/etc/passwd:0:",
		"/etc/passwd:0:+128",
		"/etc/passwd:0:-1",
		"/etc/passwd:0:/128",
		"/etc/passwd:0:x128",
		"/etc/passwd:0:128x",
		"/etc/passwd::128",
		"/etc/passwd:0x10:128",
		"/etc/passwd:18446744073709551616:128",
		"etc/passwd:0:128",
		":0:128",
	};

	save_both(state, 1040);
	for (size_t i = 0; i < ARRAY_LENGTH(others); i++)
		assert_itself(state, others[i], FUSE_SUPER_MAGIC);
}

/* On other filesystems any user can set such an attribute. */
static void only_a_fuse_filesystem_is_believed(void **state)
{
	char text[PATH_MAX + 64];

	save_both(state, 1040);
	snprintf(text, sizeof(text), "%s:0:128", in_temp(state, "disk.gguf").text);
	assert_itself(state, text, EXT4_SUPER_MAGIC);
	assert_itself(state, NULL, 0);
}

static void probe_of_no_organ_fails_with_einval(void **state)
{
	struct path_probe_result found;

	write_text(in_temp(state, "organ.bin").text, "no organ");
	found = probe(state, NULL, 0);
	assert_int_equal(found.err.code, EINVAL);
	assert_null(found.organ.name);
	path_probe_result_release(&found);
	must(unlink(in_temp(state, "organ.bin").text) == 0);
	found = probe(state, NULL, 0);
	assert_int_equal(found.err.code, ENOENT);
	assert_null(found.file);
	path_probe_result_release(&found);
}

/* Number of threads that look up n links into that many directories. */
static unsigned threads_for(void **state, size_t n, size_t directories)
{
	const struct path_resolve_mount own = { .point = NULL };
	const struct timespec until = in_a_minute();
	struct probe_threads *probes = probe_threads_new();
	struct path_probe at[20];
	struct path_probe_result found[20];
	struct path paths[20];

	must(probes && n <= ARRAY_LENGTH(at));
	for (size_t i = 0; i < n; i++) {
		char name[40];

		snprintf(name, sizeof(name), "%zu/%zu.bin", i % directories, i);
		paths[i] = in_temp(state, name);
		at[i] = (struct path_probe){ .path = paths[i].text,
					     .uid = getuid(),
					     .gid = getgid() };
	}
	threads = 0;
	path_probe(probes, &own, at, n, &until, found);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(found[i].err.code, ENOENT);
		path_probe_result_release(&found[i]);
	}
	probe_threads_unref(probes);
	return threads;
}

static void each_place_has_one_thread_up_to_eight(void **state)
{
	assert_int_equal(threads_for(state, 1, 1), 1);
	assert_int_equal(threads_for(state, 20, 1), 1);
	assert_int_equal(threads_for(state, 20, 3), 3);
	assert_int_equal(threads_for(state, 20, 20), 8);
}

UNIT_MAIN(temp_setup, temp_teardown)
