/* SPDX-License-Identifier: MIT */
/* test_mount_table.c - fs/paths/mount_table.c: mounts that exist, appear and disappear. */
#include "fs/paths/mount_table.h"
#include "tests/unit/temp_dir.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>

/* Id and device of the mount that has a path. */
static int mount_of_path(const char *path, dev_t *device)
{
	struct statx stat;

	must(statx(AT_FDCWD, path, 0, STATX_MNT_ID, &stat) == 0);
	*device = makedev(stat.stx_dev_major, stat.stx_dev_minor);
	return (int)stat.stx_mnt_id;
}

static void a_mount_is_found_by_its_id(void **state)
{
	struct mount_table *table = mount_table_new();
	struct mount_entry entry;
	dev_t device;
	const int id = mount_of_path("/proc", &device);

	(void)state;
	must(table);
	for (int i = 0; i < 2; i++) {
		assert_true(mount_table_find(table, id, &entry));
		assert_int_equal(entry.id, id);
		assert_true(entry.device == device);
		assert_false(entry.is_organfs);
		assert_false(entry.is_local);
		assert_false(mount_table_find(table, INT32_MAX, &entry));
		assert_false(mount_table_find(table, -1, &entry));
	}
	mount_table_free(table);
	mount_table_free(NULL);
}

static void mounts_that_come_and_go_are_seen(void **state)
{
	struct mount_table *table;
	struct mount_entry entry;
	dev_t device;
	int id;

	/* The test needs the right to mount. */
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		skip();
	must(mkdir(in_temp(state, "point").text, 0700) == 0);
	table = mount_table_new();
	must(table);
	id = mount_of_path("/proc", &device);
	assert_true(mount_table_find(table, id, &entry));
	for (int i = 0; i < 3; i++) {
		must(mount("tmpfs", in_temp(state, "point").text, "tmpfs", 0, "size=4k") == 0);
		id = mount_of_path(in_temp(state, "point").text, &device);
		assert_true(mount_table_find(table, id, &entry));
		assert_true(entry.device == device);
		assert_true(entry.is_local);
		must(umount(in_temp(state, "point").text) == 0);
		assert_false(mount_table_find(table, id, &entry));
	}
	mount_table_free(table);
}

/* Without memory the mount is invisible, and a later call finds it. */
static void without_memory_no_mount_is_found(void **state)
{
	struct mount_entry entry;
	dev_t device;
	const int id = mount_of_path("/proc", &device);
	bool failed = true;

	(void)state;
	needs_failing_allocations();
	for (uint64_t k = 1; failed; k++) {
		struct mount_table *table;
		bool found = false;

		allocation_fails(k);
		table = mount_table_new();
		if (table)
			found = mount_table_find(table, id, &entry);
		failed = allocation_failed();
		assert_true(failed || found);
		if (table)
			assert_true(mount_table_find(table, id, &entry));
		mount_table_free(table);
	}
}

UNIT_MAIN(temp_setup, temp_teardown)
