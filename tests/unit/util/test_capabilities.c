/* SPDX-License-Identifier: MIT */
/* test_capabilities.c - fs/util/capabilities.c: the remaining capabilities of root. */
#include "fs/util/capabilities.h"
#include "tests/unit/child.h"
#include "tests/unit/temp_dir.h"

#include <inttypes.h>
#include <linux/capability.h>
#include <sys/wait.h>

/* A capability set of this process, named as in /proc: CapEff and the like. */
static uint64_t set_named(const char *name)
{
	FILE *status = fopen("/proc/self/status", "re");
	char line[256], key[16];
	uint64_t set = UINT64_MAX;

	child_must(status != NULL);
	while (fgets(line, sizeof(line), status)) {
		uint64_t value;

		if (sscanf(line, "%15[^:]: %" SCNx64, key, &value) == 2 && strcmp(key, name) == 0)
			set = value;
	}
	fclose(status);
	return set;
}

#define KEPT (CAPABILITY(CAP_CHOWN) | CAPABILITY(CAP_SETUID))

static void keep_two(void *context)
{
	(void)context;
	if (!capabilities_have(CAP_SETPCAP) || !capabilities_have(CAP_CHOWN))
		child_skip();
	child_must(capabilities_keep(KEPT) == 0);
	child_must(set_named("CapPrm") == KEPT);
	child_must(set_named("CapEff") == KEPT);
	child_must(set_named("CapBnd") == KEPT);
	child_must(set_named("CapInh") == 0);
	child_must(set_named("CapAmb") == 0);
	child_must(capabilities_have(CAP_CHOWN));
	child_must(!capabilities_have(CAP_SYS_ADMIN));
	/* No capability comes back. */
	child_must(capabilities_keep(UINT64_MAX) == 0);
	child_must(set_named("CapPrm") == KEPT);
	child_must(capabilities_keep(0) == 0);
	child_must(set_named("CapPrm") == 0);
}

static void root_keeps_named_capabilities_only(void **state)
{
	(void)state;
	in_child(keep_two, NULL);
}

/* execve() by root would raise the whole bounding set. */
static void keep_and_execute(void *context)
{
	int status = -1;
	pid_t child;

	(void)context;
	if (!capabilities_have(CAP_SETPCAP))
		child_skip();
	child_must(capabilities_keep(CAPABILITY(CAP_CHOWN)) == 0);
	child = fork();
	if (child == 0) {
		execl("/bin/sh", "sh", "-c", "grep -q '^CapEff:.*0001$' /proc/self/status", NULL);
		_exit(1);
	}
	child_must(waitpid(child, &status, 0) == child && status == 0);
}

static void programs_that_root_executes_gain_none(void **state)
{
	(void)state;
	in_child(keep_and_execute, NULL);
}

static void keep_as_user(void *context)
{
	(void)context;
	if (geteuid() == 0)
		child_must(setgid(54321) == 0 && setuid(54321) == 0);
	child_must(!capabilities_have(CAP_CHOWN));
	child_must(capabilities_keep(KEPT) == 0);
	child_must(set_named("CapPrm") == 0);
}

static void user_without_capabilities_can_give_none(void **state)
{
	(void)state;
	in_child(keep_as_user, NULL);
}

UNIT_MAIN(temp_setup, temp_teardown)
