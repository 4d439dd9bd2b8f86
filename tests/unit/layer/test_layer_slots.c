/* SPDX-License-Identifier: MIT */
/* test_layer_slots.c - fs/layer/layer_slots.c: rows of slots, written and read, and rows that
 * organfs never writes. */
#include "fs/base/donor.h"
#include "fs/layer/layer_internal.h"
#include "fs/layer/layer_records.h"
#include "fs/storage/backing.h"
#include "tests/unit/open_layer.h"

#define PRINT "fedcba9876543210fedcba9876543210"
#define SUM   "0123456789abcdef0123456789abcdef"

static const struct timespec mtime = { -1, 999999999 };

struct scene {
	struct site site;
	struct layer *layer;
};

static struct scene open_scene(void **state)
{
	struct scene scene = { .site = small_site(state) };

	scene.layer = open_layer(&scene.site);
	return scene;
}

static void close_scene(struct scene *scene)
{
	layer_close(scene->layer);
	close_site(&scene->site);
}

static void reopen(struct scene *scene)
{
	layer_close(scene->layer);
	scene->layer = open_layer(&scene->site);
}

/* The entry of the slot organs/NAME as text: the number of its kind, and its fields. */
struct looking {
	const char *name;
	char text[1000];
};

static int look_at(void *context, const struct layer_entry *entry, struct error *err)
{
	struct looking *looking = context;
	const struct layer_origin *origin = &entry->origin;
	const char *tensor = NULL;
	size_t n = 0;

	(void)err;
	backing_unref(entry->file);
	if (strcmp(entry->name, looking->name) != 0)
		return 0;
	if (origin->donor)
		tensor = donor_tensor(origin->donor, &n);
	snprintf(looking->text, sizeof(looking->text),
		 "%d %lld.%09ld %s %s slot=%.*s donor=%s tensor=%.*s print=%s view=%s of=%d",
		 entry->kind, (long long)entry->mtime.tv_sec, entry->mtime.tv_nsec,
		 entry->target ? entry->target : "-", entry->reference ? entry->reference : "-",
		 (int)origin->slot_length, origin->slot ? origin->slot : "",
		 origin->donor ? donor_path(origin->donor) : "-", (int)n, tensor ? tensor : "",
		 origin->donor ? donor_fingerprint(origin->donor) : "",
		 origin->donor && donor_view(origin->donor) ? donor_view(origin->donor) : "",
		 origin->of);
	return 0;
}

#define assert_slot(layer, name, expected)                \
	do {                                              \
		struct looking seen = look(layer, name);  \
		assert_string_equal(seen.text, expected); \
	} while (0)

static struct looking look(struct layer *layer, const char *name)
{
	struct looking looking = { .name = name };
	struct error err = { 0 };

	assert_int_equal(layer_each(layer, look_at, &looking, &err), 0);
	return looking;
}

static int put_link(struct layer *layer, const char *name, const struct layer_undone *left)
{
	return layer_put(layer,
			 &(struct layer_entry){ .klass = CLASS_ORGANS,
						.kind = LAYER_LINK,
						.name = name,
						.mtime = mtime,
						.target = "/there",
						.reference = "seen",
						.uid = 12,
						.gid = 34 },
			 left);
}

static int put_reference(struct layer *layer, const char *name, const struct layer_undone *left)
{
	return layer_put(layer,
			 &(struct layer_entry){ .klass = CLASS_ORGANS,
						.kind = LAYER_REFERENCE,
						.name = name,
						.mtime = mtime,
						.reference = "text" },
			 left);
}

