/* SPDX-License-Identifier: MIT */
/* capabilities.c - see capabilities.h. The system calls are made directly, as libcap would be one
 * more library for two of them. */
#include "fs/util/capabilities.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A set is two words of 32 bits in this version of the structures. */
#define WORDS _LINUX_CAPABILITY_U32S_3

static int get(struct __user_cap_data_struct data[WORDS])
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capget, &header, data) < 0 ? -errno : 0;
}

static int set(const struct __user_cap_data_struct data[WORDS])
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}

bool capabilities_have(unsigned number)
{
	struct __user_cap_data_struct data[WORDS];

	return get(data) == 0 && (data[number / 32].effective & (1u << number % 32));
}

/* A number that the kernel does not know ends the set. */
static void limit_bounding_set(uint64_t keep)
{
	for (unsigned number = 0; number < 64; number++) {
		const int there = prctl(PR_CAPBSET_READ, number, 0, 0, 0);

		if (there < 0)
			return;
		if (there && !(keep & CAPABILITY(number)))
			prctl(PR_CAPBSET_DROP, number, 0, 0, 0);
	}
}

int capabilities_keep(uint64_t keep)
{
	struct __user_cap_data_struct data[WORDS];
	int rc = get(data);

	if (rc < 0)
		return rc;
	/* While CAP_SETPCAP is there. */
	limit_bounding_set(keep);
	/* A kernel without ambient capabilities has none to clear. */
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	for (unsigned i = 0; i < WORDS; i++) {
		const uint32_t word = (uint32_t)(keep >> (32 * i));

		data[i].effective &= word;
		data[i].permitted &= word;
		data[i].inheritable = 0;
	}
	return set(data);
}
