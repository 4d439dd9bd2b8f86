/* SPDX-License-Identifier: MIT */
/* test_reply_buffers.c - fs/mount/reply_buffers.c: buffers are reused and never shared. */
#include "fs/mount/reply_buffers.h"
#include "tests/unit/unit.h"

#include <pthread.h>

static void a_buffer_is_page_aligned_and_all_of_it_can_be_written(void **state)
{
	struct reply_buffers *buffers = reply_buffers_new();
	void *buffer = reply_buffers_get(buffers);

	(void)state;
	assert_non_null(buffer);
	assert_int_equal((uintptr_t)buffer % 4096, 0);
	memset(buffer, 0xff, REPLY_BUFFER_SIZE);
	reply_buffers_put(buffers, buffer);
	reply_buffers_free(buffers);
}

static void returned_buffer_is_reused(void **state)
{
	struct reply_buffers *buffers = reply_buffers_new();
	void *first = reply_buffers_get(buffers), *second = reply_buffers_get(buffers), *again[2];

	(void)state;
	assert_ptr_not_equal(first, second);
	reply_buffers_put(buffers, first);
	reply_buffers_put(buffers, second);
	again[0] = reply_buffers_get(buffers);
	again[1] = reply_buffers_get(buffers);
	assert_ptr_not_equal(again[0], again[1]);
	assert_true(again[0] == first || again[0] == second);
	assert_true(again[1] == first || again[1] == second);
	reply_buffers_put(buffers, again[0]);
	reply_buffers_put(buffers, again[1]);
	reply_buffers_free(buffers);
}

static void null_can_be_returned(void **state)
{
	struct reply_buffers *buffers = reply_buffers_new();

	(void)state;
	reply_buffers_put(buffers, NULL);
	reply_buffers_free(buffers);
	reply_buffers_free(NULL);
}

static void *get_and_put(void *argument)
{
	for (int i = 0; i < 500; i++) {
		unsigned char *buffer = reply_buffers_get(argument);

		memset(buffer, i & 0xff, 64);
		for (int k = 0; k < 64; k++)
			if (buffer[k] != (i & 0xff))
				return buffer;
		reply_buffers_put(argument, buffer);
	}
	return NULL;
}

static void no_two_threads_have_the_same_buffer(void **state)
{
	struct reply_buffers *buffers = reply_buffers_new();
	pthread_t threads[4];
	void *wrong;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, get_and_put, buffers), 0);
	for (size_t i = 0; i < ARRAY_LENGTH(threads); i++) {
		pthread_join(threads[i], &wrong);
		assert_null(wrong);
	}
	reply_buffers_free(buffers);
}

UNIT_MAIN(NULL, NULL)
