/* SPDX-License-Identifier: MIT */
/* recipe_read.c - see recipe.h: parses YAML of unknown origin (fs/util/yaml_reader.h) into a
 * recipe. */
#include "fs/recipe/recipe_fields.h"
#include "fs/util/text_escape.h"
#include "fs/util/yaml_reader.h"
#include "gguf/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct reader {
	struct yaml_reader yaml;
	struct recipe *recipe;
};

#define refuse(reader, ...) yaml_reader_refuse(&(reader)->yaml, __VA_ARGS__)

static int read_text(struct reader *reader, bool decode, struct recipe_text *text)
{
	size_t n;
	const char *value = yaml_reader_value(&reader->yaml, &n);

	if (decode && memchr(value, '\0', n))
		return refuse(reader, "the value must not hold a NUL");
	if (recipe_text_set(text, value, n) < 0)
		return yaml_reader_out_of_memory(&reader->yaml);
	if (decode)
		text->length = text_unescape(text->bytes);
	else if (!recipe_is_utf8(text))
		return refuse(reader, "a text with a NUL must be percent-encoded, as \"encoded\"");
	return 0;
}

static int read_hash(struct reader *reader, char hash[FINGERPRINT_TEXT])
{
	size_t n;
	const char *value = yaml_reader_value(&reader->yaml, &n);

	if (n != FINGERPRINT_TEXT - 1 || strspn(value, "0123456789abcdef") != n)
		return refuse(reader, "expected 32 hexadecimal digits in lower case");
	memcpy(hash, value, n + 1);
	return 0;
}

static int read_donor(struct reader *reader, uint32_t *donor)
{
	uint64_t number;

	if (yaml_reader_is(&reader->yaml, "base")) {
		*donor = RECIPE_BASE;
		return 0;
	}
	if (!yaml_reader_whole(&reader->yaml, reader->recipe->n_donors, &number) || number == 0)
		return refuse(reader,
			      "expected \"base\" or the number of a donor above, "
			      "of which there are %zu",
			      reader->recipe->n_donors);
	*donor = (uint32_t)number;
	return 0;
}

static int read_how(struct reader *reader, enum recipe_how *how)
{
	for (*how = 0; *how < RECIPE_HOWS; ++*how)
		if (yaml_reader_is(&reader->yaml, recipe_hows[*how]))
			return 0;
	return refuse(reader, "expected copy, reference, link or removed");
}

static int read_value(struct reader *reader, const struct recipe_field *field, void *value)
{
	int rc = yaml_reader_expect(&reader->yaml, YAML_SCALAR_EVENT, "a value");

	if (rc < 0)
		return rc;
	switch (field->kind) {
	case FIELD_ENCODED:
	case FIELD_UNTEXT:
		return read_text(reader, true, value);
	case FIELD_TEXT:
		return read_text(reader, false, value);
	case FIELD_NUMBER:
		return yaml_reader_whole(&reader->yaml, INT64_MAX, value)
			       ? 0
			       : refuse(reader, "expected a number up to %" PRId64, INT64_MAX);
	case FIELD_HASH:
		return read_hash(reader, value);
	case FIELD_DONOR:
		return read_donor(reader, value);
	case FIELD_HOW:
		return read_how(reader, value);
	case FIELD_YES:
		*(bool *)value = true;
		return yaml_reader_is(&reader->yaml, "yes") ? 0
							    : refuse(reader, "expected \"yes\"");
	}
	return 0;
}

/* Find the field whose key is the current event. NULL: none. */
static const struct recipe_field *find_field(const struct reader *reader,
					     const struct recipe_section_fields *section)
{
	for (size_t i = 0; i < section->n; i++)
		if (yaml_reader_is(&reader->yaml, section->fields[i].name))
			return &section->fields[i];
	return NULL;
}

/* Bit of a field; "value" and "encoded" are two keys of one place and share a bit. */
static unsigned place_of(const struct recipe_section_fields *section,
			 const struct recipe_field *field)
{
	unsigned bit = 1;

	for (const struct recipe_field *other = section->fields; other->offset != field->offset;
	     other++)
		bit <<= 1;
	return bit;
}