static void slots_of_each_kind_are_read_back(void **state)
{
	const struct layer_entry added = {
		.klass = CLASS_NORM,
		.kind = LAYER_LINK,
		.name = "broken",
		.mtime = mtime,
		.target = "nowhere",
		.uid = 1,
		.gid = 1,
		.origin = { .slot = "blk.0%\xff\n.x", .slot_length = 10 },
	};
	struct scene scene = open_scene(state);

	must(keep_text(scene.layer, CLASS_ORGANS, "copy", "bytes") == 0);
	must(put_link(scene.layer, "link", NULL) == 0);
	must(layer_put(scene.layer, &added, NULL) == 0);
	must(put_reference(scene.layer, "reference", NULL) == 0);
	must(white_out(scene.layer, CLASS_ORGANS, "removed") == 0);
	for (int i = 0; i < 2; i++) {
		assert_slot(scene.layer, "copy",
			    "0 1000.000000005 - - slot= donor=- tensor= print= view= of=0");
		assert_slot(scene.layer, "reference",
			    "1 -1.999999999 - text slot= donor=- tensor= print= view= of=0");
		assert_slot(scene.layer, "link",
			    "2 -1.999999999 /there seen slot= donor=- tensor= print= view= of=0");
		assert_slot(scene.layer, "broken",
			    "2 -1.999999999 nowhere - slot=blk.0%\xff\n.x donor=- tensor= print= "
			    "view= of=0");
		assert_layer(scene.layer,
			     "norm/broken>nowhere organs/copy=bytes organs/link>/there "
			     "organs/reference@text organs/removed- ");
		reopen(&scene);
	}
	close_scene(&scene);
}

static void origin_of_a_copy_is_read_back(void **state)
{
	static const struct {
		const char *path, *print, *tensor, *view;
		enum reference_of of;
		const char *expected;
	} cases[] = {
		{ "/a b/%", PRINT, "blk.0", NULL, REFERENCE_OF_BASE,
		  "slot=t donor=/a b/% tensor=blk.0 print=" PRINT " view= of=1" },
		{ "/a", PRINT, "x\n", "spectral", REFERENCE_OF_ANOTHER,
		  "slot=t donor=/a tensor=x\n print=" PRINT " view=spectral of=2" },
		/* The donor's path is unknown. */
		{ "don or.gguf", PRINT, "x", NULL, REFERENCE_OF_UNKNOWN,
		  "slot=t donor=don or.gguf tensor=x print=" PRINT " view= of=0" },
		{ "https://x/y.gguf", PRINT, "x", NULL, REFERENCE_OF_UNKNOWN,
		  "slot=t donor=https://x/y.gguf tensor=x print=" PRINT " view= of=0" },
		/* The donor is an organ file. */
		{ "/up.bin", "", NULL, NULL, REFERENCE_OF_ANOTHER,
		  "slot=t donor=/up.bin tensor= print= view= of=0" },
		/* The donor is some GGUF. */
		{ "/a", "", "x", NULL, REFERENCE_OF_ANOTHER,
		  "slot=t donor=- tensor= print= view= of=0" },
	};
	struct scene scene = open_scene(state);

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		const char *tensor = cases[i].tensor;
		struct donor *plain = donor_from_record(cases[i].path, cases[i].print, tensor,
							tensor ? strlen(tensor) : 0);
		struct donor *donor =
			cases[i].view ? donor_from_view(plain, cases[i].view) : donor_ref(plain);
		struct layer_origin origin = {
			.slot = "t", .slot_length = 1, .donor = donor, .of = cases[i].of
		};
		struct backing *file;

		strcpy(origin.fingerprint, cases[i].print);
		must(keep_bytes(scene.layer, CLASS_ORGANS, "up", &origin, "x", 1, &file) == 0);
		backing_unref(file);
		reopen(&scene);
		assert_string_equal(look(scene.layer, "up").text + strlen("0 1000.000000005 - - "),
				    cases[i].expected);
		donor_unref(plain);
		donor_unref(donor);
	}
	/* A link in the slot's place has no donor. */
	must(put_link(scene.layer, "up", NULL) == 0);
	assert_slot(scene.layer, "up",
		    "2 -1.999999999 /there seen slot= donor=- tensor= print= view= of=0");
	close_scene(&scene);
}

