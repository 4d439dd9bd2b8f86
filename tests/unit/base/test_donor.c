/* SPDX-License-Identifier: MIT */
/* test_donor.c - fs/base/donor.c */
#include "fs/base/donor.h"
#include "fs/base/fingerprint.h"
#include "fs/storage/backing.h"
#include "gguf/reader.h"
#include "tests/unit/small_gguf.h"

#include <sys/syscall.h>
#include <unistd.h>

/* Skip without openat2(), which qemu lacks when it runs a program of another machine. */
static void needs_openat2(void)
{
	if (syscall(SYS_openat2, -1, NULL, NULL, (size_t)0) < 0 && errno == ENOSYS)
		skip();
}

static struct backing *open_file(void **state, const char *name)
{
	struct backing *file = backing_open(in_temp(state, name).text, NULL);

	must(file);
	return file;
}

/* A donor from the path and current state of a file. */
static struct donor *by_path(void **state, const char *name, const char *tensor)
{
	const struct path path = in_temp(state, name);
	struct stat stat;
	struct donor *donor;

	must(lstat(path.text, &stat) == 0);
	donor = donor_from_path(path.text, &stat, tensor, tensor ? strlen(tensor) : 0);
	must(donor);
	return donor;
}

static void a_donor_says_where_a_graft_came_from(void **state)
{
	const char name[] = "blk.0\0up";
	struct backing *file;
	struct donor *donor;
	size_t n;

	write_text(in_temp(state, "a.gguf").text, "bytes");
	file = open_file(state, "a.gguf");
	donor = donor_from_backing(file, name, sizeof(name) - 1);
	must(donor);
	assert_string_equal(donor_path(donor), backing_path(file));
	assert_memory_equal(donor_tensor(donor, &n), name, sizeof(name));
	assert_int_equal(n, sizeof(name) - 1);
	backing_unref(file);
	/* The donor holds the file open. */
	unlink(in_temp(state, "a.gguf").text);
	file = donor_open(donor_ref(donor), NULL);
	assert_non_null(file);
	backing_unref(file);
	donor_unref(donor);
	donor_unref(donor);
}

static void an_organ_file_has_no_tensor(void **state)
{
	struct donor *donor;
	size_t n;

	write_text(in_temp(state, "a.bin").text, "bytes");
	donor = by_path(state, "a.bin", NULL);
	assert_null(donor_tensor(donor, &n));
	assert_int_equal(n, 0);
	donor_unref(donor);
}

static void a_file_that_is_not_held_is_opened_only_as_it_was(void **state)
{
	struct error err = { 0 };
	struct donor *donor;
	struct backing *file;

	needs_openat2();
	write_text(in_temp(state, "a.gguf").text, "bytes");
	donor = by_path(state, "a.gguf", "t");
	file = donor_open(donor, &err);
	assert_non_null(file);
	backing_unref(file);
	write_text(in_temp(state, "b.gguf").text, "bytes");
	must(rename(in_temp(state, "b.gguf").text, in_temp(state, "a.gguf").text) == 0);
	assert_null(donor_open(donor, &err));
	assert_int_equal(err.code, ESTALE);
	unlink(in_temp(state, "a.gguf").text);
	assert_null(donor_open(donor, &err));
	assert_int_equal(err.code, ENOENT);
	donor_unref(donor);
}

