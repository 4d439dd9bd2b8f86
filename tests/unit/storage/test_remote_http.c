/* SPDX-License-Identifier: MIT */
/* test_remote_http.c - fs/storage/remote_http.c: parts of a file arrive unchanged or not at all,
 * for any behaviour of the server. */
#include "fs/storage/remote_answer.h"
#include "fs/storage/remote_http.h"
#include "tests/unit/http_server.h"

#include <curl/curl.h>
#include <stdarg.h>
#include <time.h>

#define HEAD ((size_t)65536)
#define SIZE ((size_t)300000)

/* -Wl,--wrap=curl_easy_setopt: the k-th option from now on fails. */
static unsigned failing_option;
static CURLcode option_fails_with;

CURLcode __real_curl_easy_setopt(CURL *easy, CURLoption option, ...);
CURLcode __wrap_curl_easy_setopt(CURL *easy, CURLoption option, ...);

CURLcode __wrap_curl_easy_setopt(CURL *easy, CURLoption option, ...)
{
	va_list values;
	CURLcode code;

	if (failing_option && --failing_option == 0)
		return option_fails_with;
	va_start(values, option);
	if (option < CURLOPTTYPE_OBJECTPOINT)
		code = __real_curl_easy_setopt(easy, option, va_arg(values, long));
	else
		code = __real_curl_easy_setopt(easy, option, va_arg(values, void *));
	va_end(values);
	return code;
}

/* -Wl,--wrap=clock_gettime and -Wl,--wrap=curl_multi_poll: a pause without a request under way
 * ends at once, and each wait for a server takes that much longer by the clock. */
static int64_t wait_takes_ms, ahead_ms;

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
CURLMcode __real_curl_multi_poll(CURLM *multi, struct curl_waitfd *fds, unsigned n, int ms,
				 int *ready);
CURLMcode __wrap_curl_multi_poll(CURLM *multi, struct curl_waitfd *fds, unsigned n, int ms,
				 int *ready);

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	const int rc = __real_clock_gettime(clock, now);
	const int64_t ns = now->tv_nsec + ahead_ms % 1000 * 1000000;

	now->tv_sec += ahead_ms / 1000 + ns / 1000000000;
	now->tv_nsec = ns % 1000000000;
	return rc;
}

CURLMcode __wrap_curl_multi_poll(CURLM *multi, struct curl_waitfd *fds, unsigned n, int ms,
				 int *ready)
{
	int under_way;
	const CURLMcode code = curl_multi_perform(multi, &under_way);

	ahead_ms += under_way ? wait_takes_ms : ms;
	return under_way ? __real_curl_multi_poll(multi, fds, n, ms, ready) : code;
}

struct scene {
	struct http_server server;
	uint8_t *bytes; /* content of the file "f" */
	uint8_t head[HEAD];
	size_t n;
	struct remote_http *http;
	struct error err;
	atomic_bool interrupted;
};

static void scene_begin(void **state, struct scene *scene)
{
	memset(scene, 0, sizeof(*scene));
	scene->bytes = http_server_file(state, "f", SIZE, 1);
	scene->server = http_server_start(state);
}

static bool scene_open(struct scene *scene, const char *what)
{
	remote_http_close(scene->http);
	scene->n = HEAD;
	scene->err = (struct error){ 0 };
	scene->http = remote_http_open(http_server_url(&scene->server, what).text,
				       &scene->interrupted, scene->head, &scene->n, &scene->err);
	return scene->http != NULL;
}

static void scene_end(struct scene *scene)
{
	remote_http_close(scene->http);
	http_server_stop(&scene->server);
	free(scene->bytes);
}

/* Get n bytes at offset, and check them if they arrive. */
static int get(struct scene *scene, size_t offset, size_t n)
{
	uint8_t *bytes = malloc(n);
	const struct remote_range range = { offset, n, bytes };
	int rc;

	must(bytes);
	rc = remote_http_get(scene->http, &range, 1, NULL, &scene->err);
	if (rc == 0)
		assert_memory_equal(bytes, scene->bytes + offset, n);
	free(bytes);
	return rc;
}