static void slot_is_left_in_the_transaction_that_fills_another(void **state)
{
	static const struct layer_undone gone = { LAYER_SLOT, CLASS_ORGANS, "a", false },
					 whited = { LAYER_SLOT, CLASS_ORGANS, "a", true };
	static const struct layer_undone *const lefts[] = { &gone, &whited };
	struct scene scene = open_scene(state);

	for (size_t i = 0; i < ARRAY_LENGTH(lefts); i++) {
		const char *after[] = { "organs/b>/there ", "organs/a- organs/b>/there " };
		struct backing *file;

		must(keep_text(scene.layer, CLASS_ORGANS, "a", "x") == 0);
		assert_int_equal(put_link(scene.layer, "b", lefts[i]), 0);
		assert_layer(scene.layer, after[i]);
		must(keep_text(scene.layer, CLASS_ORGANS, "a", "x") == 0);
		assert_int_equal(put_reference(scene.layer, "b", lefts[i]), 0);
		assert_layer(scene.layer, i ? "organs/a- organs/b@text " : "organs/b@text ");
		must(keep_text(scene.layer, CLASS_ORGANS, "a", "x") == 0);
		assert_int_equal(layer_link(scene.layer, CLASS_ORGANS, "a", scene.layer,
					    &(struct layer_entry){ .klass = CLASS_ORGANS,
								   .name = "b" },
					    lefts[i], &file),
				 0);
		backing_unref(file);
		assert_layer(scene.layer, i ? "organs/a- organs/b=x " : "organs/b=x ");
		must(keep_text(scene.layer, CLASS_ORGANS, "a", "x") == 0);
		assert_int_equal(layer_undo(scene.layer,
					    (struct layer_undone[]){
						    { LAYER_SLOT, CLASS_ORGANS, "b", false },
						    *lefts[i] },
					    2),
				 0);
		assert_layer(scene.layer, i ? "organs/a- " : "");
	}
	close_scene(&scene);
}

static void removal_is_recorded_or_forgotten(void **state)
{
	struct scene scene = open_scene(state);

	assert_int_equal(revert(scene.layer, CLASS_ORGANS, "a"), 0);
	assert_int_equal(revert(scene.layer, CLASS_ORGANS, "a"), 0);
	assert_false(exists(scene.site.state));
	assert_int_equal(white_out(scene.layer, CLASS_ORGANS, "a"), 0);
	assert_int_equal(white_out(scene.layer, CLASS_ORGANS, "a"), 0);
	assert_layer(scene.layer, "organs/a- ");
	must(keep_text(scene.layer, CLASS_ORGANS, "a", "x") == 0);
	assert_layer(scene.layer, "organs/a=x ");
	assert_int_equal(revert(scene.layer, CLASS_ORGANS, "a"), 0);
	assert_layer(scene.layer, "");
	assert_int_equal(ask_layer(scene.layer, "SELECT count(*) FROM blob"), 0);
	close_scene(&scene);
}

static void tensor_that_a_link_led_to_is_recorded_for_that_link_alone(void **state)
{
	struct scene scene = open_scene(state);

	must(put_link(scene.layer, "link", NULL) == 0);
	assert_int_equal(layer_record_seen(scene.layer, CLASS_ORGANS, "link", "/there", "now"), 0);
	assert_slot(scene.layer, "link",
		    "2 -1.999999999 /there now slot= donor=- tensor= print= view= of=0");
	/* The link leads elsewhere meanwhile, or is gone. */
	assert_int_equal(layer_record_seen(scene.layer, CLASS_ORGANS, "link", "/past", "x"), 0);
	assert_int_equal(layer_record_seen(scene.layer, CLASS_ORGANS, "none", "/there", "x"), 0);
	assert_slot(scene.layer, "link",
		    "2 -1.999999999 /there now slot= donor=- tensor= print= view= of=0");
	assert_layer(scene.layer, "organs/link>/there ");
	close_scene(&scene);
}

