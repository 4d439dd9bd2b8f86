/* SPDX-License-Identifier: MIT */
/* merge_config_read.c - see merge_config.h: YAML, which may come from anywhere
 * (fs/util/yaml_reader.h), as a configuration. Keys may come in any order, so the method's rules
 * for them are checked after the last one. */
#include "fs/merge/merge_config_internal.h"
#include "fs/merge/merge_tensor.h"
#include "fs/util/array_grown.h"
#include "fs/util/url.h"
#include "gguf/error.h"
#include "gguf/quant.h"

#include <errno.h>
#include <string.h>

void merge_set_place(const struct config_reader *reader, size_t *line, size_t *column)
{
	*line = reader->yaml.event.start_mark.line + 1;
	*column = reader->yaml.event.start_mark.column + 1;
}

int merge_read_mapping(struct config_reader *reader, const struct config_key *keys, size_t n,
		       void *into, unsigned *seen)
{
	int rc = yaml_reader_next(&reader->yaml);

	for (*seen = 0; rc == 0 && reader->yaml.event.type != YAML_MAPPING_END_EVENT;) {
		size_t k = 0;

		if (reader->yaml.event.type != YAML_SCALAR_EVENT)
			return refuse(reader, "expected a key");
		while (k < n && !yaml_reader_is(&reader->yaml, keys[k].name))
			k++;
		if (k == n)
			return yaml_reader_refuse_key(&reader->yaml, "is not supported here");
		if (*seen & 1u << k)
			return yaml_reader_refuse_key(&reader->yaml, "occurs twice");
		*seen |= 1u << k;
		rc = keys[k].read(reader, into);
		if (rc == 0)
			rc = yaml_reader_next(&reader->yaml);
	}
	return rc;
}

/* Check that the event is a scalar that is not empty. */
static int check_word(struct config_reader *reader, const char *what)
{
	size_t n = 0;
	const char *value = NULL;

	if (reader->yaml.event.type == YAML_SCALAR_EVENT)
		value = yaml_reader_value(&reader->yaml, &n);
	if (n == 0 || n > MERGE_CONFIG_MODEL_LENGTH || memchr(value, '\0', n))
		return refuse(reader, "expected %s", what);
	return 0;
}

int merge_expect_word(struct config_reader *reader, const char *expected)
{
	const int rc = yaml_reader_next(&reader->yaml);

	return rc == 0 ? check_word(reader, expected) : rc;
}

/* Copy the event's text; the caller frees it. */
static int take_text(struct config_reader *reader, const char *expected, char **text)
{
	size_t n;
	const char *value;
	const int rc = check_word(reader, expected);

	if (rc < 0)
		return rc;
	value = yaml_reader_value(&reader->yaml, &n);
	*text = malloc(n + 1);
	if (!*text)
		return yaml_reader_out_of_memory(&reader->yaml);
	memcpy(*text, value, n + 1);
	return 0;
}

int merge_read_text(struct config_reader *reader, const char *expected, char **text)
{
	const int rc = yaml_reader_next(&reader->yaml);

	return rc == 0 ? take_text(reader, expected, text) : rc;
}

/* Models with adapters. */

struct model_reference {
	char **model, **lora;
};

static int read_path_key(struct config_reader *reader, void *into)
{
	return merge_read_text(reader, "a path", into);
}

/* Read a name, or the mapping {path: NAME}. */
static int read_path(struct config_reader *reader, const char *what, char **path)
{
	static const struct config_key keys[] = { { "path", read_path_key } };
	unsigned seen;
	int rc = yaml_reader_next(&reader->yaml);

	if (rc < 0 || reader->yaml.event.type != YAML_MAPPING_START_EVENT)
		return rc < 0 ? rc : take_text(reader, what, path);
	rc = merge_read_mapping(reader, keys, 1, path, &seen);
	return rc == 0 && !*path ? refuse(reader, "\"path\" is missing") : rc;
}

static int read_reference_model(struct config_reader *reader, void *into)
{
	const struct model_reference *reference = into;

	if (*reference->model)
		return yaml_reader_refuse_key(&reader->yaml, "occurs twice");
	return read_path(reader, "a model", reference->model);
}