static void assert_not_opened(struct scene *scene, const char *what, const char *why)
{
	assert_false(scene_open(scene, what));
	assert_int_equal(scene->err.code, EIO);
	if (!strstr(scene->err.text, why))
		fail_msg("%s: %s", what, scene->err.text);
}

static void the_first_answer_says_which_file_it_is(void **state)
{
	struct scene scene;

	scene_begin(state, &scene);
	assert_true(scene_open(&scene, "good/f"));
	assert_int_equal(scene.n, HEAD);
	assert_memory_equal(scene.head, scene.bytes, HEAD);
	assert_int_equal(remote_http_identity(scene.http)->total, SIZE);
	assert_true(remote_http_identity(scene.http)->etag[0] == '"');
	free(http_server_file(state, "small", 10, 1));
	assert_true(scene_open(&scene, "good/small"));
	assert_int_equal(scene.n, 10);
	scene_end(&scene);
}

static void many_parts_come_at_once(void **state)
{
	enum { N = 50, PART = 100 };
	static uint8_t bytes[N][PART];
	struct remote_range ranges[N];
	struct scene scene;
	uint64_t sent;

	scene_begin(state, &scene);
	assert_true(scene_open(&scene, "good/f"));
	for (size_t i = 0; i < N; i++)
		ranges[i] = (struct remote_range){ i * 5000, PART, bytes[i] };
	assert_int_equal(remote_http_get(scene.http, ranges, N, NULL, &scene.err), 0);
	for (size_t i = 0; i < N; i++)
		assert_memory_equal(bytes[i], scene.bytes + i * 5000, PART);
	assert_int_equal(http_server_requests(state, &sent), N + 1);
	assert_int_equal(sent, HEAD + N * PART);
	scene_end(&scene);
}

static void fault_of_the_server_is_reported(void **state)
{
	struct scene scene;

	scene_begin(state, &scene);
	free(http_server_file(state, "empty", 0, 1));
	assert_not_opened(&scene, "none/f", "parts of a file (ranges)");
	assert_not_opened(&scene, "nowhere/f", "Content-Range");
	assert_not_opened(&scene, "packed/f", "coding");
	assert_not_opened(&scene, "local/f", "file");
	assert_not_opened(&scene, "loop/f", "redirects");
	assert_not_opened(&scene, "good/nothing", "404");
	assert_not_opened(&scene, "good/empty", "416");
	assert_not_opened(&scene, "secret/f", "401");
	free(http_server_file(state, "gone", 1, 1));
	assert_not_opened(&scene, "gone/f", "503");
	scene_end(&scene);
}

static void false_answers_are_refused(void **state)
{
	struct scene scene;

	scene_begin(state, &scene);
	assert_true(scene_open(&scene, "shifted/f"));
	assert_int_equal(get(&scene, 70000, 100), -EIO);
	assert_non_null(strstr(scene.err.text, "69999-70098 instead of 70000-70099"));
	assert_true(scene_open(&scene, "endless/f"));
	assert_int_equal(get(&scene, 70000, 100), -EIO);
	assert_true(scene_open(&scene, "longer/f"));
	assert_int_equal(get(&scene, 70000, 100), 0);
	assert_int_equal(get(&scene, SIZE - 5, 6), -EIO);
	assert_true(scene_open(&scene, "growing/f"));
	assert_int_equal(get(&scene, 70000, 100), -EIO);
	assert_int_equal(scene.err.code, ESTALE);
	assert_true(scene_open(&scene, "trailing/f"));
	assert_int_equal(get(&scene, 70000, 10), 0);
	assert_int_equal(get(&scene, 70000, 11), -EIO);
	scene_end(&scene);
}

static void changed_file_is_an_error(void **state)
{
	struct scene scene;

	scene_begin(state, &scene);
	assert_true(scene_open(&scene, "good/f"));
	free(http_server_file(state, "f", SIZE, 2));
	change_times(state, "www/f");
	assert_int_equal(get(&scene, 70000, 100), -EIO);
	assert_int_equal(scene.err.code, ESTALE);
	write_file(in_temp(state, "www/f").text, "short", 5);
	assert_int_equal(get(&scene, 70000, 100), -EIO);
	assert_int_equal(scene.err.code, ESTALE);
	scene_end(&scene);
}

