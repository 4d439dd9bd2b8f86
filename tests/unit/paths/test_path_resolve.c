/* SPDX-License-Identifier: MIT */
/* test_path_resolve.c - fs/paths/path_resolve.c: targets of paths, outside of the mount and in it.
 * /proc plays the mount, because no other filesystem has its device. */
#include "fs/paths/path_resolve.h"
#include "tests/unit/temp_dir.h"

#include <errno.h>
#include <limits.h>

static struct path_resolve_mount no_mount(void)
{
	return (struct path_resolve_mount){ .point = NULL };
}

/* A mount at that path, with a device that no file has. */
static struct path_resolve_mount mount_at(const char *point)
{
	return (struct path_resolve_mount){ .point = point, .device = (dev_t)-1 };
}

static int try(const struct path_resolve_mount *own, const char *path,
	       struct path_resolve_result *resolved, struct error *err)
{
	*resolved = (struct path_resolve_result){ .links = 0 };
	return path_resolve(own, "organs", path, resolved, err);
}

/* Check that the path leads to a file with this text. */
static void assert_leads_to(const struct path_resolve_mount *own, const char *path,
			    const char *text)
{
	struct path_resolve_result resolved;
	struct error err = { 0 };
	char bytes[64];
	ssize_t n;

	if (try(own, path, &resolved, &err) < 0)
		fail_msg("%s: %s", path, err.text);
	assert_false(resolved.own);
	n = read(resolved.fd, bytes, sizeof(bytes));
	assert_int_equal(n, strlen(text));
	assert_memory_equal(bytes, text, (size_t)n);
	close(resolved.fd);
}

static void assert_fails(const struct path_resolve_mount *own, const char *path, int code)
{
	struct path_resolve_result resolved;
	struct error err = { 0 };
	const int rc = try(own, path, &resolved, &err);

	if (rc != -code || err.code != code || !err.text[0])
		fail_msg("%s: %d, \"%s\"", path, rc, err.text);
}

static void assert_own(const struct path_resolve_mount *own, const char *path, const char *within)
{
	struct path_resolve_result resolved;
	struct error err = { 0 };

	if (try(own, path, &resolved, &err) < 0)
		fail_msg("%s: %s", path, err.text);
	assert_true(resolved.own);
	assert_string_equal(resolved.path, within);
}

static void link_in(void **state, const char *target, const char *name)
{
	must(symlink(target, in_temp(state, name).text) == 0);
}

static void a_path_leads_to_a_file(void **state)
{
	const struct path_resolve_mount own = no_mount();
	char path[PATH_MAX + 8];

	write_text(in_temp(state, "file").text, "text");
	must(mkdir(in_temp(state, "dir").text, 0700) == 0);
	assert_leads_to(&own, in_temp(state, "file").text, "text");
	assert_leads_to(&own, in_temp(state, "dir/../file").text, "text");
	assert_leads_to(&own, in_temp(state, ".//./dir/.././file").text, "text");
	snprintf(path, sizeof(path), "/../..%s", in_temp(state, "file").text);
	assert_leads_to(&own, path, "text");
}

static void links_are_followed(void **state)
{
	const struct path_resolve_mount own = no_mount();

	write_text(in_temp(state, "file").text, "text");
	must(mkdir(in_temp(state, "dir").text, 0700) == 0);
	link_in(state, "file", "relative");
	link_in(state, in_temp(state, "relative").text, "absolute");
	link_in(state, "../absolute", "dir/up");
	link_in(state, "dir", "side");
	assert_leads_to(&own, in_temp(state, "relative").text, "text");
	assert_leads_to(&own, in_temp(state, "absolute").text, "text");
	assert_leads_to(&own, in_temp(state, "side/up").text, "text");
	assert_leads_to(&own, in_temp(state, "side/../file").text, "text");
}

