/* SPDX-License-Identifier: MIT */
/* fuzz_recover.c - a layer made by mounts, whose files the input changes, truncates, replaces,
 * renames, removes, or turns into links, directories and FIFOs: the model opens or fails with a
 * reason, every organ taken up can be read, and a graft that is closed afterwards is in force at
 * the next mount. Nothing outside of the layer changes. */
#include "fs/edit/graft.h"
#include "fs/edit/metadata_edit.h"
#include "fs/edit/stage.h"
#include "fs/files/grafts_list.h"
#include "fs/layer/layer.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "fuzz_help.h"
#include "tests/unit/open_model.h"

#include <dirent.h>
#include <sys/stat.h>

#define EDITS_MAX 64u
#define FILES_MAX 64u
#define FILE_NAME 96u

/* Names that mounts create in a layer, and others. */
static const char *const names[] = {
	"LAYER",    "blobs",	"blobs/1",  "blobs/2",	    "blobs/9",		"blobs/x",
	"layer.db", "layer.db", "layer.db", "layer.db-wal", "layer.db-journal", "reserve",
};

struct layer_files {
	char path[FILES_MAX][FILE_NAME];
	unsigned n;
};

struct fuzz {
	void *state;
	char layer[PATH_MAX];
	const uint8_t *at, *end;
};

static uint8_t byte(struct fuzz *f)
{
	return f->at < f->end ? *f->at++ : 0;
}

static void list_directory(const char *layer, const char *name, struct layer_files *files)
{
	char path[PATH_MAX];
	struct dirent **entries;
	int n;

	snprintf(path, sizeof(path), "%s/%s", layer, name);
	n = scandir(path, &entries, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		const char *child = entries[i]->d_name;

		if (strcmp(child, ".") && strcmp(child, "..") && files->n < FILES_MAX)
			snprintf(files->path[files->n++], FILE_NAME, "%s%s%.60s", name,
				 name[0] ? "/" : "", child);
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
}

/* Path of one of the layer's files, or a possible path of one. */
static struct path file_of(struct fuzz *f)
{
	struct layer_files files = { .n = 0 };
	const uint8_t kind = byte(f);

	if (kind < 96) {
		list_directory(f->layer, "blobs", &files);
		list_directory(f->layer, "", &files);
	}
	if (files.n == 0)
		return path_in(f->layer, names[kind % ARRAY_LENGTH(names)]);
	return path_in(f->layer, files.path[kind % files.n]);
}

static void change_bytes(struct fuzz *f, const char *path)
{
	const int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK);
	struct stat stat;

	if (fd < 0)
		return;
	require(fstat(fd, &stat) == 0);
	if (S_ISREG(stat.st_mode) && stat.st_size > 0) {
		const off_t at = (byte(f) << 8 | byte(f)) % stat.st_size;
		const uint8_t value = byte(f);

		require(pwrite(fd, &value, 1, at) == 1);
	}
	close(fd);
}

static void cut(struct fuzz *f, const char *path)
{
	struct stat stat;

	if (lstat(path, &stat) == 0 && S_ISREG(stat.st_mode) && stat.st_size > 0)
		require(truncate(path, (byte(f) << 8 | byte(f)) % stat.st_size) == 0);
}

/* Write bytes of the input; they contain no path that leads anywhere. */
static void write_bytes(struct fuzz *f, const char *path)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK, 0600);
	const unsigned n = byte(f);

	for (unsigned i = 0; fd >= 0 && i < n; i++) {
		const uint8_t value = byte(f);

		require(write(fd, value == '/' ? "_" : (const void *)&value, 1) == 1);
	}
	if (fd >= 0)
		close(fd);
}

static void edit(struct fuzz *f)
{
	const uint8_t kind = byte(f);
	const struct path path = file_of(f), other = file_of(f);

	switch (kind % 9) {
	case 0 ... 1:
		change_bytes(f, path.text);
		break;
	case 2:
		cut(f, path.text);
		break;
	case 3:
		write_bytes(f, path.text);
		break;
	case 4:
		remove_tree(path.text);
		break;
	case 5:
		(void)!rename(path.text, other.text);
		break;
	case 6:
		(void)!symlink(names[byte(f) % ARRAY_LENGTH(names)], path.text);
		break;
	case 7:
		(void)!mkdir(path.text, 0700);
		break;
	default:
		(void)!mkfifo(path.text, 0600);
	}
}

