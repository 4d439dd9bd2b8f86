/* SPDX-License-Identifier: MIT */
/* test_pollers.c - fs/fuse/pollers.c: handles for which the kernel is notified, each destroyed
 * once. This file defines the functions of libfuse. */
#include "fs/fuse/pollers.h"
#include "fs/mount/mount.h"
#include "fs/tree/open_files.h"
#include "tests/unit/unit.h"

struct fuse_pollhandle {
	unsigned told, destroyed;
};

int fuse_lowlevel_notify_poll(struct fuse_pollhandle *handle);
int fuse_lowlevel_notify_poll(struct fuse_pollhandle *handle)
{
	assert_int_equal(handle->destroyed, 0);
	handle->told++;
	return 0;
}

void fuse_pollhandle_destroy(struct fuse_pollhandle *handle);
void fuse_pollhandle_destroy(struct fuse_pollhandle *handle)
{
	handle->destroyed++;
}

static void assert_handle(const struct fuse_pollhandle *handle, unsigned told, unsigned destroyed)
{
	assert_int_equal(handle->told, told);
	assert_int_equal(handle->destroyed, destroyed);
}

static void every_handle_is_notified_once_and_destroyed(void **state)
{
	struct pollers pollers = { .lock = PTHREAD_MUTEX_INITIALIZER };
	struct poller a = { 0 }, b = { 0 };
	struct fuse_pollhandle of_a = { 0 }, of_b = { 0 };

	(void)state;
	pollers_add(&pollers, &a, &of_a);
	pollers_add(&pollers, &b, &of_b);
	assert_handle(&of_a, 0, 0);
	pollers_tell(&pollers);
	pollers_tell(&pollers);
	assert_handle(&of_a, 1, 1);
	assert_handle(&of_b, 1, 1);
	pollers_remove(&pollers, &a);
	pollers_clear(&pollers);
	assert_handle(&of_a, 1, 1);
	assert_handle(&of_b, 1, 1);
}

static void a_later_handle_of_a_file_replaces_its_earlier_one(void **state)
{
	struct pollers pollers = { .lock = PTHREAD_MUTEX_INITIALIZER };
	struct poller a = { 0 };
	struct fuse_pollhandle first = { 0 }, second = { 0 }, third = { 0 };

	(void)state;
	pollers_add(&pollers, &a, &first);
	pollers_add(&pollers, &a, &second);
	assert_handle(&first, 0, 1);
	pollers_tell(&pollers);
	assert_handle(&second, 1, 1);
	pollers_add(&pollers, &a, &third);
	pollers_tell(&pollers);
	assert_handle(&third, 1, 1);
	pollers_clear(&pollers);
}

static void closed_file_is_not_notified(void **state)
{
	for (unsigned closed = 0; closed < 3; closed++) {
		struct pollers pollers = { .lock = PTHREAD_MUTEX_INITIALIZER };
		struct poller files[3] = { 0 };
		struct fuse_pollhandle handles[3] = { 0 };

		(void)state;
		for (unsigned i = 0; i < 3; i++)
			pollers_add(&pollers, &files[i], &handles[i]);
		pollers_remove(&pollers, &files[closed]);
		pollers_remove(&pollers, &files[closed]);
		pollers_tell(&pollers);
		for (unsigned i = 0; i < 3; i++)
			assert_handle(&handles[i], i != closed, 1);
		pollers_clear(&pollers);
	}
}

static void clearing_destroys_every_handle_without_notice(void **state)
{
	struct pollers pollers = { .lock = PTHREAD_MUTEX_INITIALIZER };
	struct poller a = { 0 }, b = { 0 };
	struct fuse_pollhandle of_a = { 0 }, of_b = { 0 };

	(void)state;
	pollers_add(&pollers, &a, &of_a);
	pollers_add(&pollers, &b, &of_b);
	pollers_clear(&pollers);
	pollers_tell(&pollers);
	pollers_remove(&pollers, &a);
	assert_handle(&of_a, 0, 1);
	assert_handle(&of_b, 0, 1);
	pollers_clear(&pollers);
}

UNIT_MAIN(NULL, NULL)