/* Read the mapping that begins with the current event. */
static int read_item(struct reader *reader, const struct recipe_section_fields *section, void *item)
{
	const yaml_mark_t start = reader->yaml.event.start_mark;
	unsigned seen = 0;
	int rc = yaml_reader_next(&reader->yaml);

	for (; rc == 0 && reader->yaml.event.type != YAML_MAPPING_END_EVENT;
	     rc = yaml_reader_next(&reader->yaml)) {
		const struct recipe_field *field = reader->yaml.event.type == YAML_SCALAR_EVENT
							   ? find_field(reader, section)
							   : NULL;
		unsigned bit;

		if (reader->yaml.event.type != YAML_SCALAR_EVENT)
			return refuse(reader, "expected a key");
		if (!field)
			return yaml_reader_refuse_key(&reader->yaml, "is not a known key");
		bit = place_of(section, field);
		if (seen & bit)
			return yaml_reader_refuse_key(&reader->yaml, "occurs twice");
		seen |= bit;
		rc = read_value(reader, field, (char *)item + field->offset);
		if (rc < 0)
			return rc;
	}
	for (size_t i = 0; rc == 0 && i < section->n; i++)
		if (section->fields[i].required && !(seen & 1u << i))
			return yaml_reader_refuse_at(&reader->yaml, &start, "\"%s\" is missing",
						     section->fields[i].name);
	return rc;
}

/* Check that a graft has the fields its kind requires. NULL: it has. */
static const char *check_graft(const struct recipe_graft *graft)
{
	if (graft->how == RECIPE_COPY && !graft->organ[0])
		return "a copy needs \"organ\", the hash of its file";
	if (graft->how == RECIPE_REFERENCE &&
	    (graft->donor == RECIPE_NO_DONOR || !graft->from.bytes))
		return "a reference needs \"donor\" and \"from\"";
	return NULL;
}

static const char *check_item(enum recipe_section section, const void *item)
{
	const struct recipe_key *key = item;

	const struct recipe_merge *merge = item;

	if (section == SECTION_GRAFTS)
		return check_graft(item);
	if (section == SECTION_MERGE && !merge->config.bytes)
		return "a merge needs \"config\" or \"encoded\", its configuration";
	if (section == SECTION_METADATA && key->removed == (key->value.bytes != NULL))
		return "a key needs either \"removed\" or \"value\" or \"encoded\"";
	return NULL;
}

static int read_checked(struct reader *reader, enum recipe_section section)
{
	const yaml_mark_t start = reader->yaml.event.start_mark;
	void *item = recipe_add(reader->recipe, section);
	const char *why;
	int rc;

	if (!item)
		return yaml_reader_out_of_memory(&reader->yaml);
	rc = read_item(reader, &recipe_sections[section], item);
	why = rc == 0 ? check_item(section, item) : NULL;
	return why ? yaml_reader_refuse_at(&reader->yaml, &start, "%s", why) : rc;
}

static int compare_texts(const void *a, const void *b)
{
	const struct recipe_text *x = *(const struct recipe_text *const *)a;
	const struct recipe_text *y = *(const struct recipe_text *const *)b;
	const size_t n = x->length < y->length ? x->length : y->length;
	const int order = n ? memcmp(x->bytes, y->bytes, n) : 0;

	return order ? order : (x->length > y->length) - (x->length < y->length);
}

/* Check that no slot, key or adapter's file is named twice. An item begins with its name. */
static int check_names(struct reader *reader, enum recipe_section section)
{
	const struct recipe_text **names;
	char shown[3 * 60 + 1];
	size_t n = 0, i = 1;
	int rc = 0;

	if (section < SECTION_MODELS)
		return 0;
	while (recipe_item(reader->recipe, section, n))
		n++;
	names = calloc(n + 1, sizeof(*names));
	if (!names)
		return yaml_reader_out_of_memory(&reader->yaml);
	for (size_t k = 0; k < n; k++)
		names[k] = recipe_item(reader->recipe, section, k);
	qsort(names, n, sizeof(*names), compare_texts);
	while (i < n && compare_texts(&names[i - 1], &names[i]) != 0)
		i++;
	if (i < n) {
		const size_t length = names[i]->length < 60 ? names[i]->length : 60;

		text_escape(names[i]->bytes, length, "%\x80", shown);
		rc = refuse(reader, "\"%s\" occurs twice above", shown);
	}
	free(names);
	return rc;
}

