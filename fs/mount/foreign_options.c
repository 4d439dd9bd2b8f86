/* SPDX-License-Identifier: MIT */
/* foreign_options.c - see foreign_options.h. */
#include "fs/mount/foreign_options.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

/* An option that ends in '=' has a value. */
static const char *const dropped[] = {
	/* The kernel lists these for a mount; libmount 2.41 passes them back on a remount. */
	"user_id=", "group_id=",
	/* mount(8), systemd and file managers read these in a line of fstab. */
	"defaults", "auto", "noauto", "nofail", "_netdev", "user", "user=", "nouser", "users",
	"nousers", "owner", "noowner", "group", "nogroup", "comment=",
	/* Every mount of organfs is nodev, nosuid and default_permissions. */
	"dev", "nodev", "suid", "nosuid", "default_permissions",
	/* Reading changes no times. */
	"atime", "noatime", "diratime", "nodiratime", "relatime", "norelatime", "strictatime",
	"nostrictatime", "lazytime", "nolazytime", "iversion", "noiversion",
	/* A graft is durable when close() returns, with or without these options. */
	"sync", "async", "dirsync",
	/* These set how much the kernel logs. */
	"silent", "loud",
	/* Options of other FUSE filesystems: organfs works so anyway, or they have no effect. */
	"big_writes", "async_read", "intr", "use_ino", "readdir_ino", "kernel_cache", "clone_fd",
	NULL
};

static const char *const refused[] = {
	/* The mount's name and the kernel's cache times, for which other values would be wrong. */
	"fsname=",
	"subtype=",
	"blkdev",
	"direct_io",
	"auto_cache",
	"noauto_cache",
	"writeback_cache",
	"attr_timeout=",
	"ac_attr_timeout=",
	"entry_timeout=",
	"negative_timeout=",
	"max_read=",
	"max_write=",
	"max_readahead=",
	"sync_read",
	NULL
};

static bool is_one_of(const char *argument, const char *const *words)
{
	for (; *words; words++) {
		const size_t n = strlen(*words);

		if (strncmp(argument, *words, n) == 0 && ((*words)[n - 1] == '=' || !argument[n]))
			return true;
	}
	return false;
}

bool foreign_option_is_dropped(const char *argument)
{
	return is_one_of(argument, dropped) || strncasecmp(argument, "x-", 2) == 0;
}

bool foreign_option_is_refused(const char *argument)
{
	return is_one_of(argument, refused);
}
