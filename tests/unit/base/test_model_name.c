/* SPDX-License-Identifier: MIT */
/* test_model_name.c - fs/base/model_name.c: names of models in stores laid out like those of
 * ollama, huggingface_hub and LM Studio, some of them damaged. */
#include "fs/base/model_name.h"
#include "fs/base/model_list.h"
#include "tests/unit/temp_dir.h"

#define HEX    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define COMMIT "0123456789abcdef0123456789abcdef01234567"
#define OTHER  "76543210fedcba9876543210fedcba9876543210"

#define MODEL_LAYER "application/vnd.ollama.image.model"

/* Set HOME to the test's directory. */
static int setup(void **state)
{
	static const char *const variables[] = { "OLLAMA_MODELS",  "HF_HUB_CACHE",
						 "HF_HOME",	   "HUGGINGFACE_HUB_CACHE",
						 "XDG_CACHE_HOME", "HF_HUB_OFFLINE",
						 "HF_ENDPOINT" };
	const int rc = temp_setup(state);

	for (size_t i = 0; i < ARRAY_LENGTH(variables); i++)
		unsetenv(variables[i]);
	setenv("HOME", ((struct temp *)*state)->dir, 1);
	return rc;
}

/* Make the directories for a file below the home directory. */
static void put_directories(void **state, const char *name)
{
	char path[PATH_MAX];

	for (const char *slash = name; (slash = strchr(slash, '/')); slash++) {
		snprintf(path, sizeof(path), "%.*s", (int)(slash - name), name);
		must(mkdir(in_temp(state, path).text, 0700) == 0 || errno == EEXIST);
	}
}

static void put(void **state, const char *name, const char *text)
{
	put_directories(state, name);
	write_text(in_temp(state, name).text, text);
}

static void put_link(void **state, const char *name, const char *target)
{
	put_directories(state, name);
	unlink(in_temp(state, name).text);
	must(symlink(target, in_temp(state, name).text) == 0);
}

/* Make a link out of all stores to a file of the test. */
static void put_link_out(void **state, const char *name)
{
	write_text(in_temp(state, "outside").text, "GGUF");
	put_link(state, name, in_temp(state, "outside").text);
}

static void put_manifest(void **state, const char *name, const char *type, size_t size)
{
	char text[512], path[300];

	snprintf(text, sizeof(text),
		 "{\"layers\":[{\"mediaType\":\"%s\",\"digest\":\"sha256:" HEX "\",\"size\":%zu}]}",
		 type, size);
	snprintf(path, sizeof(path), ".ollama/models/manifests/%s", name);
	put(state, path, text);
}

static void assert_found(void **state, const char *name, const char *where)
{
	struct error err = { 0 };
	char *path;

	if (model_name_find(name, &path, &err) < 0)
		fail_msg("%s: %s", name, err.text);
	assert_string_equal(path, where[0] == 'h' ? where : in_temp(state, where).text);
	free(path);
}

static void assert_not_found(const char *name, int code, const char *says)
{
	struct error err = { 0 };
	char *path;

	assert_refused(model_name_find(name, &path, &err), &err, code, ERROR_NO_OFFSET);
	assert_null(path);
	if (!strstr(err.text, says) || strstr(err.text, "secret"))
		fail_msg("%s: %s", name, err.text);
}

#define BLOB ".ollama/models/blobs/sha256-" HEX

static void a_name_of_ollama_leads_to_the_blob_of_its_manifest(void **state)
{
	put(state, BLOB, "GGUF");
	put_manifest(state, "registry.ollama.ai/library/qwen3/8b", MODEL_LAYER, 4);
	put_manifest(state, "registry.ollama.ai/library/qwen3/latest", MODEL_LAYER, 4);
	put_manifest(state, "registry.ollama.ai/me/qwen3/latest", MODEL_LAYER, 4);
	put_manifest(state, "localhost:5000/me/qwen3/8b", MODEL_LAYER, 4);
	assert_found(state, "ollama:qwen3:8b", BLOB);
	assert_found(state, "ollama:qwen3", BLOB);
	assert_found(state, "ollama:me/qwen3", BLOB);
	assert_found(state, "ollama:localhost:5000/me/qwen3:8b", BLOB);
	assert_found(state, "ollama:registry.ollama.ai/library/qwen3:8b", BLOB);
	assert_not_found("ollama:me/qwen3:8b", ENOENT, "ollama pull fetches one");
	setenv("OLLAMA_MODELS", in_temp(state, ".ollama/models").text, 1);
	setenv("HOME", "/nowhere", 1);
	assert_found(state, "ollama:qwen3:8b", BLOB);
	setenv("OLLAMA_MODELS", "/nowhere", 1);
	assert_not_found("ollama:qwen3:8b", ENOENT, "/nowhere");
}