static void broken_or_busy_request_is_repeated(void **state)
{
	struct scene scene;

	scene_begin(state, &scene);
	assert_true(scene_open(&scene, "cut/f"));
	assert_int_equal(get(&scene, 0, SIZE), 0);
	assert_true(scene_open(&scene, "busy/f"));
	assert_int_equal(get(&scene, 70000, 1000), 0);
	scene_end(&scene);
}

static void when_all_bytes_have_come_the_end_of_the_answer_does_not_matter(void **state)
{
	struct scene scene;
	uint64_t sent;

	scene_begin(state, &scene);
	assert_true(scene_open(&scene, "unended/f"));
	assert_int_equal(get(&scene, 70000, 1000), 0);
	assert_int_equal(get(&scene, SIZE - 100, 100), 0);
	assert_int_equal(http_server_requests(state, &sent), 3);
	scene_end(&scene);
}

static void redirect_target_is_cached_until_refused(void **state)
{
	struct scene scene;
	uint64_t sent;

	scene_begin(state, &scene);
	assert_true(scene_open(&scene, "signed/f"));
	for (size_t i = 0; i < 20; i++)
		assert_int_equal(get(&scene, i * 1000, 1000), 0);
	/* There are 21 parts, a redirect for each five of them, and a refusal of the sixth. */
	assert_between(http_server_requests(state, &sent), 21 + 5 + 4, 21 + 5 + 4);
	assert_true(scene_open(&scene, "moved/f"));
	assert_int_equal(get(&scene, 70000, 1000), 0);
	scene_end(&scene);
}

/* Number of requests for /part/f from byte 200000 on. */
static unsigned count_asked(void **state)
{
	size_t n;
	char *text = read_whole(in_temp(state, "requests").text, &n);
	unsigned asked = 0;

	for (const char *at = text; (at = strstr(at, "/part/f bytes=200000-")); at++)
		asked++;
	free(text);
	return asked;
}

static void failure_behind_a_redirect_is_retried_once(void **state)
{
	enum { N = 400, PART = 10 };
	static uint8_t bytes[N][PART];
	struct remote_range ranges[N];
	struct scene scene;

	scene_begin(state, &scene);
	assert_true(scene_open(&scene, "bent/f"));
	/* The first range fails, while the others are redirected again. */
	for (size_t i = 0; i < N; i++)
		ranges[i] = (struct remote_range){ i ? i * 100 : 200000, PART, bytes[i] };
	assert_int_equal(remote_http_get(scene.http, ranges, N, NULL, &scene.err), -EIO);
	assert_non_null(strstr(scene.err.text, "503"));
	/* Six tries count, and one more follows the redirect of the first answer. */
	assert_int_equal(count_asked(state), 7);
	scene_end(&scene);
}

static void a_server_that_is_gone_is_asked_once_until_it_is_back(void **state)
{
	struct scene scene;
	uint64_t sent;
	unsigned before;

	scene_begin(state, &scene);
	assert_true(scene_open(&scene, "gone/f"));
	free(http_server_file(state, "gone", 1, 1));
	assert_int_equal(get(&scene, 70000, 1000), -EIO);
	assert_non_null(strstr(scene.err.text, "503"));
	before = http_server_requests(state, &sent);
	assert_int_equal(before, 1 + 6);
	assert_int_equal(get(&scene, 70000, 1000), -EIO);
	assert_int_equal(http_server_requests(state, &sent), before + 1);
	must(unlink(in_temp(state, "www/gone").text) == 0);
	assert_int_equal(get(&scene, 70000, 1000), 0);
	scene_end(&scene);
}

/* The client gives up the server, which sends for seconds. */
static void stalled_transfer_times_out(void **state)
{
	struct scene scene;

	scene_begin(state, &scene);
	assert_true(scene_open(&scene, "flood/f"));
	wait_takes_ms = 5000;
	assert_int_equal(get(&scene, 70000, 1000), -EIO);
	assert_non_null(strstr(scene.err.text, "no byte of the file for 30 s"));
	wait_takes_ms = 0;
	assert_true(scene_open(&scene, "drip/f"));
	wait_takes_ms = 5000;
	assert_int_equal(get(&scene, 70000, 1000), -EIO);
	wait_takes_ms = 0;
	scene_end(&scene);
}