static void hash_is_that_of_a_copy(void **state)
{
	struct scene scene = open_scene(state);
	char hash[XXH128_TEXT], expected[XXH128_TEXT];

	assert_false(layer_organ_hash(scene.layer, CLASS_ORGANS, "up", hash));
	must(keep_text(scene.layer, CLASS_ORGANS, "up", "bytes") == 0);
	xxh128_text(XXH3_128bits("bytes", 5), expected);
	assert_true(layer_organ_hash(scene.layer, CLASS_ORGANS, "up", hash));
	assert_string_equal(hash, expected);
	must(put_link(scene.layer, "up", NULL) == 0);
	assert_false(layer_organ_hash(scene.layer, CLASS_ORGANS, "up", hash));
	close_scene(&scene);
}

/* ## layer_link() */

static void assert_linked(struct layer *from, struct layer *to, const char *name, size_t n)
{
	struct backing *file;
	uint8_t *got = malloc(n);

	must(got);
	assert_int_equal(layer_link(from, CLASS_ORGANS, "a", to,
				    &(struct layer_entry){ .klass = CLASS_NORM, .name = name },
				    NULL, &file),
			 0);
	assert_int_equal(backing_size(file), n);
	assert_int_equal(backing_read(file, got, n, 0), 0);
	assert_int_equal(got[n - 1], 'x');
	backing_unref(file);
	free(got);
}

static void linked_copies_share_their_bytes_within_and_between_layers(void **state)
{
	static const size_t sizes[] = { 10, 100000 };
	struct scene scene = open_scene(state);
	struct error err = { 0 };
	struct layer *other = layer_open_at(in_temp(state, "other").text, &scene.site.manner,
					    scene.site.base, scene.site.gguf, &err);

	must(other);
	for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
		char *bytes = malloc(sizes[i]);
		struct backing *file;
		struct stat stat_now;

		must(bytes);
		memset(bytes, 'x', sizes[i]);
		must(keep_bytes(scene.layer, CLASS_ORGANS, "a", NULL, bytes, sizes[i], &file) == 0);
		backing_unref(file);
		assert_linked(scene.layer, scene.layer, "b", sizes[i]);
		/* A second link in the same place changes nothing. */
		assert_linked(scene.layer, scene.layer, "b", sizes[i]);
		assert_linked(scene.layer, other, "c", sizes[i]);
		assert_int_equal(ask_layer(scene.layer, "SELECT count(*) FROM blob"), 1);
		assert_int_equal(ask_layer(scene.layer, "SELECT count(*) FROM slot"), 2);
		assert_int_equal(ask_layer(other, "SELECT count(*) FROM blob"), 1);
		assert_int_equal(count_entries(in_temp(state, "other/blobs").text), i);
		/* The blob stays while one slot refers to it. */
		assert_int_equal(revert(scene.layer, CLASS_ORGANS, "a"), 0);
		assert_int_equal(ask_layer(scene.layer, "SELECT count(*) FROM blob"), 1);
		assert_int_equal(count_entries(path_in(layer_path(scene.layer), "blobs").text), i);
		assert_int_equal(revert(scene.layer, CLASS_NORM, "b"), 0);
		assert_int_equal(count_entries(path_in(layer_path(scene.layer), "blobs").text), 0);
		if (i) {
			const uint64_t n = (uint64_t)ask_layer(other, "SELECT number FROM blob");
			char name[64];

			snprintf(name, sizeof(name), "other/blobs/%llu", (unsigned long long)n);
			must(stat(in_temp(state, name).text, &stat_now) == 0);
			assert_int_equal(stat_now.st_nlink, 1);
		}
		free(bytes);
	}
	layer_close(other);
	close_scene(&scene);
}

static void link_of_a_slot_without_copy_is_refused(void **state)
{
	struct scene scene = open_scene(state);
	struct backing *file;

	must(put_link(scene.layer, "link", NULL) == 0);
	assert_int_equal(layer_link(scene.layer, CLASS_ORGANS, "link", scene.layer,
				    &(struct layer_entry){ .klass = CLASS_NORM, .name = "x" }, NULL,
				    &file),
			 -ENOENT);
	assert_int_equal(layer_link(scene.layer, CLASS_ORGANS, "none", scene.layer,
				    &(struct layer_entry){ .klass = CLASS_NORM, .name = "x" }, NULL,
				    &file),
			 -ENOENT);
	assert_layer(scene.layer, "organs/link>/there ");
	close_scene(&scene);
}

