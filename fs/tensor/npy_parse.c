/* SPDX-License-Identifier: MIT */
/* npy_parse.c - see npy_parse.h. */
#include "fs/tensor/npy_parse.h"
#include "gguf/cursor.h"
#include "gguf/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* room for four axes of 20 digits and all known keys */
#define HEADER_MAX 1024u
#define START	   8u /* offset of the length */

static const struct {
	const char *descr, *word;
	uint32_t type;
} types[] = {
	{ "<f8", "float64", GGML_F64 }, { "<f4", "float32", GGML_F32 },
	{ "<f2", "float16", GGML_F16 }, { "<u2", "uint16", GGML_BF16 },
	{ "|i1", "int8", GGML_I8 },	{ "<i2", "int16", GGML_I16 },
	{ "<i4", "int32", GGML_I32 },	{ "<i8", "int64", GGML_I64 },
};
#define TYPES (sizeof(types) / sizeof(types[0]))

const char *npy_type_word(uint32_t type)
{
	for (size_t i = 0; i < TYPES; i++)
		if (types[i].type == type)
			return types[i].word;
	return NULL;
}

const char *npy_shape_text(const uint64_t ne[GGML_AXES], uint32_t dims, char text[NPY_SHAPE_TEXT])
{
	size_t n = (size_t)sprintf(text, "(");

	for (uint32_t axis = dims; axis-- > 0;)
		n += (size_t)sprintf(text + n, "%" PRIu64 "%s", ne[axis],
				     axis ? ", " : (dims == 1 ? "," : ""));
	sprintf(text + n, ")");
	return text;
}

/* The text of a header, which ends with a NUL. */
struct words {
	const char *start, *at;
	uint64_t offset; /* file offset of start */
	struct error *err;
};

static int wrong(const struct words *words, const char *what)
{
	return error_set(words->err, EINVAL, words->offset + (uint64_t)(words->at - words->start),
			 "%s", what);
}

static void skip_blanks(struct words *words)
{
	while (*words->at == ' ' || *words->at == '\n' || *words->at == '\t')
		words->at++;
}

static bool take(struct words *words, const char *word)
{
	const size_t n = strlen(word);

	skip_blanks(words);
	if (strncmp(words->at, word, n) != 0)
		return false;
	words->at += n;
	return true;
}

/* Parse a string without escapes, of at most n - 1 bytes. */
static bool take_string(struct words *words, char *text, size_t n)
{
	const char *end;
	size_t length;

	skip_blanks(words);
	if (*words->at != '\'' && *words->at != '"')
		return false;
	end = strchr(words->at + 1, *words->at);
	if (!end)
		return false;
	length = (size_t)(end - words->at) - 1;
	if (length >= n || memchr(words->at, '\\', length + 1))
		return false;
	memcpy(text, words->at + 1, length);
	text[length] = '\0';
	words->at = end + 1;
	return true;
}

static int take_type(struct words *words, struct npy_array *array)
{
	char descr[16];

	if (!take_string(words, descr, sizeof(descr)))
		return wrong(words, "its dtype is not a simple type");
	for (size_t i = 0; i < TYPES; i++) {
		if (strcmp(types[i].descr, descr) == 0) {
			array->type = types[i].type;
			return 0;
		}
	}
	return error_set(words->err, EINVAL, ERROR_NO_OFFSET,
			 "its dtype is %s, and float32, float16, float64, or uint16 for bfloat16 "
			 "are taken, in little-endian order",
			 descr);
}

static int take_order(struct words *words, struct npy_array *array)
{
	array->fortran = take(words, "True");
	return array->fortran || take(words, "False")
		       ? 0
		       : wrong(words, "fortran_order is neither True nor False");
}

static bool take_number(struct words *words, uint64_t *number)
{
	skip_blanks(words);
	if (*words->at < '0' || *words->at > '9')
		return false;
	for (*number = 0; *words->at >= '0' && *words->at <= '9'; words->at++)
		if (__builtin_mul_overflow(*number, 10u, number) ||
		    __builtin_add_overflow(*number, (uint64_t)(*words->at - '0'), number))
			return false;
	return true;
}

static int take_shape(struct words *words, struct npy_array *array)
{
	uint64_t axes[GGML_AXES];

	if (!take(words, "("))
		return wrong(words, "its shape is not a tuple");
	for (array->dims = 0; !take(words, ")"); array->dims++) {
		if (array->dims == GGML_AXES)
			return wrong(words, "it has more than four axes");
		if (!take_number(words, &axes[array->dims]))
			return wrong(words, "the length of an axis is not a number");
		skip_blanks(words);
		if (!take(words, ",") && *words->at != ')')
			return wrong(words, "its shape is not a tuple of numbers");
	}
	for (uint32_t i = 0; i < GGML_AXES; i++)
		array->ne[i] = i < array->dims ? axes[array->dims - 1 - i] : 1;
	return 0;
}

