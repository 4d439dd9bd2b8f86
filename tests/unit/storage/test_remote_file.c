/* SPDX-License-Identifier: MIT */
/* test_remote_file.c - fs/storage/remote_file.c: reads of any ranges of a file on a server, by
 * many threads, with few requests for sequential reads and few bytes for scattered ones. */
#include "fs/storage/remote_cache.h"
#include "fs/storage/remote_file.h"
#include "tests/unit/http_server.h"

#include <pthread.h>

#define SIZE (40 * REMOTE_BLOCK + 1234)

struct scene {
	struct http_server server;
	uint8_t *bytes; /* content of the file "f" */
	struct remote_cache *cache;
	struct remote_file *file;
	struct error err;
};

static struct scene scene_begin(void **state, const char *what)
{
	struct scene scene = { .bytes = http_server_file(state, "f", SIZE, 1) };

	scene.server = http_server_start(state);
	scene.cache = remote_cache_new();
	must(scene.cache);
	scene.file = remote_file_open(http_server_url(&scene.server, what).text, scene.cache,
				      &scene.err);
	if (!scene.file)
		fail_msg("%s", scene.err.text);
	return scene;
}

static void scene_end(struct scene *scene)
{
	remote_file_close(scene->file);
	assert_int_equal(remote_cache_bytes(scene->cache), 0);
	remote_cache_unref(scene->cache);
	http_server_stop(&scene->server);
	free(scene->bytes);
}

static int get(struct scene *scene, size_t offset, size_t n)
{
	uint8_t *bytes = malloc(n + 1);
	struct error err = { 0 };
	int rc;

	must(bytes);
	rc = remote_file_read(scene->file, bytes, n, offset, NULL, &err);
	if (rc == 0)
		assert_memory_equal(bytes, scene->bytes + offset, n);
	free(bytes);
	return rc;
}

static void any_range_is_read(void **state)
{
	struct scene scene = scene_begin(state, "good/f");

	assert_int_equal(remote_file_stat(scene.file)->st_size, SIZE);
	assert_int_equal(get(&scene, 0, SIZE), 0);
	assert_int_equal(get(&scene, SIZE, 0), 0);
	assert_int_equal(get(&scene, SIZE - 1, 1), 0);
	assert_int_equal(get(&scene, REMOTE_BLOCK - 1, 2), 0);
	assert_int_equal(get(&scene, 3 * REMOTE_BLOCK, REMOTE_BLOCK), 0);
	assert_int_equal(get(&scene, SIZE - 1, 2), -EIO);
	assert_int_equal(get(&scene, SIZE + 1, 0), -EIO);
	assert_int_equal(remote_cache_bytes(scene.cache), SIZE);
	scene_end(&scene);
}

static void a_reader_in_sequence_makes_few_requests(void **state)
{
	struct scene scene = scene_begin(state, "good/f");
	uint64_t sent;

	for (size_t at = 0; at < SIZE; at += 4096)
		assert_int_equal(get(&scene, at, SIZE - at < 4096 ? SIZE - at : 4096), 0);
	assert_between(http_server_requests(state, &sent), 5, 14);
	assert_int_equal(sent, SIZE); /* no byte was sent twice */
	scene_end(&scene);
}

static void random_reader_fetches_one_block_per_read(void **state)
{
	struct scene scene = scene_begin(state, "good/f");
	uint64_t sent;

	for (size_t i = 30; i > 20; i -= 3)
		assert_int_equal(get(&scene, i * REMOTE_BLOCK + 5, 100), 0);
	assert_int_equal(http_server_requests(state, &sent), 5);
	assert_int_equal(sent, 5 * REMOTE_BLOCK);
	scene_end(&scene);
}

static void pieces_fetch_only_the_requested_bytes(void **state)
{
	enum { N = 40, PIECE = 150 };
	static uint8_t bytes[N][PIECE];
	struct remote_piece pieces[N];
	struct scene scene = scene_begin(state, "good/f");
	uint64_t sent;

	/* The first five pieces lie in the first block, which is cached; ten lie close together;
	 * one lies within another; one is empty. */
	for (size_t i = 0; i < N; i++)
		pieces[i] = (struct remote_piece){ i * 9000, PIECE, bytes[i] };
	for (size_t i = 20; i < 30; i++)
		pieces[i].offset = 20 * 9000 + (i - 20) * 500;
	pieces[35].offset = pieces[34].offset + 100;
	pieces[36].length = 0;
	assert_int_equal(remote_file_read_pieces(scene.file, pieces, N, NULL, &scene.err), 0);
	for (size_t i = 0; i < N; i++)
		assert_memory_equal(bytes[i], scene.bytes + pieces[i].offset, pieces[i].length);
	assert_between(http_server_requests(state, &sent), 20, 25);
	assert_between(sent, REMOTE_BLOCK + 20 * PIECE, REMOTE_BLOCK + 25 * PIECE + 5000);
	pieces[N - 1].offset = SIZE - PIECE + 1;
	assert_int_equal(remote_file_read_pieces(scene.file, pieces, N, NULL, &scene.err), -EIO);
	scene_end(&scene);
}

struct reader {
	struct scene *scene;
	int rc;
};

static void *read_all(void *context)
{
	struct reader *reader = context;

	for (size_t at = 0; reader->rc == 0 && at < SIZE; at += REMOTE_BLOCK)
		reader->rc =
			get(reader->scene, at, SIZE - at < REMOTE_BLOCK ? SIZE - at : REMOTE_BLOCK);
	return NULL;
}