static int read_section(struct reader *reader, enum recipe_section section)
{
	int rc;

	if (!recipe_sections[section].list) {
		rc = yaml_reader_expect(&reader->yaml, YAML_MAPPING_START_EVENT, "a mapping");
		return rc < 0 ? rc : read_checked(reader, section);
	}
	rc = yaml_reader_expect(&reader->yaml, YAML_SEQUENCE_START_EVENT, "a list");
	while (rc == 0 && (rc = yaml_reader_next(&reader->yaml)) == 0) {
		if (reader->yaml.event.type == YAML_SEQUENCE_END_EVENT)
			return check_names(reader, section);
		rc = reader->yaml.event.type == YAML_MAPPING_START_EVENT
			     ? read_checked(reader, section)
			     : refuse(reader, "expected a mapping");
	}
	return rc;
}

/* Read the sections in their fixed order, in which donors precede the items that name them. */
static int read_sections(struct reader *reader)
{
	enum recipe_section least = 0;
	int rc;

	while ((rc = yaml_reader_next(&reader->yaml)) == 0 &&
	       reader->yaml.event.type == YAML_SCALAR_EVENT) {
		enum recipe_section section = 0;

		while (section < RECIPE_SECTIONS &&
		       !yaml_reader_is(&reader->yaml, recipe_sections[section].name))
			section++;
		if (section == RECIPE_SECTIONS)
			return yaml_reader_refuse_key(&reader->yaml, "is not a known key");
		if (section < least)
			return yaml_reader_refuse_key(&reader->yaml, "occurs twice, or too late");
		if (least == 0 && section != SECTION_BASE)
			return refuse(reader, "expected \"base\"");
		least = section + 1;
		rc = read_section(reader, section);
		if (rc < 0)
			return rc;
	}
	if (rc == 0 && reader->yaml.event.type != YAML_MAPPING_END_EVENT)
		return refuse(reader, "expected a key");
	if (rc == 0 && reader->recipe->n_models && !reader->recipe->merge.config.bytes)
		return refuse(reader, "\"models\" needs a \"merge\", which is missing");
	return rc == 0 && least == 0 ? refuse(reader, "expected \"base\"") : rc;
}

static int read_document(struct reader *reader)
{
	int rc = yaml_reader_expect(&reader->yaml, YAML_STREAM_START_EVENT, "text");

	if (rc == 0)
		rc = yaml_reader_expect(&reader->yaml, YAML_DOCUMENT_START_EVENT, "a recipe");
	if (rc == 0)
		rc = yaml_reader_expect(&reader->yaml, YAML_MAPPING_START_EVENT,
					"\"" RECIPE_WORD "\"");
	if (rc == 0)
		rc = yaml_reader_expect(&reader->yaml, YAML_SCALAR_EVENT, "\"" RECIPE_WORD "\"");
	if (rc == 0 && !yaml_reader_is(&reader->yaml, RECIPE_WORD))
		return refuse(reader, "expected \"" RECIPE_WORD "\"");
	if (rc == 0)
		rc = yaml_reader_expect(&reader->yaml, YAML_SCALAR_EVENT, "\"" RECIPE_VERSION "\"");
	if (rc == 0 && !yaml_reader_is(&reader->yaml, RECIPE_VERSION))
		return refuse(reader, "this organfs reads only \"" RECIPE_VERSION
				      "\": use a newer organfs");
	if (rc == 0)
		rc = read_sections(reader);
	if (rc == 0)
		rc = yaml_reader_expect(&reader->yaml, YAML_DOCUMENT_END_EVENT, "the end");
	return rc == 0 ? yaml_reader_expect(&reader->yaml, YAML_STREAM_END_EVENT, "the end") : rc;
}

int recipe_read(const char *text, size_t n, struct recipe *recipe, struct error *err)
{
	struct reader reader = { .recipe = recipe };
	int rc;

	*recipe = (struct recipe){ 0 };
	if (n > RECIPE_MAX)
		return error_set(err, EFBIG, ERROR_NO_OFFSET, "a recipe has at most %zu bytes",
				 RECIPE_MAX);
	rc = yaml_reader_open(&reader.yaml, text, n, "a recipe", err);
	if (rc < 0)
		return rc;
	rc = read_document(&reader);
	yaml_reader_close(&reader.yaml);
	return rc;
}