/* Parse one key and its value. *seen has a bit for each key. */
static int take_entry(struct words *words, struct npy_array *array, unsigned *seen)
{
	static const struct {
		const char *key;
		int (*take)(struct words *words, struct npy_array *array);
	} entries[] = { { "descr", take_type },
			{ "fortran_order", take_order },
			{ "shape", take_shape } };
	char key[16];

	if (!take_string(words, key, sizeof(key)) || !take(words, ":"))
		return wrong(words, "its header is not a NumPy dict");
	for (unsigned i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		if (strcmp(entries[i].key, key) == 0 && !(*seen & 1u << i)) {
			*seen |= 1u << i;
			return entries[i].take(words, array);
		}
	}
	return wrong(words, "its header has a key other than descr, fortran_order and shape");
}

static int parse_words(struct words *words, struct npy_array *array)
{
	unsigned seen = 0;
	int rc = take(words, "{") ? 0 : wrong(words, "its header is not a NumPy dict");

	while (rc == 0 && !take(words, "}")) {
		rc = take_entry(words, array, &seen);
		skip_blanks(words);
		if (rc == 0 && !take(words, ",") && *words->at != '}')
			rc = wrong(words, "its header is not a NumPy dict");
	}
	skip_blanks(words);
	if (rc == 0 && *words->at)
		rc = wrong(words, "its header has text after the dict");
	if (rc == 0 && seen != 7)
		rc = wrong(words, "its header lacks descr, fortran_order or shape");
	return rc;
}

/* Find the header's text and its length. */
static int find_header(const struct source *source, uint64_t *offset, size_t *n, struct error *err)
{
	uint8_t bytes[START + 4];
	uint64_t length;
	int rc;

	if (source->size < sizeof(bytes))
		return error_set(err, EINVAL, ERROR_NO_OFFSET, "not a NumPy file");
	rc = source->read_at(source->context, bytes, sizeof(bytes), 0);
	if (rc < 0)
		return rc;
	if (memcmp(bytes, "\x93NUMPY", 6) != 0)
		return error_set(err, EINVAL, 0, "not a NumPy file");
	if (bytes[6] < 1 || bytes[6] > 3)
		return error_set(err, EINVAL, 6, "version %u of NumPy's format is not known",
				 bytes[6]);
	length = bytes[START] | (uint64_t)bytes[START + 1] << 8;
	if (bytes[6] > 1)
		length |= (uint64_t)bytes[START + 2] << 16 | (uint64_t)bytes[START + 3] << 24;
	*offset = START + (bytes[6] > 1 ? 4 : 2);
	if (length > HEADER_MAX || length > source->size - *offset)
		return error_set(err, EINVAL, START, "its header has %" PRIu64 " bytes", length);
	*n = (size_t)length;
	return 0;
}

/* Check that the file has exactly the values of the header, or none. */
static int check_size(const struct source *source, struct npy_array *array, struct error *err)
{
	char text[NPY_SHAPE_TEXT];
	uint64_t size;

	if (!shape_elements(array->ne, &array->elements) ||
	    type_size(array->type, array->ne, &size) != TYPE_SIZE_OK)
		return error_set(err, EINVAL, ERROR_NO_OFFSET, "its shape %s is too large",
				 npy_shape_text(array->ne, array->dims, text));
	array->has_values = size == 0 || source->size > array->offset;
	if (array->has_values && source->size - array->offset != size)
		return error_set(err, EINVAL, ERROR_NO_OFFSET,
				 "it has %" PRIu64 " bytes of values, and its shape %s takes "
				 "%" PRIu64,
				 source->size - array->offset,
				 npy_shape_text(array->ne, array->dims, text), size);
	return 0;
}

int npy_parse(const struct source *source, struct npy_array *array, struct error *err)
{
	char text[HEADER_MAX + 1];
	struct words words = { text, text, 0, err };
	size_t n = 0;
	int rc = find_header(source, &words.offset, &n, err);

	*array = (struct npy_array){ 0 };
	if (rc == 0)
		rc = source->read_at(source->context, text, n, words.offset);
	if (rc < 0)
		return rc;
	text[n] = '\0';
	array->offset = words.offset + n;
	if (strlen(text) != n)
		return error_set(err, EINVAL, words.offset, "its header contains a NUL");
	rc = parse_words(&words, array);
	return rc < 0 ? rc : check_size(source, array, err);
}