static void call_can_be_interrupted(void **state)
{
	struct scene scene;
	uint8_t bytes[10];
	const struct remote_range ranges[2] = { { 70000, 10, bytes }, { 80000, 10, bytes } };
	atomic_bool stop = true;

	scene_begin(state, &scene);
	assert_true(scene_open(&scene, "hang/f"));
	free(http_server_file(state, "hang", 1, 1));
	assert_int_equal(remote_http_get(scene.http, ranges, 2, &stop, &scene.err), -EINTR);
	atomic_store(&scene.interrupted, true);
	assert_int_equal(remote_http_get(scene.http, ranges, 2, NULL, &scene.err), -EINTR);
	assert_false(scene_open(&scene, "good/f"));
	assert_int_equal(scene.err.code, EINTR);
	scene_end(&scene);
}

static void a_password_is_for_its_server(void **state)
{
	struct scene scene;
	char url[200];

	scene_begin(state, &scene);
	snprintf(url, sizeof(url), "http://me:pass%%20word@127.0.0.1:%u/secret/f",
		 scene.server.port);
	scene.n = HEAD;
	scene.http = remote_http_open(url, NULL, scene.head, &scene.n, &scene.err);
	assert_non_null(scene.http);
	assert_int_equal(get(&scene, 70000, 1000), 0);
	scene_end(&scene);
}

static void out_of_memory_is_reported(void **state)
{
	struct scene scene;
	int rc;

	needs_failing_allocations();
	scene_begin(state, &scene);
	for (uint64_t k = 1;; k++) {
		allocation_fails(k);
		if (scene_open(&scene, "good/f") && !allocation_failed())
			break;
		assert_null(scene.http);
		assert_int_equal(scene.err.code, ENOMEM);
	}
	for (uint64_t k = 2;; k++) { /* allocation 1 is this test's */
		allocation_fails(k);
		rc = get(&scene, 70000, 100);
		if (!allocation_failed())
			break;
		assert_int_equal(rc, -ENOMEM);
	}
	assert_int_equal(rc, 0);
	scene_end(&scene);
}

/* Get two ranges at a time, for which curl needs one more handle. */
static int get_two(struct scene *scene)
{
	uint8_t bytes[2][10];
	const struct remote_range ranges[2] = { { 70000, 10, bytes[0] }, { 80000, 10, bytes[1] } };
	const int rc = remote_http_get(scene->http, ranges, 2, NULL, &scene->err);

	for (unsigned i = 0; rc == 0 && i < 2; i++)
		assert_memory_equal(bytes[i], scene->bytes + ranges[i].offset, 10);
	return rc;
}

/* Fail each option of the second handle in turn. Returns the number of dispensable options. */
static unsigned fail_options(struct scene *scene, CURLcode with, int expected)
{
	unsigned dispensable = 0;

	option_fails_with = with;
	for (unsigned k = 1;; k++) {
		int rc;

		assert_true(scene_open(scene, "good/f"));
		failing_option = k;
		rc = get_two(scene);
		if (failing_option)
			break;
		assert_true(rc == 0 || rc == expected);
		if (rc == -EIO)
			assert_non_null(strstr(scene->err.text, "curl: "));
		dispensable += rc == 0;
		/* After the failure the file is readable again. */
		assert_int_equal(get_two(scene), 0);
	}
	failing_option = 0;
	return dispensable;
}

static void failing_curl_option_is_dispensable_or_reported(void **state)
{
	struct scene scene;

	scene_begin(state, &scene);
	assert_int_equal(fail_options(&scene, CURLE_OUT_OF_MEMORY, -ENOMEM), 0);
	assert_between(fail_options(&scene, CURLE_UNKNOWN_OPTION, -EIO), 2, 3);
	scene_end(&scene);
}

UNIT_MAIN(temp_setup, temp_teardown)