static int read_path_alone(struct config_reader *reader, void *into)
{
	const struct model_reference *reference = into;

	if (*reference->model)
		return yaml_reader_refuse_key(&reader->yaml, "occurs twice");
	return merge_read_text(reader, "a path", reference->model);
}

static int read_reference_lora(struct config_reader *reader, void *into)
{
	const struct model_reference *reference = into;

	return read_path(reader, "an adapter", reference->lora);
}

/* Split MODEL+ADAPTER, unless it is a URL. A name like "r+.gguf" is a model's name. */
static int split(struct config_reader *reader, const struct model_reference *reference)
{
	char *plus = url_is_remote(*reference->model) || url_is_file(*reference->model)
			     ? NULL
			     : strchr(*reference->model, '+');

	if (!plus || plus == *reference->model || plus[1] == '\0' || plus[1] == '.')
		return 0;
	if (strchr(plus + 1, '+'))
		return refuse(reader, "a model has at most one adapter, MODEL+ADAPTER; a name with "
				      "\"+\" is written {path: NAME}");
	*reference->lora = strdup(plus + 1);
	*plus = '\0';
	return *reference->lora ? 0 : yaml_reader_out_of_memory(&reader->yaml);
}

static int read_reference(struct config_reader *reader, char **model, char **lora)
{
	static const struct config_key keys[] = { { "model", read_reference_model },
						  { "lora", read_reference_lora },
						  { "path", read_path_alone } };
	struct model_reference reference = { model, lora };
	unsigned seen;
	int rc = yaml_reader_next(&reader->yaml);

	if (rc < 0)
		return rc;
	if (reader->yaml.event.type != YAML_MAPPING_START_EVENT) {
		rc = take_text(reader, "a model", model);
		return rc == 0 ? split(reader, &reference) : rc;
	}
	rc = merge_read_mapping(reader, keys, 3, &reference, &seen);
	return rc == 0 && !*model ? refuse(reader, "\"model\" is missing") : rc;
}

/* Models and slices. */

static int read_model(struct config_reader *reader, void *into)
{
	struct merge_source *source = into;

	return read_reference(reader, &source->model, &source->lora);
}

static int read_block(struct config_reader *reader, uint64_t *block)
{
	const int rc = merge_expect_word(reader, "the number of a block");

	if (rc == 0 && !yaml_reader_whole(&reader->yaml, MERGE_CONFIG_BLOCKS, block))
		return refuse(reader, "expected the number of a block");
	return rc;
}

static int read_range(struct config_reader *reader, void *into)
{
	struct merge_source *source = into;
	int rc = yaml_reader_expect(&reader->yaml, YAML_SEQUENCE_START_EVENT, "[FROM, TO]");

	if (rc == 0)
		rc = read_block(reader, &source->from);
	if (rc == 0)
		rc = read_block(reader, &source->to);
	if (rc == 0 && source->to <= source->from)
		return refuse(reader, "a range ends behind its first block");
	return rc == 0 ? yaml_reader_expect(&reader->yaml, YAML_SEQUENCE_END_EVENT, "\"]\"") : rc;
}

static int read_source_parameters(struct config_reader *reader, void *into)
{
	struct merge_source *source = into;

	return merge_read_parameters(reader, &source->parameters);
}

/* layer_range is the last one, because entries of models have none. */
static const struct config_key source_keys[] = { { "model", read_model },
						 { "parameters", read_source_parameters },
						 { "layer_range", read_range } };

/* Read one source, a mapping that begins with the event. */
static int read_source(struct config_reader *reader, bool sliced, size_t *room,
		       struct merge_slice *slice)
{
	const yaml_mark_t start = reader->yaml.event.start_mark;
	struct merge_source *sources, *source;
	unsigned seen;
	int rc;

