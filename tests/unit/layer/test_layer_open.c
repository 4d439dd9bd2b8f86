/* SPDX-License-Identifier: MIT */
/* test_layer_open.c - fs/layer/layer_open.c: only regular files are opened in a layer. */
#include "fs/layer/layer_open.h"
#include "tests/unit/temp_dir.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static int temp_directory(void **state)
{
	const int dir = open(in_temp(state, "").text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(dir >= 0);
	return dir;
}

static void only_a_regular_file_is_opened(void **state)
{
	const int dir = temp_directory(state);
	const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char text[8];
	int fd;

	write_text(in_temp(state, "file").text, "text");
	assert_int_equal(mkfifoat(dir, "fifo", 0600), 0);
	assert_int_equal(mkdirat(dir, "directory", 0700), 0);
	assert_int_equal(symlinkat("file", dir, "link"), 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/socket", dir);
	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(layer_open_file(dir, "fifo"), -EINVAL);
	assert_int_equal(layer_open_file(dir, "socket"), -EINVAL);
	assert_int_equal(layer_open_file(dir, "directory"), -EISDIR);
	assert_int_equal(layer_open_file(dir, "link"), -ELOOP);
	assert_int_equal(layer_open_file(dir, "nothing"), -ENOENT);
	fd = layer_open_file(dir, "file");
	assert_true(fd >= 0);
	assert_int_equal(read(fd, text, sizeof(text)), 4);
	close(fd);
	close(listener);
	close(dir);
	assert_string_equal(layer_open_error(-EINVAL), "not a regular file");
	assert_string_equal(layer_open_error(-ENOENT), strerror(ENOENT));
}

static void new_file_replaces_remains(void **state)
{
	const int dir = temp_directory(state);
	char text[8];
	int fd;

	write_text(in_temp(state, "file").text, "text");
	assert_int_equal(symlinkat("file", dir, "link"), 0);
	assert_int_equal(mkfifoat(dir, "fifo", 0600), 0);
	assert_int_equal(mkdirat(dir, "directory", 0700), 0);
	fd = layer_create_file(dir, "link");
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "new", 3), 3);
	assert_int_equal(pread(fd, text, sizeof(text), 0), 3);
	close(fd);
	fd = layer_create_file(dir, "fifo");
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(layer_create_file(dir, "directory"), -EEXIST);
	/* The target of the link is unchanged. */
	fd = layer_open_file(dir, "file");
	assert_int_equal(read(fd, text, sizeof(text)), 4);
	close(fd);
	close(dir);
}

UNIT_MAIN(temp_setup, temp_teardown)