static void edit_key(struct model *model, const char *name, const char *text)
{
	struct view *empty = view_new(NULL, 0, NULL);
	struct stage *stage = stage_new(model->layer, empty);

	require(stage != NULL && stage_write(stage, text, strlen(text), 0) == 0);
	require(metadata_edit_fill(model, name, stage) == 0);
	stage_free(stage);
	view_unref(empty);
}

/* Make a layer with a copy, a reference, a removed slot, an added slot, a link and keys. */
static void make_layer(struct fuzz *f)
{
	const struct model_options options = { .compress = 1 };
	struct opened o = open_at(&f->state, "base.gguf", f->layer, &options);

	require(o.model && fill_up(o.model, 3) == 0);
	require(graft_link(o.model, SMALL_UP, o.model, CLASS_ORGANS, "blk_1_ffn_up") == 0);
	require(graft_remove(o.model, SMALL_GATE) == 0);
	require(graft_link(o.model, SMALL_DOWN, o.model, CLASS_ORGANS, "blk_2_ffn_down") == 0);
	require(layer_put(o.model->layer,
			  &(struct layer_entry){ .klass = CLASS_ORGANS,
						 .kind = LAYER_LINK,
						 .name = "blk_3_ffn_down",
						 .mtime = { 1, 0 },
						 .target = "blk_2_ffn_down.bin" },
			  NULL) == 0);
	edit_key(o.model, "general.name", "other\n");
	close_model(&o);
}

static void read_all(struct model *model)
{
	struct snapshot snapshot;
	struct view *list;

	require(model_snapshot(model, &snapshot) == 0);
	for (uint32_t i = 0; i < snapshot.n; i++) {
		struct content *content = slots_get(model->slots, i);
		/* A removed slot and a broken link have no content. */
		struct view *view =
			content && content->file ? organ_file_view(model, i, content) : NULL;
		char bytes[4096];

		for (uint64_t at = 0; view && at < view_size(view); at += sizeof(bytes))
			if (view_read(view, bytes, sizeof(bytes), at) < 0)
				break;
		view_unref(view);
		content_unref(content);
	}
	list = grafts_list_view(model, &snapshot);
	require(list != NULL);
	view_unref(list);
	snapshot_release(&snapshot);
}

/* Graft like a process that creates the file anew. Returns whether close() succeeds. */
static bool graft_up(struct model *model, const struct organ_file *organ)
{
	struct view *empty = view_new(NULL, 0, NULL);
	struct stage *stage = stage_new(model->layer, empty);
	bool done;

	require(stage != NULL);
	view_unref(empty);
	done = stage_write(stage, organ->bytes, organ->size, 0) == 0 &&
	       graft_fill_name(model, CLASS_ORGANS, "blk_0_ffn_up", stage) == 0;
	stage_free(stage);
	return done;
}

/* Check that a graft, if one can be made, is in force at the next mount. */
static void check(struct fuzz *f)
{
	const struct model_options options = { .compress = 1 };
	struct opened o = open_at(&f->state, "base.gguf", f->layer, &options);
	struct organ_file organ = mk_organ("blk.0.ffn_up.weight", 0, 2, small_ne, 99);
	bool done;

	if (!o.model) {
		require(o.err.code && o.err.text[0]);
		close_model(&o);
		free(organ.bytes);
		return;
	}
	read_all(o.model);
	done = graft_up(o.model, &organ);
	close_model(&o);
	if (done) {
		o = open_at(&f->state, "base.gguf", f->layer, &options);
		require(o.model != NULL);
		unit_assert_organ(o.model, SMALL_UP, &organ, __FILE__, __LINE__);
		close_model(&o);
	}
	free(organ.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = { .at = data, .end = data + size };
	struct mk_file base = mk_small();

	require(temp_setup(&f.state) == 0);
	snprintf(f.layer, sizeof(f.layer), "%s", in_temp(&f.state, "layer").text);
	write_file(in_temp(&f.state, "base.gguf").text, base.bytes, base.size);
	make_layer(&f);
	for (unsigned i = 0; f.at < f.end && i < EDITS_MAX; i++)
		edit(&f);
	check(&f);
	unit_assert_file(in_temp(&f.state, "base.gguf").text, base.bytes, base.size, __FILE__,
			 __LINE__);
	mk_file_free(&base);
	temp_teardown(&f.state);
	return 0;
}