/* ## undo */

static void undo_takes_back_slots_keys_and_adapters_at_once(void **state)
{
	static const struct layer_undone removed = { LAYER_KEY, .name = "k.x", .removed = true };
	static const struct layer_undone undone[] = {
		{ LAYER_TYPED_SLOT, .klass = CLASS_ORGANS, .name = "up" },
		{ LAYER_TYPED_SLOT, .klass = CLASS_ORGANS, .name = "link" },
		{ LAYER_TYPED_SLOT, .klass = CLASS_ORGANS, .name = "none" },
		{ LAYER_KEY, .name = "k.x" },
		{ LAYER_ADAPTER, .name = "a.scale" },
	};
	struct scene scene = open_scene(state);

	assert_int_equal(layer_undo(scene.layer, undone, ARRAY_LENGTH(undone)), 0);
	assert_false(exists(scene.site.state));
	must(keep_text(scene.layer, CLASS_ORGANS, "up", "u") == 0);
	must(keep_text(scene.layer, CLASS_ORGANS, "down", "d") == 0);
	must(keep_text(scene.layer, CLASS_ADAPTERS, "pair", "p") == 0);
	must(put_link(scene.layer, "link", NULL) == 0);
	must(layer_undo(scene.layer, &removed, 1) == 0);
	must(layer_write_adapter(scene.layer, &(struct layer_adapter){ .file = "a.scale",
								       .text = "1",
								       .mtime = mtime }) == 0);
	assert_int_equal(layer_undo(scene.layer, undone, ARRAY_LENGTH(undone)), 0);
	assert_layer(scene.layer, "adapters/pair=p organs/down=d ");
	assert_int_equal(ask_layer(scene.layer, "SELECT (SELECT count(*) FROM key) + "
						"(SELECT count(*) FROM adapter)"),
			 0);
	close_scene(&scene);
}

/* ## rows that organfs never writes */

static int count_one(void *context, const struct layer_entry *entry, struct error *err)
{
	char byte;

	(void)err;
	++*(unsigned *)context;
	if (entry->file)
		(void)!backing_read(entry->file, &byte, 1, 0);
	backing_unref(entry->file);
	return 0;
}

static const struct {
	const char *sql;
	int rc;
} hostile[] = {
	{ "UPDATE slot SET class = 'other place'", -EBADMSG },
	{ "UPDATE slot SET class = 5", -EBADMSG },
	{ "UPDATE slot SET name = CAST(x'610062' AS TEXT)", -EBADMSG },
	{ "UPDATE slot SET name = x'6100'", -EBADMSG },
	{ "UPDATE slot SET name = NULL", -EBADMSG },
	{ "UPDATE slot SET name = hex(zeroblob(200))", -EBADMSG },
	{ "UPDATE slot SET kind = 'strange'", -EBADMSG },
	{ "UPDATE slot SET kind = NULL", -EBADMSG },
	{ "UPDATE slot SET kind = 'link'", -EBADMSG },
	{ "UPDATE slot SET kind = 'reference'", -EBADMSG },
	{ "UPDATE slot SET kind = 'removed'", 0 },
	{ "UPDATE slot SET kind = 'link', target = x'2f00'", -EBADMSG },
	{ "UPDATE slot SET blob = NULL", -EBADMSG },
	{ "UPDATE slot SET blob = 'text'", -EBADMSG },
	{ "UPDATE slot SET blob = -9223372036854775808", -EBADMSG },
	{ "UPDATE blob SET form = NULL", -EBADMSG },
	{ "UPDATE blob SET form = 'other'", 0 },
	{ "UPDATE blob SET xxh128 = NULL", -EBADMSG },
	{ "UPDATE blob SET xxh128 = 'short'", -EBADMSG },
	{ "UPDATE blob SET xxh128 = '0123456789abcdef0123456789abcdeg'", -EBADMSG },
	{ "UPDATE blob SET size = 'text'", 0 },
	{ "UPDATE blob SET bytes = 'other text'", 0 },
	{ "UPDATE blob SET size = 1e300", 0 },
	{ "UPDATE slot SET mtime = 'never'", 0 },
	{ "UPDATE slot SET mtime = -9223372036854775808", 0 },
	{ "UPDATE slot SET tensor = ''", 0 },
	{ "UPDATE slot SET tensor = zeroblob(100000)", 0 },
	{ "UPDATE slot SET uid = 1e300, gid = x'00'", 0 },
	{ "UPDATE slot SET donor_of = 'nobody'", 0 },
	{ "DROP TABLE blob", -EBADMSG },
	{ "ALTER TABLE slot DROP COLUMN donor", -EBADMSG },
	{ "INSERT INTO slot SELECT * FROM slot", 0 },
};

