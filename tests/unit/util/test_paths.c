/* SPDX-License-Identifier: MIT */
/* test_paths.c - fs/util/paths.c: directories made, made durable, emptied. */
#include "fs/util/paths.h"
#include "tests/unit/temp_dir.h"

#include <limits.h>

static mode_t mode_of(const char *path)
{
	struct stat stat;

	assert_int_equal(lstat(path, &stat), 0);
	return stat.st_mode;
}

static void a_directory_is_made_with_the_parents_it_lacks(void **state)
{
	assert_int_equal(paths_mkdir(in_temp(state, "a/b/c").text), 0);
	assert_int_equal(mode_of(in_temp(state, "a/b/c").text), S_IFDIR | 0700);
	assert_int_equal(mode_of(in_temp(state, "a").text), S_IFDIR | 0700);
	assert_int_equal(paths_mkdir(in_temp(state, "a/b/d").text), 0);
	assert_true(exists(in_temp(state, "a/b/d").text));
}

static void mkdir_accepts_an_existing_directory(void **state)
{
	assert_int_equal(mkdir(in_temp(state, "there").text, 0755), 0);
	assert_int_equal(chmod(in_temp(state, "there").text, 0755), 0);
	assert_int_equal(paths_mkdir(in_temp(state, "there").text), 0);
	assert_int_equal(mode_of(in_temp(state, "there").text), S_IFDIR | 0755);
	assert_int_equal(paths_mkdir("/"), 0);
}

static void double_and_final_slashes_are_accepted(void **state)
{
	assert_int_equal(paths_mkdir(in_temp(state, "a//b/").text), 0);
	assert_true(exists(in_temp(state, "a/b").text));
}

static void a_file_in_the_way_is_an_error(void **state)
{
	write_text(in_temp(state, "file").text, "");
	assert_int_equal(paths_mkdir(in_temp(state, "file/below").text), -ENOTDIR);
}

static void a_path_longer_than_any_is_an_error(void **state)
{
	char path[PATH_MAX + 10] = "/";

	(void)state;
	memset(path + 1, '/', sizeof(path) - 2);
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(paths_mkdir(path), -ENAMETOOLONG);
}

static void a_magic_link_is_not_followed(void **state)
{
	const struct path file = in_temp(state, "file"), link = in_temp(state, "link");
	char magic[64];
	int fd;

	write_text(file.text, "x");
	must(symlink(file.text, link.text) == 0);
	fd = paths_open(AT_FDCWD, link.text, O_RDONLY);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	snprintf(magic, sizeof(magic), "/proc/self/fd/%d", fd);
	assert_int_equal(paths_open(AT_FDCWD, magic, O_RDONLY), -ELOOP);
	assert_int_equal(paths_open(AT_FDCWD, "/proc/self/cwd/x", O_RDONLY), -ELOOP);
	must(unlink(link.text) == 0 && symlink(magic, link.text) == 0);
	assert_int_equal(paths_open(AT_FDCWD, link.text, O_PATH), -ELOOP);
	must(close(fd) == 0);
	assert_int_equal(paths_open(AT_FDCWD, in_temp(state, "none").text, O_RDONLY), -ENOENT);
}

static void only_a_directory_is_made_durable(void **state)
{
	assert_int_equal(paths_fsync_directory(in_temp(state, "").text), 0);
	assert_int_equal(paths_fsync_directory(in_temp(state, "nothing").text), -ENOENT);
	write_text(in_temp(state, "file").text, "");
	assert_int_equal(paths_fsync_directory(in_temp(state, "file").text), -ENOTDIR);
}

static void emptying_removes_a_directory_with_its_files(void **state)
{
	const int dir = open(in_temp(state, "").text, O_RDONLY | O_DIRECTORY);

	assert_int_equal(paths_mkdir(in_temp(state, "full").text), 0);
	write_text(in_temp(state, "full/.hidden").text, "");
	write_text(in_temp(state, "full/file").text, "");
	paths_remove_directory(dir, "full");
	assert_false(exists(in_temp(state, "full").text));
	paths_remove_directory(dir, "nothing");
	close(dir);
}

static void removal_of_directory_keeps_its_subdirectories(void **state)
{
	const int dir = open(in_temp(state, "").text, O_RDONLY | O_DIRECTORY);

	assert_int_equal(paths_mkdir(in_temp(state, "full/of/directories").text), 0);
	write_text(in_temp(state, "full/file").text, "");
	paths_remove_directory(dir, "full");
	assert_false(exists(in_temp(state, "full/file").text));
	assert_true(exists(in_temp(state, "full/of/directories").text));
	close(dir);
}

static void emptying_does_not_follow_links(void **state)
{
	const int dir = open(in_temp(state, "").text, O_RDONLY | O_DIRECTORY);

	assert_int_equal(paths_mkdir(in_temp(state, "elsewhere").text), 0);
	assert_int_equal(paths_mkdir(in_temp(state, "full").text), 0);
	write_text(in_temp(state, "elsewhere/file").text, "");
	assert_int_equal(symlink("elsewhere", in_temp(state, "link").text), 0);
	assert_int_equal(symlink("../elsewhere/file", in_temp(state, "full/link").text), 0);
	paths_remove_directory(dir, "link");
	paths_remove_directory(dir, "full");
	assert_true(exists(in_temp(state, "elsewhere/file").text));
	assert_true(exists(in_temp(state, "link").text));
	assert_false(exists(in_temp(state, "full").text));
	close(dir);
}

static void printed_path_is_one_word(void **state)
{
	static const char name[] = "a b%\n\t\xc3\xa9\x7f/~'.bin";
	char text[64] = "";
	FILE *out = fmemopen(text, sizeof(text), "w");

	(void)state;
	must(out);
	paths_print(name, sizeof(name) - 1, out);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(text, "a%20b%25%0A%09%C3%A9%7F/~'.bin");
}

static void assert_stem(const char *path, const char *expected)
{
	char *stem = paths_stem(path);

	assert_string_equal(stem, expected);
	free(stem);
}

static void stem_is_the_common_name_of_the_model(void **state)
{
	(void)state;
	assert_stem("/a/m-00001-of-00003.gguf", "m");
	assert_stem("http://host/a/m%20n.GGUF?x", "m n");
	assert_stem("ollama:qwen3:8b", "qwen3-8b");
	assert_stem("ollama:qwen3", "qwen3");
	assert_stem("ollama:hf.co/me/model-GGUF:Q4_K_M", "model-GGUF-Q4_K_M");
	assert_stem("hf:me/repo/sub/m-00001-of-00003.gguf@refs/pr/1", "m");
	assert_stem("lmstudio:me/repo/m@2.gguf", "m@2");
	assert_stem("./ollama:qwen3:8b", "ollama:qwen3:8b");
}

static void output_for_store_model_goes_to_working_directory(void **state)
{
	char *here = realpath(".", NULL), *directory = paths_directory("hf:me/repo/m.gguf");

	(void)state;
	assert_string_equal(directory, here);
	free(directory);
	directory = paths_directory("/usr/m.gguf");
	assert_string_equal(directory, "/usr");
	free(directory);
	free(here);
}

UNIT_MAIN(temp_setup, temp_teardown)