static void a_name_that_ollama_does_not_have_is_refused(void **state)
{
	static const char *const names[] = { "ollama:",	      "ollama:..",   "ollama:../qwen3",
					     "ollama:a/../b", "ollama:a:..", "ollama:/a/b",
					     "ollama:a:b/",   "ollama:a:",   "ollama:a/b/c/d",
					     "ollama:a b",    "ollama:a\n",  "ollama:.a",
					     "ollama:a@b",    "ollama:://a" };
	char text[600];

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
		assert_not_found(names[i], EINVAL, "ollama has no such names");
	snprintf(text, sizeof(text), "ollama:%0500d", 7);
	assert_not_found(text, EINVAL, "ollama has no such names");
}

static void blob_that_contradicts_its_manifest_is_refused(void **state)
{
	static const char name[] = "ollama:qwen3",
			  manifest[] = "registry.ollama.ai/library/qwen3/latest";

	put_manifest(state, manifest, MODEL_LAYER, 4);
	assert_not_found(name, ENODATA, "is missing: ollama pull");
	put(state, BLOB "-partial", "GG");
	assert_not_found(name, ENODATA, "download is not complete: ollama pull");
	must(unlink(in_temp(state, BLOB "-partial").text) == 0);
	put(state, BLOB, "GGU");
	assert_not_found(name, EBADMSG, "3 bytes and its manifest says 4");
	put_link_out(state, BLOB);
	assert_not_found(name, EBADMSG, "out of the store, to /");
	put_link(state, BLOB, "nothing");
	assert_not_found(name, ENODATA, "is missing");
	must(unlink(in_temp(state, BLOB).text) == 0 &&
	     mkfifo(in_temp(state, BLOB).text, 0600) == 0);
	assert_not_found(name, EBADMSG, "not a regular file");
	put_manifest(state, manifest, "application/vnd.ollama.image.tensor", 4);
	assert_not_found(name, ENODATA, "has 0 GGUFs");
}

static void a_manifest_that_is_no_small_file_is_refused(void **state)
{
	static const char manifest[] = ".ollama/models/manifests/registry.ollama.ai/library/a/b";
	struct path path = in_temp(state, manifest);

	put(state, manifest, "");
	assert_not_found("ollama:a:b", EBADMSG, "not JSON with layers");
	must(truncate(path.text, (1 << 20) + 1) == 0);
	assert_not_found("ollama:a:b", EFBIG, "longer than 1 MiB");
	must(unlink(path.text) == 0 && mkfifo(path.text, 0600) == 0);
	assert_not_found("ollama:a:b", EBADMSG, "not a regular file");
}

#define HUB	  ".cache/huggingface/hub/"
#define REPO	  HUB "models--me--repo/"
#define SNAPSHOT  REPO "snapshots/" COMMIT "/"
#define A_BLOB	  REPO "blobs/" HEX
#define OTHER_ONE REPO "snapshots/" OTHER "/"

/* Make the repository me/repo, whose main is that commit. */
static void put_repo(void **state, const char *commit)
{
	put(state, A_BLOB, "GGUF");
	put(state, REPO "refs/main", commit);
	put(state, REPO "refs/pr/1", OTHER "\n");
	put_link(state, SNAPSHOT "m.gguf", "../../blobs/" HEX);
	put_link(state, SNAPSHOT "sub/m.gguf", "../../../blobs/" HEX);
	put(state, OTHER_ONE "n.gguf", "GGUF in a cache without links");
}

static void a_name_of_the_hub_leads_into_the_snapshot_of_the_cache(void **state)
{
	put_repo(state, COMMIT);
	assert_found(state, "hf:me/repo/m.gguf", SNAPSHOT "m.gguf");
	assert_found(state, "hf:me/repo/m.gguf@main", SNAPSHOT "m.gguf");
	assert_found(state, "hf:me/repo/sub/m.gguf@" COMMIT, SNAPSHOT "sub/m.gguf");
	assert_found(state, "hf:me/repo/n.gguf@pr/1", OTHER_ONE "n.gguf");
	setenv("HF_HUB_CACHE", in_temp(state, HUB).text, 1);
	setenv("HF_HOME", "/nowhere", 1);
	assert_found(state, "hf:me/repo/m.gguf",
		     HUB "/models--me--repo/snapshots/" COMMIT "/m.gguf");
	setenv("HF_HUB_CACHE", "~/.cache/huggingface/hub", 1);
	assert_found(state, "hf:me/repo/m.gguf", SNAPSHOT "m.gguf");
	unsetenv("HF_HUB_CACHE");
	setenv("HF_HOME", in_temp(state, ".cache/huggingface").text, 1);
	assert_found(state, "hf:me/repo/m.gguf", SNAPSHOT "m.gguf");
	unsetenv("HF_HOME");
	setenv("HOME", "/nowhere", 1);
	setenv("XDG_CACHE_HOME", in_temp(state, ".cache").text, 1);
	assert_found(state, "hf:me/repo/m.gguf", SNAPSHOT "m.gguf");
}