static void impossible_row_is_refused_or_loses_its_impossible_part(void **state)
{
	for (size_t i = 0; i < ARRAY_LENGTH(hostile); i++) {
		struct scene scene = open_scene(state);
		struct error err = { 0 };
		unsigned n = 0;
		char hash[XXH128_TEXT];
		struct backing *file;
		int rc;

		must(keep_text(scene.layer, CLASS_ORGANS, "up", "x") == 0);
		assert_layer(scene.layer, "organs/up=x ");
		layer_rest(scene.layer);
		alter_rows(layer_path(scene.layer), LOOSE_SLOTS);
		alter_rows(layer_path(scene.layer), hostile[i].sql);
		rc = layer_each(scene.layer, count_one, &n, &err);
		if (rc != hostile[i].rc)
			fail_msg("%s: %d %s", hostile[i].sql, rc, err.text);
		assert_int_equal(err.code, -rc);
		if (rc < 0)
			assert_int_equal(n, 0);
		else
			assert_between(n, 1, 2);
		/* layer_organ_hash() and the like do not crash either. */
		layer_organ_hash(scene.layer, CLASS_ORGANS, "up", hash);
		if (layer_link(scene.layer, CLASS_ORGANS, "up", scene.layer,
			       &(struct layer_entry){ .klass = CLASS_NORM, .name = "x" }, NULL,
			       &file) == 0)
			backing_unref(file);
		keep_text(scene.layer, CLASS_ORGANS, "up", "again");
		revert(scene.layer, CLASS_ORGANS, "up");
		close_scene(&scene);
		remove_tree(in_temp(state, "state").text);
	}
}

static void impossible_donor_is_ignored(void **state)
{
#define TENSOR ", donor_tensor = x'78'"
	static const char *const sets[] = {
		"donor = 'up.bin'",
		"donor = ''",
		"donor = CAST(x'2f6100' AS TEXT)",
		"donor = '/a'" TENSOR,
		"donor = '/a', donor_fingerprint = '" PRINT "'",
		"donor = '/a', donor_fingerprint = 'x'" TENSOR,
		"donor = '/a', donor_fingerprint = '" PRINT "', donor_tensor = x''",
		"donor = '/a', donor_fingerprint = '" PRINT "', donor_tensor = zeroblob(70000)",
		"donor = 'a/b', donor_fingerprint = '" PRINT "'" TENSOR,
		"donor = '/a', donor_view = 'npy'",
		"donor_fingerprint = '" PRINT "'" TENSOR,
	};
	struct scene scene = open_scene(state);

	must(keep_text(scene.layer, CLASS_ORGANS, "up", "x") == 0);
	for (size_t i = 0; i < ARRAY_LENGTH(sets); i++) {
		char sql[500];

		snprintf(sql, sizeof(sql),
			 "UPDATE slot SET donor = NULL, donor_tensor = NULL, donor_fingerprint = "
			 "NULL, donor_view = NULL; UPDATE slot SET %s",
			 sets[i]);
		layer_rest(scene.layer);
		alter_rows(layer_path(scene.layer), sql);
		if (!strstr(look(scene.layer, "up").text, "donor=- "))
			fail_msg("%s", sets[i]);
	}
	close_scene(&scene);
}

UNIT_MAIN(temp_setup, temp_teardown)