static void loop_and_more_than_40_links_fail_with_eloop(void **state)
{
	const struct path_resolve_mount own = no_mount();
	char name[16], before[16];

	link_in(state, "a", "b");
	link_in(state, "b", "a");
	assert_fails(&own, in_temp(state, "a").text, ELOOP);
	link_in(state, ".", "here");
	assert_fails(&own, in_temp(state, "here/here/here/nothing").text, ENOENT);
	/* The kernel follows 40 links, and not 41. */
	write_text(in_temp(state, "n0").text, "text");
	for (int i = 1; i <= PATH_RESOLVE_LINKS_MAX + 1; i++) {
		snprintf(before, sizeof(before), "n%d", i - 1);
		snprintf(name, sizeof(name), "n%d", i);
		link_in(state, before, name);
	}
	assert_leads_to(&own, in_temp(state, "n40").text, "text");
	assert_fails(&own, in_temp(state, "n41").text, ELOOP);
}

static void links_in_proc_are_not_followed(void **state)
{
	const struct path_resolve_mount own = no_mount();
	const struct path file = in_temp(state, "file");
	char path[PATH_MAX + 32];
	int fd;

	write_text(file.text, "text");
	fd = open(file.text, O_RDONLY);
	must(fd >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_fails(&own, path, ELOOP);
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), fd);
	assert_fails(&own, path, ELOOP);
	link_in(state, path, "link");
	assert_fails(&own, in_temp(state, "link").text, ELOOP);
	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)getpid(), file.text);
	assert_fails(&own, path, ELOOP);
	close(fd);
}

static void links_that_were_followed_before_count(void **state)
{
	const struct path_resolve_mount own = no_mount();
	struct path_resolve_result resolved = { .links = PATH_RESOLVE_LINKS_MAX };
	struct error err = { 0 };

	write_text(in_temp(state, "file").text, "text");
	link_in(state, "file", "link");
	assert_int_equal(path_resolve(&own, "", in_temp(state, "link").text, &resolved, &err),
			 -ELOOP);
}

static void path_of_no_regular_file_is_refused(void **state)
{
	const struct path_resolve_mount own = no_mount();
	char name[NAME_MAX + 2], path[PATH_MAX + 8];

	write_text(in_temp(state, "file").text, "text");
	must(mkfifo(in_temp(state, "fifo").text, 0600) == 0);
	assert_fails(&own, in_temp(state, "nothing").text, ENOENT);
	assert_fails(&own, in_temp(state, "file/more").text, ENOTDIR);
	assert_fails(&own, in_temp(state, "").text, EINVAL);
	assert_fails(&own, in_temp(state, "fifo").text, EINVAL);
	assert_fails(&own, "/dev/null", EINVAL);
	memset(name, 'x', sizeof(name));
	name[NAME_MAX + 1] = '\0';
	assert_fails(&own, in_temp(state, name).text, ENAMETOOLONG);
	memset(path, '/', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	assert_fails(&own, path, ENAMETOOLONG);
}

static void a_relative_path_starts_inside(void **state)
{
	const struct path point = in_temp(state, "mnt");
	const struct path_resolve_mount own = mount_at(point.text);

	write_text(in_temp(state, "file").text, "text");
	assert_own(&own, "x.bin", "organs/x.bin");
	assert_own(&own, "./../norm//x.bin", "norm/x.bin");
	assert_own(&own, "..", "");
	assert_own(&own, "", "organs");
	assert_leads_to(&own, "../../file", "text");
	assert_fails(&own, "../../nothing", ENOENT);
}

static void a_path_into_the_mount_is_not_asked_there(void **state)
{
	/* /proc would find this name if it were asked. */
	struct stat proc;
	struct path_resolve_mount own = { .point = "/proc" };

	(void)state;
	must(stat("/proc", &proc) == 0);
	own.device = proc.st_dev;
	assert_own(&own, "/proc/self/status", "self/status");
	assert_own(&own, "/proc/nowhere/../x", "x");
	assert_own(&own, "/proc", "");
	assert_own(&own, "../../proc/y", "y");
}

static void every_descriptor_is_closed(void **state)
{
	const struct path_resolve_mount own = no_mount();
	const int before = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int after;

	link_in(state, "a", "a");
	write_text(in_temp(state, "file").text, "text");
	assert_leads_to(&own, in_temp(state, "file").text, "text");
	assert_fails(&own, in_temp(state, "a").text, ELOOP);
	assert_fails(&own, in_temp(state, "file/x").text, ENOTDIR);
	assert_fails(&own, in_temp(state, "x/x").text, ENOENT);
	after = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(after, before + 1);
	close(after);
	close(before);
}

UNIT_MAIN(temp_setup, temp_teardown)