	if (slice->n == MERGE_CONFIG_SOURCES)
		return refuse(reader, "at most %d models are merged", MERGE_CONFIG_SOURCES);
	sources = array_grown(slice->sources, slice->n, room, sizeof(*sources));
	if (!sources)
		return yaml_reader_out_of_memory(&reader->yaml);
	slice->sources = sources;
	source = &sources[slice->n++];
	*source = (struct merge_source){ 0 };
	merge_set_place(reader, &source->line, &source->column);
	rc = merge_read_mapping(reader, source_keys, sliced ? 3 : 2, source, &seen);
	if (rc == 0 && !source->model)
		return yaml_reader_refuse_at(&reader->yaml, &start, "\"model\" is missing");
	if (rc == 0 && sliced && !source->to)
		return yaml_reader_refuse_at(&reader->yaml, &start, "\"layer_range\" is missing");
	return rc;
}

/* Read the next value, a list of sources. */
static int read_sources_into(struct config_reader *reader, bool sliced, struct merge_slice *slice)
{
	size_t room = 0;
	int rc = yaml_reader_expect(&reader->yaml, YAML_SEQUENCE_START_EVENT, "a list of models");

	while (rc == 0 && (rc = yaml_reader_next(&reader->yaml)) == 0) {
		if (reader->yaml.event.type == YAML_SEQUENCE_END_EVENT)
			break;
		if (reader->yaml.event.type != YAML_MAPPING_START_EVENT)
			return refuse(reader, "expected \"model\"");
		rc = read_source(reader, sliced, &room, slice);
	}
	if (rc == 0 && slice->n == 0)
		return refuse(reader, "expected \"model\"");
	return rc;
}

static int read_base(struct config_reader *reader, struct merge_base_model *base)
{
	const int rc = read_reference(reader, &base->model, &base->lora);

	merge_set_place(reader, &base->line, &base->column);
	return rc;
}

static int read_slice_base(struct config_reader *reader, void *into)
{
	struct merge_slice *slice = into;

	return read_base(reader, &slice->base_model);
}

static int read_sources(struct config_reader *reader, void *into)
{
	return read_sources_into(reader, true, into);
}

static int read_slice_parameters(struct config_reader *reader, void *into)
{
	struct merge_slice *slice = into;

	return merge_read_parameters(reader, &slice->parameters);
}

static const struct config_key slice_keys[] = { { "sources", read_sources },
						{ "parameters", read_slice_parameters },
						{ "base_model", read_slice_base } };

/* Append a slice, with the place of the event. NULL: out of memory. */
static struct merge_slice *add_slice(struct config_reader *reader, size_t *room)
{
	struct merge_config *config = reader->config;
	struct merge_slice *slices = array_grown(config->slices, config->n, room, sizeof(*slices));

	if (!slices)
		return NULL;
	config->slices = slices;
	slices[config->n] = (struct merge_slice){ 0 };
	merge_set_place(reader, &slices[config->n].line, &slices[config->n].column);
	return &slices[config->n++];
}

static int read_slice(struct config_reader *reader, size_t *room)
{
	const yaml_mark_t start = reader->yaml.event.start_mark;
	struct merge_slice *slice;
	unsigned seen;
	int rc;

	if (reader->yaml.event.type != YAML_MAPPING_START_EVENT)
		return refuse(reader, "expected \"sources\"");
	if (reader->config->n == MERGE_CONFIG_SLICES)
		return refuse(reader, "there are at most %d slices", MERGE_CONFIG_SLICES);
	slice = add_slice(reader, room);
	if (!slice)
		return yaml_reader_out_of_memory(&reader->yaml);
	rc = merge_read_mapping(reader, slice_keys, 3, slice, &seen);
	if (rc == 0 && slice->n == 0)
		return yaml_reader_refuse_at(&reader->yaml, &start, "\"sources\" is missing");
	return rc;
}

static int read_slices(struct config_reader *reader, void *into)
{
	size_t room = 0;
	int rc;

	(void)into;
	if (reader->config->n)
		return refuse(reader, "there are either \"models\" or \"slices\"");
	reader->config->sliced = true;
	rc = yaml_reader_expect(&reader->yaml, YAML_SEQUENCE_START_EVENT, "a list of slices");
	while (rc == 0 && (rc = yaml_reader_next(&reader->yaml)) == 0) {
		if (reader->yaml.event.type == YAML_SEQUENCE_END_EVENT)
			break;
		rc = read_slice(reader, &room);
	}
	return rc;
}

