/* SPDX-License-Identifier: MIT */
/* capabilities.h - giving up root's capabilities for good (capabilities(7)). A set is a mask with
 * the bit 1 << CAP_X for each CAP_X of linux/capability.h. */
#ifndef FS_UTIL_CAPABILITIES_H
#define FS_UTIL_CAPABILITIES_H

#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>

#define CAPABILITY(number) ((uint64_t)1 << (number))

/* Get and set the capability sets of this thread. The kernel splits each set into CAPABILITY_WORDS
 * words of 32 bits, lowest first. Both return 0 or -errno. */
#define CAPABILITY_WORDS _LINUX_CAPABILITY_U32S_3
int capabilities_get(struct __user_cap_data_struct sets[CAPABILITY_WORDS]);
int capabilities_set(const struct __user_cap_data_struct sets[CAPABILITY_WORDS]);

/* Is the capability in this thread's effective set? */
bool capabilities_have(unsigned number);

/* Drop every capability that is not in the set from all five sets of this thread; none is gained.
 * Threads and programs that this thread starts inherit the limit; other threads keep their sets.
 * The bounding set is reduced only if the thread has CAP_SETPCAP. Returns 0 or -errno. */
int capabilities_keep(uint64_t set);

#endif