static void concurrent_readers_fetch_once(void **state)
{
	struct scene scene = scene_begin(state, "good/f");
	struct reader readers[8];
	pthread_t threads[8];
	uint64_t sent;

	for (int i = 0; i < 8; i++) {
		readers[i] = (struct reader){ &scene, 0 };
		assert_int_equal(pthread_create(&threads[i], NULL, read_all, &readers[i]), 0);
	}
	for (int i = 0; i < 8; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(readers[i].rc, 0);
	}
	http_server_requests(state, &sent);
	assert_int_equal(sent, SIZE);
	scene_end(&scene);
}

/* Replace the file by another one of the same size. */
static void replace(void **state)
{
	free(http_server_file(state, "f", SIZE, 2));
	change_times(state, "www/f");
}

static void changed_file_is_not_read_and_cached_bytes_stay(void **state)
{
	uint8_t bytes[10];
	const struct remote_piece piece = { 20 * REMOTE_BLOCK, 10, bytes };
	struct scene scene = scene_begin(state, "good/f");

	assert_int_equal(get(&scene, 10 * REMOTE_BLOCK, 100), 0);
	replace(state);
	assert_int_equal(get(&scene, 10 * REMOTE_BLOCK, REMOTE_BLOCK), 0);
	assert_int_equal(get(&scene, 20 * REMOTE_BLOCK, 100), -EIO);
	assert_int_equal(remote_file_read_pieces(scene.file, &piece, 1, NULL, &scene.err), -EIO);
	assert_int_equal(scene.err.code, ESTALE);
	scene_end(&scene);
}

static void replaced_file_without_etag_is_detected(void **state)
{
	uint8_t bytes[10];
	const struct remote_piece piece = { 20 * REMOTE_BLOCK, 10, bytes };
	struct scene scene = scene_begin(state, "nameless/f");

	assert_int_equal(remote_file_stat(scene.file)->st_mtim.tv_sec, 315532800);
	assert_int_equal(get(&scene, 10 * REMOTE_BLOCK, 100), 0);
	assert_int_equal(remote_file_read_pieces(scene.file, &piece, 1, NULL, &scene.err), 0);
	replace(state);
	assert_int_equal(get(&scene, 10 * REMOTE_BLOCK, REMOTE_BLOCK), 0);
	assert_int_equal(get(&scene, 30 * REMOTE_BLOCK, 100), -EIO);
	assert_int_equal(remote_file_read_pieces(scene.file, &piece, 1, NULL, &scene.err), -EIO);
	assert_int_equal(scene.err.code, ESTALE);
	scene_end(&scene);
}

static void two_files_are_told_from_each_other(void **state)
{
	struct scene scene = scene_begin(state, "good/f");
	struct remote_file *other;

	free(http_server_file(state, "g", SIZE, 3));
	other = remote_file_open(http_server_url(&scene.server, "good/g").text, NULL, &scene.err);
	assert_non_null(other);
	assert_true(remote_file_stat(scene.file)->st_dev == remote_file_stat(other)->st_dev);
	assert_true(remote_file_stat(scene.file)->st_ino != remote_file_stat(other)->st_ino);
	remote_file_keep(other, 100);
	remote_file_close(other);
	scene_end(&scene);
}

static void read_can_be_interrupted(void **state)
{
	struct scene scene = scene_begin(state, "hang/f");
	atomic_bool stop = true;
	char byte;

	free(http_server_file(state, "hang", 1, 1));
	assert_int_equal(remote_file_read(scene.file, &byte, 1, SIZE - 1, &stop, &scene.err),
			 -EINTR);
	assert_int_equal(remote_file_read(scene.file, &byte, 1, 5, NULL, &scene.err), 0);
	remote_cache_interrupt(scene.cache, true);
	assert_int_equal(remote_file_read(scene.file, &byte, 1, SIZE - 1, NULL, &scene.err),
			 -EINTR);
	scene_end(&scene);
}

static void out_of_memory_is_reported(void **state)
{
	static uint8_t bytes[100];
	const struct remote_piece piece = { 20 * REMOTE_BLOCK, sizeof(bytes), bytes };
	struct scene scene;
	struct path url;
	int rc;

	needs_failing_allocations();
	scene = scene_begin(state, "nameless/f");
	url = http_server_url(&scene.server, "nameless/f");
	for (uint64_t k = 1;; k++) {
		remote_file_close(scene.file);
		allocation_fails(k);
		scene.file = remote_file_open(url.text, NULL, &scene.err);
		if (!allocation_failed())
			break;
		/* The opening may succeed without its first block in the cache. */
		assert_true(scene.file || scene.err.code == ENOMEM);
	}
	assert_non_null(scene.file);
	for (uint64_t k = 1;; k++) {
		allocation_fails(k);
		/* Reads go backwards, so no block is read ahead. */
		rc = remote_file_read(scene.file, bytes, sizeof(bytes), (40 - 2 * k) * REMOTE_BLOCK,
				      NULL, &scene.err);
		if (!allocation_failed())
			break;
		assert_int_equal(rc, -ENOMEM);
		assert_int_equal(scene.err.code, ENOMEM);
	}
	assert_int_equal(rc, 0);
	for (uint64_t k = 1;; k++) {
		allocation_fails(k);
		rc = remote_file_read_pieces(scene.file, &piece, 1, NULL, &scene.err);
		if (!allocation_failed())
			break;
		assert_int_equal(rc, -ENOMEM);
	}
	assert_int_equal(rc, 0);
	scene_end(&scene);
}

UNIT_MAIN(temp_setup, temp_teardown)