static int read_models(struct config_reader *reader, void *into)
{
	struct merge_slice *slice;
	size_t room = 0;

	(void)into;
	if (reader->config->sliced)
		return refuse(reader, "there are either \"models\" or \"slices\"");
	slice = add_slice(reader, &room);
	if (!slice)
		return yaml_reader_out_of_memory(&reader->yaml);
	return read_sources_into(reader, false, slice);
}

/* The other keys. */

static int read_method(struct config_reader *reader, void *into)
{
	enum merge_method *method = &reader->config->method;
	const int rc = merge_expect_word(reader, "a method");

	(void)into;
	for (*method = 0; rc == 0 && *method < MERGE_METHODS; ++*method)
		if (yaml_reader_is(&reader->yaml, merge_method_names[*method]))
			return 0;
	*method = 0;
	return rc < 0 ? rc : yaml_reader_refuse_key(&reader->yaml, "is not a supported method");
}

static int read_base_model(struct config_reader *reader, void *into)
{
	(void)into;
	return read_base(reader, &reader->config->base_model);
}

static int read_parameters(struct config_reader *reader, void *into)
{
	(void)into;
	return merge_read_parameters(reader, &reader->config->parameters);
}

/* A type by its name in mergekit or in ggml. */
static int read_type(struct config_reader *reader, uint32_t *type)
{
	static const struct {
		const char *name;
		uint32_t type;
	} names[] = { { "float32", GGML_F32 }, { "float16", GGML_F16 }, { "bfloat16", GGML_BF16 } };
	const int rc = merge_expect_word(reader, "a type");
	const char *word;
	size_t n;

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (yaml_reader_is(&reader->yaml, names[i].name)) {
			*type = names[i].type;
			return 0;
		}
	word = yaml_reader_value(&reader->yaml, &n);
	if (type_by_name(word, n, type) && quant_supported(*type) && !quant_needs_importance(*type))
		return 0;
	return refuse(reader, "expected float32, float16, bfloat16 or a type that organfs "
			      "encodes without an importance matrix, such as q4_k");
}

static int read_dtype(struct config_reader *reader, void *into)
{
	(void)into;
	return read_type(reader, &reader->config->dtype);
}

static int read_out_dtype(struct config_reader *reader, void *into)
{
	(void)into;
	return read_type(reader, &reader->out_dtype);
}

static int read_tokenizer(struct config_reader *reader, void *into)
{
	const int rc = merge_expect_word(reader, "\"base\"");

	(void)into;
	reader->config->tokenizer_of_base = true;
	if (rc == 0 && !yaml_reader_is(&reader->yaml, "base"))
		return yaml_reader_refuse_key(&reader->yaml,
					      "is not supported, the tokenizer of \"base\" is");
	return rc;
}

/* mergekit (merge.py, _set_chat_template()) accepts "auto", the name of a template that mergekit
 * ships, or a text with a "{". */
static int read_template(struct config_reader *reader, void *into)
{
	struct merge_config *config = reader->config;
	int rc = yaml_reader_expect(&reader->yaml, YAML_SCALAR_EVENT, "a chat template");
	const char *text;
	size_t n;

	(void)into;
	if (rc < 0)
		return rc;
	text = yaml_reader_value(&reader->yaml, &n);
	if (memchr(text, '\0', n) || (strcmp(text, MERGE_TEMPLATE_AUTO) != 0 && !strchr(text, '{')))
		return refuse(reader, "expected \"" MERGE_TEMPLATE_AUTO "\" or a template in "
				      "Jinja, with a \"{\"; the templates that mergekit has by "
				      "name are not here: write the template itself");
	config->chat_template = strdup(text);
	return config->chat_template ? 0 : yaml_reader_out_of_memory(&reader->yaml);
}

static int read_name(struct config_reader *reader, void *into)
{
	(void)into;
	return merge_read_text(reader, "a name", &reader->config->name);
}

enum { KEY_METHOD, KEY_MODELS, KEY_SLICES };