static void a_file_that_the_cache_lacks_is_at_a_url(void **state)
{
	put_repo(state, COMMIT);
	assert_found(state, "hf:me/repo/n.gguf",
		     "https://huggingface.co/me/repo/resolve/main/n.gguf");
	assert_found(state, "hf:me/repo/m.gguf@v1.0",
		     "https://huggingface.co/me/repo/resolve/v1.0/m.gguf");
	assert_found(state, "hf:you/repo/d/a b#\xc3\xb6.gguf@refs/pr/2",
		     "https://huggingface.co/you/repo/resolve/refs%2Fpr%2F2/d/a%20b%23%C3%B6.gguf");
	setenv("HF_ENDPOINT", "http://mirror:80//", 1);
	assert_found(state, "hf:a/b/c.gguf", "http://mirror:80/a/b/resolve/main/c.gguf");
	/* The address has secrets, which .log must not show to other users. */
	setenv("HF_ENDPOINT", "ftp://me:secret@mirror", 1);
	assert_not_found("hf:a/b/c.gguf", EINVAL, "HF_ENDPOINT is no URL with http or https");
	setenv("HF_HUB_OFFLINE", "1", 1);
	assert_not_found("hf:a/b/c.gguf", ENOENT, "HF_HUB_OFFLINE");
	assert_found(state, "hf:me/repo/m.gguf", SNAPSHOT "m.gguf");
}

