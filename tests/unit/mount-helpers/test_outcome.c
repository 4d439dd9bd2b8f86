/* SPDX-License-Identifier: MIT */
/* test_outcome.c - mount-helpers/outcome.c: the line shown for any content of a status. */
#include "fs/mount/unmount_status.h"
#include "mount-helpers/outcome.h"
#include "tests/unit/unit.h"

#include <sys/mman.h>
#include <unistd.h>

static void assert_line(const char *text, const char *expected)
{
	char line[256] = "as before";

	assert_int_equal(outcome_progress(text, line, sizeof(line)), expected != NULL);
	assert_string_equal(line, expected ? expected : "as before");
}

static void progress_is_a_line(void **state)
{
	(void)state;
	assert_line("mounted 0 0 0\n", "checking the grafts");
	assert_line("finishing 430000000 1000000000 100\nbegin\tscribe\n",
		    "scribe: 43 %, 430 of 1000 MB");
	assert_line("finishing 430000000 1000000000 2000\nbegin\tother\nbegin\tscribe\n",
		    "scribe: 43 %, 430 of 1000 MB, 215 MB/s, 0:02 left");
	assert_line("finishing 1000000 1000000000 1000\n",
		    ": 0 %, 1 of 1000 MB, 1 MB/s, 16:39 left");
	assert_line("finishing 7 7 500\nbegin\tm\n",
		    "m: 100 %, 0 of 0 MB, 0 MB/s, waiting for the disk");
	/* The work is not complete yet. */
	assert_line("finishing 999999999 1000000000 100\nbegin\tm\n", "m: 99 %, 1000 of 1000 MB");
}

static void malformed_progress_is_ignored(void **state)
{
	(void)state;
	assert_line("", NULL);
	assert_line("finishing 2 1 0\n", NULL);
	assert_line("finishing a b c\n", NULL);
	assert_line("finishing 1 2\n", NULL);
}

static void no_figure_is_too_large(void **state)
{
	char line[256];

	(void)state;
	assert_true(outcome_progress("finishing 18446744073709551614 18446744073709551615 "
				     "18446744073709551615\nbegin\tm\n",
				     line, sizeof(line)));
	assert_int_equal(strncmp(line, "m: ", 3), 0);
	assert_true(outcome_progress("finishing 1000000 18446744073709551615 "
				     "18446744073709551615\nbegin\tm\n",
				     line, sizeof(line)));
	/* A short buffer gets the beginning. */
	assert_true(outcome_progress("finishing 1 2 0\nbegin\tmodel\n", line, 8));
	assert_string_equal(line, "model: ");
}

static void a_name_is_cut_between_letters(void **state)
{
	(void)state;
	assert_line(
		"finishing 1 2 0\nbegin\t0123456789012345678901234567\303\244\303\244\303\244\n",
		"0123456789012345678901234567\303\244\303\244: 50 %, 0 of 0 MB");
	assert_line("finishing 1 2 0\nbegin\ta\033[2J\302\233b\377\n", "a?[2J?b?: 50 %, 0 of 0 MB");
}

static void assert_printed(const char *text, int status, const char *out, const char *err)
{
	char *said_out, *said_err;
	size_t n_out, n_err;
	FILE *to_out = open_memstream(&said_out, &n_out);
	FILE *to_err = open_memstream(&said_err, &n_err);

	assert_int_equal(outcome_print(text, "it", out ? to_out : NULL, to_err), status);
	fclose(to_out);
	fclose(to_err);
	assert_string_equal(said_out, out ? out : "");
	assert_string_equal(said_err, err);
	free(said_out);
	free(said_err);
}

#define FIRST "finishing 0 0 0\n"

static void the_end_is_the_outcome(void **state)
{
	(void)state;
	assert_printed(FIRST "done\tassembled: x\nend\t0\n", 0, "assembled: x\n", "");
	assert_printed(FIRST "done\tassembled: x\nend\t0\n", 0, NULL, "");
	assert_printed(FIRST "failed\ta\ndone\tb\nfailed\tc\nend\t1\n", 1, "b\n", "it: a\nit: c\n");
	assert_printed(FIRST "done\ta\nimpossible\tb\nend\t2\n", 2, NULL, "it: b\n");
	assert_printed(FIRST "end\t3\n", 1, "", "");
	assert_printed(FIRST "gone\t1 file\nend\t0\n", 0, NULL, "it: 1 file\n");
	assert_printed(FIRST "end\t0", 0, "", "");
	assert_printed(FIRST "end\t00\n", 1, "", "");
	assert_printed(FIRST "end\t\n", 1, "", "");
	assert_printed(FIRST "failed\ta\033[2J\tb\177\nend\t1\n", 1, "", "it: a?[2J?b?\n");
}

static void without_an_end_the_grafts_are_kept(void **state)
{
	(void)state;
	assert_printed("", 1, "", "it: the daemon ended without finishing\n");
	assert_printed(FIRST "keep\t/a\nkeep\t/b\nkeep\t/ab\ndrop\t/a\nending\t0\nend 0\n", 1, "",
		       "it: the daemon ended without finishing\n"
		       "it: the grafts are kept in /b\n"
		       "it: the grafts are kept in /ab\n");
}

/* Without the limit a hostile text would keep root busy for days. */
static void no_more_than_1000_directories_are_named(void **state)
{
	char *text, *said;
	size_t n, lines = 0;
	FILE *out = open_memstream(&text, &n), *err = open_memstream(&said, &n);

	(void)state;
	fputs(FIRST, out);
	for (unsigned i = 0; i < 1500; i++)
		fprintf(out, "keep\t/%u\n", i);
	fclose(out);
	assert_int_equal(outcome_print(text, "it", NULL, err), 1);
	fclose(err);
	for (const char *s = said; (s = strchr(s, '\n')); s++)
		lines++;
	assert_int_equal(lines, 1 + 1000 + 1);
	assert_non_null(strstr(said, "it: the grafts are kept in /999\n"
				     "it: others may be kept, too\n"));
	free(text);
	free(said);
}

static void status_of_daemon_is_read(void **state)
{
	struct unmount_status *status = unmount_status_new();
	struct outcome_state first;
	char text[128], *all;
	int pid, fd;

	(void)state;
	assert_true(unmount_status_text(status, text, sizeof(text)) > 0);
	assert_int_equal(sscanf(text, "%d %d", &pid, &fd), 2);
	all = outcome_read(fd);
	assert_true(outcome_state(all, &first) && first.is_mounted);
	free(all);
	unmount_status_progress(status, 5, 7, 9);
	unmount_status_add(status, "failed", "no");
	unmount_status_add(status, "end", "1");
	all = outcome_read(fd);
	assert_true(outcome_state(all, &first) && !first.is_mounted);
	assert_true(first.done == 5 && first.total == 7 && first.milliseconds == 9);
	assert_printed(all, 1, "", "it: no\n");
	free(all);
	unmount_status_free(status);
	assert_null(outcome_read(-1));
}

static void no_more_than_16_mib_is_read(void **state)
{
	const int fd = memfd_create("large", MFD_CLOEXEC);
	char *text;

	(void)state;
	assert_int_equal(ftruncate(fd, (off_t)1 << 40), 0);
	assert_int_equal(pwrite(fd, "end\t0\n", 6, (16 << 20) - 3), 6);
	text = outcome_read(fd);
	assert_non_null(text);
	assert_string_equal(text + (16 << 20) - 3, "end");
	free(text);
	close(fd);
}

UNIT_MAIN(NULL, NULL)
