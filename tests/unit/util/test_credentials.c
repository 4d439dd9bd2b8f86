/* SPDX-License-Identifier: MIT */
/* test_credentials.c - fs/util/credentials.c: whose rights a thread writes with. */
#include "fs/util/credentials.h"
#include "tests/unit/temp_dir.h"

#include <pthread.h>

static uid_t owner_of(const char *path)
{
	struct stat stat;

	must(lstat(path, &stat) == 0);
	return stat.st_uid;
}

static void ones_own_rights_need_no_change(void **state)
{
	assert_int_equal(credentials_assume(geteuid(), getegid()), 0);
	write_text(in_temp(state, "file").text, "");
	assert_int_equal(owner_of(in_temp(state, "file").text), geteuid());
	credentials_restore();
}

static void who_is_not_root_stays_who_they_are(void **state)
{
	if (geteuid() == 0)
		skip();
	assert_int_equal(credentials_assume(geteuid() + 1, getegid()), 0);
	write_text(in_temp(state, "file").text, "");
	assert_int_equal(owner_of(in_temp(state, "file").text), geteuid());
	credentials_restore();
}

/* A user without any right of their own. */
#define STRANGER 54321

struct attempt {
	void **state;
	int assumed, open_errno;
	uid_t owner_meanwhile, owner_after;
};

/* On a thread of its own: its groups do not come back. */
static void *write_as_stranger(void *argument)
{
	struct attempt *attempt = argument;
	const struct path shut = in_temp(attempt->state, "shut/file");
	const struct path theirs = in_temp(attempt->state, "open/theirs");
	int fd;

	attempt->assumed = credentials_assume(STRANGER, STRANGER);
	fd = open(shut.text, O_WRONLY | O_CREAT, 0600);
	attempt->open_errno = fd < 0 ? errno : 0;
	write_text(theirs.text, "");
	attempt->owner_meanwhile = owner_of(theirs.text);
	credentials_restore();
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
	assert_int_equal(attempt.open_errno, EACCES);
	assert_int_equal(attempt.owner_meanwhile, STRANGER);
	assert_int_equal(attempt.owner_after, 0);
	/* This thread was root all the time. */
	write_text(in_temp(state, "shut/mine").text, "");
	assert_int_equal(owner_of(in_temp(state, "shut/mine").text), 0);
}

UNIT_MAIN(temp_setup, temp_teardown)