static void a_name_that_the_hub_does_not_have_is_refused(void **state)
{
	static const char *const names[] = {
		"hf:",
		"hf:a/b",
		"hf:a/b/",
		"hf:/a/b/c.gguf",
		"hf:a/../c.gguf",
		"hf:a/b/../c.gguf",
		"hf:a/b/./c.gguf",
		"hf:a/b//c.gguf",
		"hf:a/b/c.gguf@",
		"hf:a/b/c.gguf@../x",
		"hf:a/b/c.gguf@/x",
		"hf:a--b/c/d.gguf",
		"hf:.a/b/c.gguf",
		"hf:a/b\n/c.gguf",
		"hf:a/b/c\n.gguf",
		"hf:a/b/c\xc2\x9b.gguf",
		"hf:a/b/c@a b",
		"hf://a/b/c.gguf",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
		assert_not_found(names[i], EINVAL, "the Hub has no such names");
}

static void a_damaged_or_hostile_cache_is_refused(void **state)
{
	static const char shard[] = SNAPSHOT "s-00002-of-00002.gguf";

	put_repo(state, COMMIT);
	put_link_out(state, SNAPSHOT "m.gguf");
	assert_not_found("hf:me/repo/m.gguf", EBADMSG, "out of the store, to /");
	put_link(state, SNAPSHOT "m.gguf", "../../blobs/nothing");
	assert_not_found("hf:me/repo/m.gguf", ENODATA, "its blob is missing in the cache");
	put(state, SNAPSHOT "s-00001-of-00002.gguf", "GGUF");
	assert_found(state, "hf:me/repo/s-00001-of-00002.gguf", SNAPSHOT "s-00001-of-00002.gguf");
	put_link_out(state, shard);
	assert_not_found("hf:me/repo/s-00001-of-00002.gguf", EBADMSG, "out of the store");
	put(state, REPO "refs/main", "../../../../etc");
	assert_not_found("hf:me/repo/m.gguf", EBADMSG, "is not a commit");
}

#define STUDIO ".lmstudio/models/me/repo/"

static void a_name_of_lm_studio_is_a_file_in_its_folder(void **state)
{
	char settings[PATH_MAX + 64];

	put(state, STUDIO "m.gguf", "GGUF");
	put_link_out(state, STUDIO "link.gguf");
	assert_found(state, "lmstudio:me/repo/m.gguf", STUDIO "m.gguf");
	assert_found(state, "lmstudio:me/repo/m", STUDIO "m.gguf");
	/* lms import --symbolic-link makes such links. */
	assert_found(state, "lmstudio:me/repo/link.gguf", STUDIO "link.gguf");
	assert_not_found("lmstudio:me/repo/n.gguf", ENOENT, "organfs --models lists");
	put(state, ".lmstudio/settings.json", "{ damaged");
	assert_found(state, "lmstudio:me/repo/m.gguf", STUDIO "m.gguf");
	snprintf(settings, sizeof(settings), "{\"downloadsFolder\": \"%s\"}",
		 in_temp(state, "big").text);
	put(state, ".lmstudio/settings.json", settings);
	assert_not_found("lmstudio:me/repo/m.gguf", ENOENT, "/big;");
	put(state, "big/me/repo/m.gguf", "GGUF");
	assert_found(state, "lmstudio:me/repo/m.gguf", "big/me/repo/m.gguf");
	put(state, ".cache/lm-studio/models/me/repo/m.gguf", "GGUF");
	assert_found(state, "lmstudio:me/repo/m.gguf", ".cache/lm-studio/models/me/repo/m.gguf");
	snprintf(settings, sizeof(settings), "%s\n", in_temp(state, ".lmstudio").text);
	put(state, ".lmstudio-home-pointer", settings);
	assert_found(state, "lmstudio:me/repo/m.gguf", "big/me/repo/m.gguf");
}

static void a_name_that_lm_studio_does_not_have_is_refused(void **state)
{
	static const char *const names[] = {
		"lmstudio:",	   "lmstudio:a/b",	    "lmstudio:a/../b.gguf", "lmstudio:/a/b",
		"lmstudio:a/b/..", "lmstudio:a/b/c/d.gguf", "lmstudio:a/b/c\t.gguf"
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
		assert_not_found(names[i], EINVAL, "LM Studio has no such names");
}

/* Fill all three stores; the manifest of ollama's model "bad" claims that size. */
static void put_all(void **state, size_t bad)
{
	setenv("OLLAMA_MODELS", in_temp(state, ".ollama/models").text, 1);
	put(state, BLOB, "GGUF");
	put_manifest(state, "registry.ollama.ai/library/qwen3/8b", MODEL_LAYER, 4);
	put_manifest(state, "registry.ollama.ai/library/bad/1", MODEL_LAYER, bad);
	put_manifest(state, "hf.co/me/b/c", MODEL_LAYER, 4);
	put_repo(state, COMMIT);
	put_link(state, SNAPSHOT "gone.gguf", "../../blobs/nothing");
	put(state, SNAPSHOT "README.md", "");
	put(state, SNAPSHOT "s-00001-of-00002.gguf", "GGUF");
	put(state, SNAPSHOT "s-00002-of-00002.gguf", "GGUF+");
	put(state, HUB "datasets--me--x/snapshots/" COMMIT "/m.gguf", "GGUF");
	put(state, STUDIO "m.gguf", "GGUFGGUF");
	put(state, STUDIO "deeper/m.gguf", "GGUF");
	put(state, ".lmstudio/models/m.gguf", "GGUF");
}

static void all_models_are_listed_and_damaged_ones_noted(void **state)
{
	static const struct {
		const char *name;
		uint64_t size; /* 0: the model is damaged */
	} expected[] = {
		{ "hf:me/repo/gone.gguf", 0 },
		{ "hf:me/repo/m.gguf", 4 },
		{ "hf:me/repo/n.gguf@" OTHER, 29 },
		{ "hf:me/repo/s-00001-of-00002.gguf", 9 },
		{ "hf:me/repo/sub/m.gguf", 4 },
		{ "lmstudio:me/repo/m.gguf", 8 },
		{ "ollama:bad:1", 0 },
		{ "ollama:hf.co/me/b:c", 4 },
		{ "ollama:qwen3:8b", 4 },
	};
	struct model_list list;

	put_all(state, 5);
	assert_int_equal(model_name_list(&list), 0);
	for (size_t i = 0; i < list.n && i < ARRAY_LENGTH(expected); i++) {
		const struct model_listed *model = &list.all[i];

		assert_string_equal(model->name, expected[i].name);
		assert_int_equal(model->why == NULL, expected[i].size != 0);
		if (model->why)
			continue;
		assert_int_equal(model->size, expected[i].size);
		assert_true(model->path[0] == '/');
	}
	assert_int_equal(list.n, ARRAY_LENGTH(expected));
	model_list_release(&list);
}

static void without_memory_nothing_is_found_or_listed(void **state)
{
	static const char *const names[] = { "ollama:qwen3:8b", "hf:me/repo/m.gguf",
					     "hf:me/repo/x.gguf", "lmstudio:me/repo/m.gguf" };
	struct model_list list;
	struct error err;
	char *path;
	int rc;

	needs_failing_allocations();
	put_all(state, 5);
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		for (uint64_t k = 1;; k++) {
			allocation_fails(k);
			rc = model_name_find(names[i], &path, &err);
			if (!allocation_failed())
				break;
			free(path);
		}
		assert_int_equal(rc, 0);
		free(path);
	}
	for (uint64_t k = 1;; k++) {
		allocation_fails(k);
		rc = model_name_list(&list);
		model_list_release(&list);
		if (!allocation_failed())
			break;
	}
	assert_int_equal(rc, 0);
}

UNIT_MAIN(setup, temp_teardown)
