/* SPDX-License-Identifier: MIT */
/* test_layer_order.c - fs/layer/layer_order.c: what the kernel says of filesystems. */
#include "fs/layer/layer_order.h"
#include "tests/unit/temp_dir.h"

#include <linux/magic.h>

#define XFS   0x58465342ul
#define TMPFS 0x01021994ul

#define JOURNAL "rw\nbarrier\ndata=ordered\ncommit=5\n"

struct kernel {
	struct path proc, sys, mountinfo;
};

static void make_directory(const struct path *below, const char *name)
{
	must(mkdir(path_in(below->text, name).text, 0700) == 0);
}

/* A kernel with the ext4 filesystem 8:1 of these options, and these mounts. */
static struct kernel kernel_of(void **state, const char *options, const char *mounts)
{
	const struct kernel kernel = { in_temp(state, "proc"), in_temp(state, "sys"),
				       in_temp(state, "mountinfo") };

	make_directory(&kernel.proc, "");
	make_directory(&kernel.proc, "fs");
	make_directory(&kernel.proc, "fs/ext4");
	make_directory(&kernel.proc, "fs/ext4/sda1");
	make_directory(&kernel.proc, "fs/jbd2");
	make_directory(&kernel.proc, "fs/jbd2/sda1-8");
	make_directory(&kernel.sys, "");
	make_directory(&kernel.sys, "dev");
	make_directory(&kernel.sys, "dev/block");
	must(symlink("../../devices/pci/block/sda/sda1",
		     path_in(kernel.sys.text, "dev/block/8:1").text) == 0);
	write_text(path_in(kernel.proc.text, "fs/ext4/sda1/options").text, options);
	write_text(kernel.mountinfo.text, mounts);
	return kernel;
}

static bool is_told(const struct kernel *kernel, unsigned long type, unsigned minor)
{
	const struct layer_order_places places = { kernel->proc.text, kernel->sys.text,
						   kernel->mountinfo.text };

	return layer_order_is_told(&places, type, 8, minor);
}

static void ext4_with_a_journal_keeps_order(void **state)
{
	const struct kernel kernel = kernel_of(state, JOURNAL, "");

	assert_true(is_told(&kernel, EXT4_SUPER_MAGIC, 1));
	/* Another disk, of which nothing is known; and another filesystem on the same one. */
	assert_false(is_told(&kernel, EXT4_SUPER_MAGIC, 2));
	assert_false(is_told(&kernel, TMPFS, 1));
}

static void ext4_with_its_journal_elsewhere_does_not(void **state)
{
	const struct kernel kernel = kernel_of(state, JOURNAL, "");

	must(rename(path_in(kernel.proc.text, "fs/jbd2/sda1-8").text,
		    path_in(kernel.proc.text, "fs/jbd2/sdb1").text) == 0);
	assert_false(is_told(&kernel, EXT4_SUPER_MAGIC, 1));
	must(rename(path_in(kernel.proc.text, "fs/jbd2/sdb1").text,
		    path_in(kernel.proc.text, "fs/jbd2/sda10-8").text) == 0);
	assert_false(is_told(&kernel, EXT4_SUPER_MAGIC, 1));
}

static void ext4_in_other_modes_does_not(void **state)
{
	static const char *const others[] = { "",
					      "rw\nbarrier\n",
					      "data=writeback\n",
					      "data=journal\n",
					      "nodata=ordered\n",
					      "data=ordered,\n" };
	struct kernel kernel = kernel_of(state, JOURNAL, "");

	for (size_t i = 0; i < ARRAY_LENGTH(others); i++) {
		write_text(path_in(kernel.proc.text, "fs/ext4/sda1/options").text, others[i]);
		assert_false(is_told(&kernel, EXT4_SUPER_MAGIC, 1));
	}
}

static void xfs_keeps_order_on_one_device(void **state)
{
	const struct kernel kernel =
		kernel_of(state, "",
			  "22 1 8:1 / / rw - xfs /dev/sda1 rw,attr2,inode64,logbsize=32k,noquota\n"
			  "23 1 8:2 / /a rw - xfs /dev/sda2 rw,logdev=/dev/sdb1,noquota\n"
			  "24 1 8:3 / /b rw shared:1 - xfs /dev/sda3 rw,noquota,rtdev=/dev/sdb2\n"
			  "25 1 8:4 / /c rw - ext4 /dev/sda4 rw\n");

	assert_true(is_told(&kernel, XFS, 1));
	assert_false(is_told(&kernel, XFS, 2));
	assert_false(is_told(&kernel, XFS, 3));
	assert_false(is_told(&kernel, XFS, 4));
	assert_false(is_told(&kernel, XFS, 5));
}

static void what_has_no_directory_keeps_nothing(void **state)
{
	const int fd = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_false(layer_order_is_kept(fd));
	assert_false(layer_order_is_kept(-1));
	close(fd);
}

UNIT_MAIN(temp_setup, temp_teardown)