static const struct config_key config_keys[] = {
	[KEY_METHOD] = { "merge_method", read_method },
	[KEY_MODELS] = { "models", read_models },
	[KEY_SLICES] = { "slices", read_slices },
	{ "base_model", read_base_model },
	{ "parameters", read_parameters },
	{ "dtype", read_dtype },
	{ "out_dtype", read_out_dtype },
	{ "tokenizer_source", read_tokenizer },
	{ "random_seed", merge_read_seed },
	{ "chat_template", read_template },
	{ "name", read_name },
};

/* Read the document that has begun. */
static int read_document(struct config_reader *reader)
{
	struct yaml_reader *yaml = &reader->yaml;
	unsigned seen = 0;
	yaml_mark_t start;
	int rc = yaml_reader_expect(yaml, YAML_MAPPING_START_EVENT, "\"merge_method\"");

	reader->seeded = false;
	reader->out_dtype = MERGE_TYPE_AS_IS;
	*reader->config =
		(struct merge_config){ .seed = MERGE_CONFIG_SEED, .dtype = MERGE_TYPE_AS_IS };
	start = yaml->event.start_mark;
	merge_set_place(reader, &reader->config->line, &reader->config->column);
	if (rc == 0)
		rc = merge_read_mapping(reader, config_keys,
					sizeof(config_keys) / sizeof(config_keys[0]), NULL, &seen);
	if (rc == 0 && !(seen & 1u << KEY_METHOD))
		return yaml_reader_refuse_at(yaml, &start, "\"merge_method\" is missing");
	if (rc == 0 && reader->config->n == 0)
		return yaml_reader_refuse_at(yaml, &start, "\"models\" or \"slices\" is missing");
	if (reader->out_dtype != MERGE_TYPE_AS_IS)
		reader->config->dtype = reader->out_dtype;
	return rc == 0 ? yaml_reader_expect(yaml, YAML_DOCUMENT_END_EVENT, "the end") : rc;
}

/* Read all documents into result->documents. */
static int read_documents(struct config_reader *reader, struct merge_config *result)
{
	size_t room = 0;
	int rc = yaml_reader_expect(&reader->yaml, YAML_STREAM_START_EVENT, "text");

	if (rc == 0)
		rc = yaml_reader_expect(&reader->yaml, YAML_DOCUMENT_START_EVENT,
					"a configuration");
	while (rc == 0 && reader->yaml.event.type != YAML_STREAM_END_EVENT) {
		struct merge_config *more =
			array_grown(result->documents, result->n_documents, &room, sizeof(*more));

		if (!more)
			return yaml_reader_out_of_memory(&reader->yaml);
		result->documents = more;
		if (result->n_documents == MERGE_CONFIG_DOCUMENTS)
			return refuse(reader, "there are at most %d documents",
				      MERGE_CONFIG_DOCUMENTS);
		reader->config = &more[result->n_documents++];
		rc = read_document(reader);
		if (rc == 0)
			rc = yaml_reader_next(&reader->yaml);
	}
	return rc;
}

/* The document without a name, or the last one, becomes what the others are documents of. */
static void choose_result(struct merge_config *config)
{
	size_t chosen = config->n_documents - 1;
	struct merge_config result;

	for (size_t i = config->n_documents; i-- > 0;)
		if (!config->documents[i].name)
			chosen = i;
	result = config->documents[chosen];
	result.documents = config->documents;
	result.n_documents = config->n_documents - 1;
	memmove(&result.documents[chosen], &result.documents[chosen + 1],
		(result.n_documents - chosen) * sizeof(result));
	*config = result;
}

int merge_config_read(const char *text, size_t n, struct merge_config *config, struct error *err)
{
	struct config_reader reader = { .config = NULL };
	int rc;

	*config = (struct merge_config){ .seed = MERGE_CONFIG_SEED };
	if (n > MERGE_CONFIG_MAX)
		return error_set(err, EFBIG, ERROR_NO_OFFSET,
				 "a configuration has at most %zu bytes", MERGE_CONFIG_MAX);
	rc = yaml_reader_open(&reader.yaml, text, n, "a configuration", err);
	if (rc < 0)
		return rc;
	rc = read_documents(&reader, config);
	yaml_reader_close(&reader.yaml);
	if (rc < 0)
		return rc;
	choose_result(config);
	return merge_config_check(config, err);
}
