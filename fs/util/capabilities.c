/* SPDX-License-Identifier: MIT */
/* capabilities.c - see capabilities.h. The two system calls are made directly, which saves a
 * dependency on libcap. */
#include "fs/util/capabilities.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int capabilities_get(struct __user_cap_data_struct sets[CAPABILITY_WORDS])
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capget, &header, sets) < 0 ? -errno : 0;
}

int capabilities_set(const struct __user_cap_data_struct sets[CAPABILITY_WORDS])
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capset, &header, sets) < 0 ? -errno : 0;
}

bool capabilities_have(unsigned number)
{
	struct __user_cap_data_struct sets[CAPABILITY_WORDS];

	return capabilities_get(sets) == 0 && (sets[number / 32].effective & (1u << number % 32));
}

/* The first number that the kernel does not know ends the loop. */
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
	struct __user_cap_data_struct sets[CAPABILITY_WORDS];
	int rc = capabilities_get(sets);

	if (rc < 0)
		return rc;
	/* PR_CAPBSET_DROP needs CAP_SETPCAP, which is dropped below. */
	limit_bounding_set(keep);
	/* An older kernel without ambient capabilities returns an error, which is harmless. */
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	for (unsigned i = 0; i < CAPABILITY_WORDS; i++) {
		const uint32_t word = (uint32_t)(keep >> (32 * i));

		sets[i].effective &= word;
		sets[i].permitted &= word;
		sets[i].inheritable = 0;
	}
	return capabilities_set(sets);
}
