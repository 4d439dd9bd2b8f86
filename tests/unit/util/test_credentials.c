/* SPDX-License-Identifier: MIT */
/* test_credentials.c - fs/util/credentials.c: the rights with which a thread writes. */
#include "fs/util/credentials.h"
#include "tests/unit/temp_dir.h"

#include <linux/capability.h>
#include <pthread.h>
#include <sys/syscall.h>

static uid_t owner_of(const char *path)
{
	struct stat stat;

	must(lstat(path, &stat) == 0);
	return stat.st_uid;
}

static void ones_own_rights_need_no_change(void **state)
{
	struct credentials before;

	assert_int_equal(credentials_assume(geteuid(), getegid(), &before), 0);
	write_text(in_temp(state, "file").text, "");
	assert_int_equal(owner_of(in_temp(state, "file").text), geteuid());
	credentials_restore(&before);
}

static void ordinary_user_keeps_credentials(void **state)
{
	struct credentials before;

	if (geteuid() == 0)
		skip();
	assert_false(credentials_can_assume());
	assert_int_equal(credentials_assume(geteuid() + 1, getegid(), &before), -EPERM);
	assert_int_equal(credentials_assume(0, 0, &before), 0);
	write_text(in_temp(state, "file").text, "");
	assert_int_equal(owner_of(in_temp(state, "file").text), geteuid());
	credentials_restore(&before);
}

/* A user without any rights. */
#define STRANGER 54321

struct attempt {
	void **state;
	int assumed, open_errno;
	bool own_meanwhile, own_after;
	uid_t owner_meanwhile, owner_after;
};

/* Run in a thread of its own, because groups cannot be restored. */
static void *write_as_stranger(void *argument)
{
	struct attempt *attempt = argument;
	const struct path shut = in_temp(attempt->state, "shut/file");
	const struct path theirs = in_temp(attempt->state, "open/theirs");
	struct credentials before;
	int fd;

	attempt->assumed = credentials_assume(STRANGER, STRANGER, &before);
	attempt->own_meanwhile = credentials_are_own();
	fd = open(shut.text, O_WRONLY | O_CREAT, 0600);
	attempt->open_errno = fd < 0 ? errno : 0;
	write_text(theirs.text, "");
	attempt->owner_meanwhile = owner_of(theirs.text);
	credentials_restore(&before);
	attempt->own_after = credentials_are_own();
	write_text(in_temp(attempt->state, "shut/ours").text, "");
	attempt->owner_after = owner_of(in_temp(attempt->state, "shut/ours").text);
	return NULL;
}

static void root_writes_only_where_that_user_may(void **state)
{
	struct attempt attempt = { .state = state };
	pthread_t thread;

	if (geteuid() != 0)
		skip();
	must(chmod(in_temp(state, "").text, 0755) == 0);
	must(mkdir(in_temp(state, "shut").text, 0700) == 0);
	must(mkdir(in_temp(state, "open").text, 0700) == 0);
	must(chmod(in_temp(state, "open").text, 0777) == 0);
	assert_int_equal(pthread_create(&thread, NULL, write_as_stranger, &attempt), 0);
	pthread_join(thread, NULL);
	assert_int_equal(attempt.assumed, 0);
	assert_false(attempt.own_meanwhile);
	assert_true(attempt.own_after);
	assert_int_equal(attempt.open_errno, EACCES);
	assert_int_equal(attempt.owner_meanwhile, STRANGER);
	assert_int_equal(attempt.owner_after, 0);
	/* This thread stayed root. */
	write_text(in_temp(state, "shut/mine").text, "");
	assert_int_equal(owner_of(in_temp(state, "shut/mine").text), 0);
}

/* Effective capabilities of this thread. */
static uint64_t effective(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];

	must(syscall(SYS_capget, &header, sets) == 0);
	return (uint64_t)sets[1].effective << 32 | sets[0].effective;
}

struct powers {
	uint64_t before, meanwhile, inherited, nested, as_root, after;
	int cwd_errno, rc;
	bool can;
};

static void *inherit(void *argument)
{
	struct powers *powers = argument;
	struct credentials before;

	powers->inherited = effective();
	powers->rc |= credentials_assume(0, 0, &before);
	powers->as_root = effective();
	credentials_restore(&before);
	return NULL;
}

static void *give_up_powers(void *argument)
{
	struct powers *powers = argument;
	struct credentials before, between;
	pthread_t child;
	int fd;

	powers->before = effective();
	powers->rc = credentials_assume(STRANGER, STRANGER, &before);
	powers->meanwhile = effective();
	fd = open("/proc/1/cwd", O_PATH | O_DIRECTORY);
	powers->cwd_errno = fd < 0 ? errno : 0;
	/* One thread starts now, and one acts for another user in between. */
	must(pthread_create(&child, NULL, inherit, powers) == 0);
	pthread_join(child, NULL);
	powers->rc |= credentials_assume(STRANGER + 1, STRANGER + 1, &between);
	powers->nested = effective();
	credentials_restore(&between);
	credentials_restore(&before);
	powers->after = effective();
	powers->can = credentials_can_assume();
	return NULL;
}

static void a_thread_that_acts_for_a_user_has_no_capabilities(void **state)
{
	struct powers powers = { .rc = 0 };
	pthread_t thread;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(pthread_create(&thread, NULL, give_up_powers, &powers), 0);
	pthread_join(thread, NULL);
	assert_int_equal(powers.rc, 0);
	assert_true(powers.before != 0);
	assert_int_equal(powers.meanwhile, 0);
	assert_int_equal(powers.cwd_errno, EACCES);
	assert_int_equal(powers.inherited, 0);
	assert_int_equal(powers.as_root, powers.before);
	assert_int_equal(powers.nested, 0);
	assert_int_equal(powers.after, powers.before);
	assert_true(powers.can);
	assert_int_equal(effective(), powers.before);
}

UNIT_MAIN(temp_setup, temp_teardown)