static void a_donor_on_record_is_known_by_its_fingerprint(void **state)
{
	const struct path path = in_temp(state, "a.gguf");
	char text[FINGERPRINT_TEXT], other[FINGERPRINT_TEXT];
	struct donor *donor, *view, *held;
	struct error err = { 0 };
	struct backing *file;
	struct source source;
	struct gguf *gguf;

	needs_openat2();
	save_small(state, "a.gguf");
	file = open_file(state, "a.gguf");
	source = backing_source(file);
	gguf = gguf_read(&source, NULL);
	must(gguf && fingerprint(file, gguf, text) == 0);
	gguf_free(gguf);
	backing_unref(file);
	donor = donor_from_record(path.text, text, "t", 1);
	view = donor_from_view(donor, "spectral");
	must(donor && view);
	assert_null(donor_from_view(NULL, "spectral"));
	assert_null(donor_view(donor));
	assert_string_equal(donor_view(view), "spectral");
	assert_string_equal(donor_fingerprint(view), text);
	assert_true(donor_same_file(donor, view));
	/* A held file without a fingerprint is compared by path, without a read. */
	file = open_file(state, "a.gguf");
	held = donor_from_backing(file, "t", 1);
	must(held);
	backing_unref(file);
	assert_false(donor_same_file(held, donor));
	assert_true(donor_may_be_same_file(held, donor));
	assert_true(donor_may_be_same_file(donor, held));
	donor_unref(held);
	file = donor_open(view, &err);
	assert_non_null(file);
	backing_unref(file);
	donor_unref(view);
	/* A different fingerprint means a different file. */
	strcpy(other, text);
	other[0] = other[0] == '0' ? '1' : '0';
	view = donor_from_record(path.text, other, "t", 1);
	must(view);
	assert_false(donor_same_file(donor, view));
	assert_false(donor_may_be_same_file(donor, view));
	assert_null(donor_open(view, &err));
	assert_int_equal(err.code, ESTALE);
	donor_unref(view);
	write_text(path.text, "no model any more");
	assert_null(donor_open(donor, &err));
	assert_int_equal(err.code, ESTALE);
	donor_unref(donor);
}

static void a_path_that_became_a_link_is_not_followed(void **state)
{
	const struct path path = in_temp(state, "a.gguf");
	struct error err = { 0 };
	struct donor *donor;

	needs_openat2();
	write_text(path.text, "bytes");
	donor = by_path(state, "a.gguf", "t");
	must(rename(path.text, in_temp(state, "b.gguf").text) == 0);
	must(symlink(in_temp(state, "b.gguf").text, path.text) == 0);
	assert_null(donor_open(donor, &err));
	assert_int_equal(err.code, ELOOP);
	donor_unref(donor);
}

static void forbidden_path_is_not_opened(void **state)
{
	struct error err = { 0 };
	struct donor *donor;
	int opens;

	write_text(in_temp(state, "a.gguf").text, "bytes");
	donor = donor_from_path(in_temp(state, "a.gguf").text, NULL, "t", 1);
	must(donor);
	assert_null(donor_open(donor, &err));
	assert_int_equal(err.code, ELOOP);
	donor_unref(donor);
	opens = watched_fifo(in_temp(state, "fifo").text);
	donor = donor_from_record(in_temp(state, "fifo").text, "print", "t", 1);
	must(donor);
	assert_null(donor_open(donor, &err));
	assert_int_equal(err.code, EINVAL);
	assert_unopened(opens);
	donor_unref(donor);
}

static void donors_are_the_same_within_one_gguf_only(void **state)
{
	struct donor *a, *same, *organ, *other;

	write_text(in_temp(state, "a.gguf").text, "bytes");
	write_text(in_temp(state, "b.gguf").text, "bytes");
	a = by_path(state, "a.gguf", "t");
	same = by_path(state, "a.gguf", "u");
	organ = by_path(state, "a.gguf", NULL);
	other = by_path(state, "b.gguf", "t");
	assert_true(donor_same_file(a, same));
	assert_false(donor_same_file(a, organ));
	assert_false(donor_same_file(a, other));
	donor_unref(a);
	donor_unref(same);
	donor_unref(organ);
	donor_unref(other);
}

static void without_memory_there_is_no_donor(void **state)
{
	struct donor *donor = NULL;

	needs_failing_allocations();
	for (uint64_t k = 1; !donor; k++) {
		assert_between(k, 1, 10);
		allocation_fails(k);
		donor = donor_from_path("/a", NULL, "t", 1);
		if (allocation_failed())
			assert_null(donor);
	}
	donor_unref(donor);
	(void)state;
}

UNIT_MAIN(temp_setup, temp_teardown)
