/* SPDX-License-Identifier: MIT */
/* capabilities.h - capabilities of root, given away for good (capabilities(7)). A set is a mask
 * with the bit 1 << CAP_X for each CAP_X of linux/capability.h. */
#ifndef FS_UTIL_CAPABILITIES_H
#define FS_UTIL_CAPABILITIES_H

#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>

#define CAPABILITY(number) ((uint64_t)1 << (number))

/* The sets of this thread as the kernel has them: each is so many words of 32 bits, the lower ones
 * first. Both return 0 or -errno. */
#define CAPABILITY_WORDS _LINUX_CAPABILITY_U32S_3
int capabilities_get(struct __user_cap_data_struct sets[CAPABILITY_WORDS]);
int capabilities_set(const struct __user_cap_data_struct sets[CAPABILITY_WORDS]);

/* Does this thread have it in effect? */
bool capabilities_have(unsigned number);

/* Let this thread, the threads that it starts and the programs that it executes have no other
 * capabilities than those of the set, of which it gains none. They leave all five sets of the
 * thread; the bounding set where the thread has CAP_SETPCAP. Other threads keep what they have.
 * Returns 0 or -errno. */
int capabilities_keep(uint64_t set);

#endif
