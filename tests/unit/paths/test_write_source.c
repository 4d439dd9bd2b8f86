/* SPDX-License-Identifier: MIT */
/* test_write_source.c - fs/paths/write_source.c and fs/paths/proc_fds.c: this process's open
 * files. */
#include "fs/base/donor.h"
#include "fs/paths/mount_table.h"
#include "fs/paths/proc_fds.h"
#include "fs/paths/write_source.h"
#include "tests/unit/temp_dir.h"

/* A device without files. */
#define NOWHERE ((dev_t)0xfffff)

/* Records requests to the mount. */
struct own {
	uint64_t asked;
};

static struct donor *tell(void *context, uint64_t ino, uint64_t *size)
{
	struct own *own = context;

	own->asked = ino;
	*size = 7;
	return donor_from_path("/own", NULL, "t", 1);
}

/* Make a file of that many bytes, and open it with flags. */
static int open_sized(void **state, const char *name, off_t size, int flags)
{
	int fd;

	write_text(in_temp(state, name).text, "");
	must(truncate(in_temp(state, name).text, size) == 0);
	fd = open(in_temp(state, name).text, flags | O_CLOEXEC);
	must(fd >= 0);
	return fd;
}

/* Path that a trace of this process finds for size bytes, "" for none. */
static struct path found(struct own *own, dev_t device, uint64_t size, uint64_t target)
{
	struct write_sources *tracer = write_sources_new(tell, own);
	struct write_source *trace;
	struct donor *donor;
	struct path path = { "" };

	must(tracer);
	if (device)
		write_sources_set_mount(tracer, "/nowhere", device);
	trace = write_source_begin(tracer, getpid(), getuid(), getgid());
	must(trace);
	donor = write_source_donor(trace, size, target);
	if (donor)
		snprintf(path.text, sizeof(path.text), "%s", donor_path(donor));
	donor_unref(donor);
	write_source_unref(trace);
	write_sources_free(tracer);
	return path;
}

static void the_one_file_of_the_right_size_is_the_source(void **state)
{
	struct own own = { 0 };
	const int a = open_sized(state, "a b", 123457, O_RDONLY);
	const int b = open_sized(state, "b", 123458, O_RDWR);
	const int c = open_sized(state, "c", 123459, O_WRONLY);
	char *real = realpath(in_temp(state, "a b").text, NULL);

	assert_string_equal(found(&own, NOWHERE, 123457, 0).text, real);
	free(real);
	real = realpath(in_temp(state, "b").text, NULL);
	assert_string_equal(found(&own, NOWHERE, 123458, 0).text, real);
	free(real);
	/* The file is write-only, no file has that length, or the mount is unknown. */
	assert_string_equal(found(&own, NOWHERE, 123459, 0).text, "");
	assert_string_equal(found(&own, NOWHERE, 123460, 0).text, "");
	assert_string_equal(found(&own, 0, 123457, 0).text, "");
	close(a);
	assert_string_equal(found(&own, NOWHERE, 123457, 0).text, "");
	close(b);
	close(c);
}

static void ambiguous_source_is_not_chosen(void **state)
{
	struct own own = { 0 };
	const int a = open_sized(state, "a", 123457, O_RDONLY);
	const int b = open_sized(state, "b", 123457, O_RDONLY);
	const int again = open(in_temp(state, "a").text, O_RDONLY | O_CLOEXEC);

	assert_string_equal(found(&own, NOWHERE, 123457, 0).text, "");
	close(b);
	/* Two descriptors of one file count as one. */
	assert_string_not_equal(found(&own, NOWHERE, 123457, 0).text, "");
	close(a);
	close(again);
}

static void a_file_that_was_deleted_has_no_name(void **state)
{
	struct own own = { 0 };
	const int a = open_sized(state, "a", 123457, O_RDONLY);

	unlink(in_temp(state, "a").text);
	assert_string_equal(found(&own, NOWHERE, 123457, 0).text, "");
	close(a);
}

static void file_of_own_mount_is_found_by_inode(void **state)
{
	struct own own = { 0 };
	const int a = open_sized(state, "a", 123457, O_RDONLY);
	struct mount_table *mounts = mount_table_new();
	struct proc_fd openings[8];
	unsigned n, i = 0;
	struct stat stat;

	must(mounts && fstat(a, &stat) == 0);
	n = proc_fds_find(mounts, getpid(), NOWHERE, openings, 8);
	for (unsigned k = 0; k < n; k++) {
		if (openings[k].ino == stat.st_ino && openings[k].device == stat.st_dev)
			i = k + 1;
		close(openings[k].fd);
	}
	mount_table_free(mounts);
	if (!i) {
		/* The kernel does not tell the inode, or not with the device of stat(2). */
		close(a);
		skip();
	}
	/* The file is found by inode number, for any size on disk; the overwritten file is
	 * not. */
	assert_string_equal(found(&own, stat.st_dev, 7, 0).text, "/own");
	assert_int_equal(own.asked, stat.st_ino);
	assert_string_equal(found(&own, stat.st_dev, 7, stat.st_ino).text, "");
	close(a);
}

static void missing_process_has_no_open_files(void **state)
{
	struct mount_table *mounts = mount_table_new();
	struct proc_fd openings[2];

	(void)state;
	must(mounts);
	assert_int_equal(proc_fds_find(mounts, 0, NOWHERE, openings, 2), 0);
	assert_int_equal(proc_fds_find(mounts, INT32_MAX, NOWHERE, openings, 2), 0);
	mount_table_free(mounts);
}

UNIT_MAIN(temp_setup, temp_teardown)
