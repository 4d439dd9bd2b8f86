/* SPDX-License-Identifier: MIT */
/* reader.c - see reader.h. The file, in order:
 *
 *	magic "GGUF" | version u32 | n_tensors | n_kv        counts u64, in version 1 u32
 *	n_kv times:      key string | type u32 | value
 *	n_tensors times: name string | n_dims u32 | ne x n_dims | type u32 | offset u64
 *	padding to a multiple of general.alignment, if there are tensors | tensor data
 *
 *	string = length | bytes;  array = element type u32 | length | elements
 *
 * Lengths and ne are u64, in version 1 u32. Each length is compared with the bytes left before
 * anything is read or allocated for it. The tensor table is reader_tensors.c. */
#include "arena.h"
#include "bytes.h"
#include "error.h"
#include "names.h"
#include "reader.h"
#include "reader_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* The specification's limit for a key; names get the same. */
#define TEXT_MAX 65535

static const struct {
	const char *name;
	uint32_t size;
} kv_types[KV_TYPES] = {
	[KV_U8] = { "u8", 1 },	     [KV_I8] = { "i8", 1 },	[KV_U16] = { "u16", 2 },
	[KV_I16] = { "i16", 2 },     [KV_U32] = { "u32", 4 },	[KV_I32] = { "i32", 4 },
	[KV_F32] = { "f32", 4 },     [KV_BOOL] = { "bool", 1 }, [KV_STRING] = { "string", 0 },
	[KV_ARRAY] = { "array", 0 }, [KV_U64] = { "u64", 8 },	[KV_I64] = { "i64", 8 },
	[KV_F64] = { "f64", 8 },
};

uint32_t kv_type_size(enum kv_type type)
{
	return kv_types[type].size;
}

const char *kv_type_name(enum kv_type type)
{
	return kv_types[type].name;
}

int parse_length(struct parse *p, uint64_t *length)
{
	uint32_t narrow;
	int rc;

	if (p->gguf->version > 1)
		return cursor_u64(&p->in, length);
	rc = cursor_u32(&p->in, &narrow);
	if (rc == 0)
		*length = narrow;
	return rc;
}

int parse_failed(struct parse *p, int rc, const char *what, uint64_t number)
{
	if (rc == -EBADMSG)
		return error_set(p->err, EBADMSG, p->in.at, "the file ends inside %s %" PRIu64,
				 what, number);
	return error_set(p->err, -rc, p->in.at, "the file cannot be read: %s", strerror(-rc));
}

int parse_text(struct parse *p, const char *what, uint64_t number, const char **text,
	       uint32_t *length)
{
	const uint64_t start = p->in.at;
	const uint8_t *bytes;
	uint64_t n;
	int rc = parse_length(p, &n);

	if (rc < 0)
		return parse_failed(p, rc, what, number);
	if (n > cursor_left(&p->in))
		return error_set(p->err, EBADMSG, start,
				 "%s %" PRIu64 " has a name of %" PRIu64
				 " bytes, but the file ends %" PRIu64 " bytes further on",
				 what, number, n, cursor_left(&p->in));
	if (n > TEXT_MAX)
		return error_set(p->err, EBADMSG, start,
				 "%s %" PRIu64 " has a name of %" PRIu64
				 " bytes; the longest allowed is %d",
				 what, number, n, TEXT_MAX);
	rc = cursor_take(&p->in, (size_t)n, &bytes);
	if (rc < 0)
		return parse_failed(p, rc, what, number);
	*text = arena_copy(p->gguf->arena, bytes, (size_t)n);
	*length = (uint32_t)n;
	return *text ? 0 : error_errno(p->err, ENOMEM);
}

static int parse_scalar(struct parse *p, struct kv *kv, uint64_t number)
{
	const uint8_t *bytes;
	const uint32_t size = kv_types[kv->type].size;
	const int rc = cursor_take(&p->in, size, &bytes);
	uint8_t wide[8] = { 0 };

	if (rc < 0)
		return parse_failed(p, rc, "metadata entry", number);
	kv->offset = p->in.at - size;
	kv->length = size;
	memcpy(wide, bytes, size);
	kv->scalar = load_u64(wide);
	return 0;
}

static int parse_string(struct parse *p, struct kv *kv, uint64_t number)
{
	const uint64_t start = p->in.at;
	const int rc = parse_length(p, &kv->length);

	if (rc < 0)
		return parse_failed(p, rc, "metadata entry", number);
	kv->offset = p->in.at;
	if (cursor_skip(&p->in, kv->length) < 0)
		return error_set(p->err, EBADMSG, start,
				 "the text of metadata entry %" PRIu64 " is %" PRIu64
				 " bytes long, but the file ends %" PRIu64 " bytes further on",
				 number, kv->length, cursor_left(&p->in));
	return 0;
}

static int skip_strings(struct parse *p, uint64_t count, uint64_t number)
{
	for (uint64_t i = 0; i < count; i++) {
		const uint64_t start = p->in.at;
		uint64_t n;
		const int rc = parse_length(p, &n);

		if (rc < 0)
			return parse_failed(p, rc, "metadata entry", number);
		if (cursor_skip(&p->in, n) < 0)
			return error_set(p->err, EBADMSG, start,
					 "text %" PRIu64 " in the array of metadata entry %" PRIu64
					 " runs past the end of the file",
					 i, number);
	}
	return 0;
}

static int parse_array(struct parse *p, struct kv *kv, uint64_t number)
{
	const uint64_t start = p->in.at;
	uint64_t least;
	uint32_t element;
	int rc = cursor_u32(&p->in, &element);

	if (rc == 0)
		rc = parse_length(p, &kv->count);
	if (rc < 0)
		return parse_failed(p, rc, "metadata entry", number);
	if (element >= KV_TYPES)
		return error_set(p->err, EBADMSG, start,
				 "metadata entry %" PRIu64
				 " is an array of the unknown type %" PRIu32,
				 number, element);
	if (element == KV_ARRAY)
		return error_set(p->err, ENOTSUP, start,
				 "metadata entry %" PRIu64
				 " is an array of arrays, which no model loader reads",
				 number);
	kv->element = element;
	kv->offset = p->in.at;
	least = kv_types[element].size ? kv_types[element].size : p->gguf->version > 1 ? 8 : 4;
	if (kv->count > cursor_left(&p->in) / least)
		return error_set(p->err, EBADMSG, start,
				 "metadata entry %" PRIu64 " claims %" PRIu64
				 " array elements, but the file ends %" PRIu64 " bytes further on",
				 number, kv->count, cursor_left(&p->in));
	rc = element == KV_STRING ? skip_strings(p, kv->count, number)
				  : cursor_skip(&p->in, kv->count * least);
	kv->length = p->in.at - kv->offset;
	return rc;
}

static int parse_kv(struct parse *p, uint32_t number)
{
	struct kv *kv = &p->gguf->kv[number];
	const uint64_t start = p->in.at;
	uint32_t type;
	int rc = parse_text(p, "metadata entry", number, &kv->key, &kv->key_length);

	if (rc < 0)
		return rc;
	if (kv->key_length == 0)
		return error_set(p->err, EBADMSG, start, "metadata entry %" PRIu32 " has no key",
				 number);
	rc = cursor_u32(&p->in, &type);
	if (rc < 0)
		return parse_failed(p, rc, "metadata entry", number);
	if (type >= KV_TYPES)
		return error_set(p->err, EBADMSG, p->in.at - 4,
				 "metadata entry %" PRIu32 " has the unknown type %" PRIu32, number,
				 type);
	kv->type = type;
	rc = names_add(p->gguf->keys, kv->key, kv->key_length, number);
	if (rc == -EEXIST)
		return error_set(p->err, EBADMSG, start, "the metadata key \"%.80s\" occurs twice",
				 kv->key);
	if (rc < 0)
		return error_set(p->err, -rc, ERROR_NO_OFFSET, "out of memory");
	if (type == KV_STRING)
		return parse_string(p, kv, number);
	if (type == KV_ARRAY)
		return parse_array(p, kv, number);
	return parse_scalar(p, kv, number);
}

/* Compare the counts with the bytes left, for the least entry (no name) and info (no axes). */
static int check_counts(struct parse *p, uint64_t n_tensors, uint64_t n_kv)
{
	const uint64_t string = p->gguf->version > 1 ? 8 : 4;
	const uint64_t left = cursor_left(&p->in);

	if (n_kv > left / (string + 5) || n_kv >= UINT32_MAX)
		return error_set(p->err, EBADMSG, p->in.at - string,
				 "the file claims %" PRIu64 " metadata entries, but only %" PRIu64
				 " bytes follow",
				 n_kv, left);
	if (n_tensors > left / (string + 16) || n_tensors >= UINT32_MAX)
		return error_set(p->err, EBADMSG, 8,
				 "the file claims %" PRIu64 " tensors, but only %" PRIu64
				 " bytes follow",
				 n_tensors, left);
	p->gguf->n_kv = (uint32_t)n_kv;
	p->gguf->n_tensors = (uint32_t)n_tensors;
	return 0;
}

/* A safetensors file begins with the length of a JSON object (u64) and the object. */
static bool is_safetensors(struct parse *p)
{
	const uint8_t *brace;
	uint64_t length;

	p->in.at = 0;
	return cursor_u64(&p->in, &length) == 0 && length <= cursor_left(&p->in) &&
	       cursor_take(&p->in, 1, &brace) == 0 && *brace == '{';
}

static int refuse_magic(struct parse *p, const uint8_t *magic)
{
	static const char lfs[] = "version https://git-lfs";
	const uint8_t *start;

	if (memcmp(magic, "FUGG", 4) == 0)
		return error_set(p->err, ENOTSUP, 0,
				 "the magic is FUGG: this file was written in the wrong byte order "
				 "before the format was released; convert the model again");
	p->in.at = 0;
	if (cursor_take(&p->in, sizeof(lfs) - 1, &start) == 0 &&
	    memcmp(start, lfs, sizeof(lfs) - 1) == 0)
		return error_set(p->err, EBADMSG, 0,
				 "this is a Git LFS pointer, not the model itself: "
				 "fetch it with `git lfs pull`");
	if (is_safetensors(p))
		return error_set(p->err, EBADMSG, 0,
				 "this is a safetensors file, not a GGUF: convert the model with "
				 "convert_hf_to_gguf.py of llama.cpp");
	return error_set(p->err, EBADMSG, 0, "not a GGUF file: it does not begin with \"GGUF\"");
}

static int parse_preamble(struct parse *p)
{
	uint64_t n_tensors, n_kv;
	const uint8_t *magic;
	uint32_t version;

	if (cursor_left(&p->in) < 4)
		return error_set(p->err, EBADMSG, cursor_left(&p->in),
				 "not a GGUF file: it has only %" PRIu64 " bytes",
				 cursor_left(&p->in));
	if (cursor_take(&p->in, 4, &magic) < 0)
		return error_set(p->err, EIO, 0, "the file cannot be read: %s", strerror(EIO));
	if (memcmp(magic, "GGUF", 4) != 0)
		return refuse_magic(p, magic);
	if (cursor_u32(&p->in, &version) < 0)
		return error_set(p->err, EBADMSG, p->in.at, "the file ends inside its version");
	if (version != 0 && (version & 0xffff) == 0)
		return error_set(p->err, ENOTSUP, 4,
				 "this is a big-endian GGUF; convert it with "
				 "gguf_convert_endian.py of llama.cpp first");
	if (version == 0 || version > 3)
		return error_set(p->err, ENOTSUP, 4,
				 "GGUF version %" PRIu32 " is not known; versions 1 to 3 are read",
				 version);
	p->gguf->version = version;
	if (parse_length(p, &n_tensors) < 0 || parse_length(p, &n_kv) < 0)
		return error_set(p->err, EBADMSG, p->in.at, "the file ends inside its header");
	return check_counts(p, n_tensors, n_kv);
}

static int find_alignment(struct parse *p)
{
	const struct kv *kv = gguf_find(p->gguf, "general.alignment");

	p->gguf->alignment = 32;
	if (!kv)
		return 0;
	if (kv->type != KV_U32)
		return error_set(p->err, EBADMSG, kv->offset,
				 "general.alignment is of type %s; it has to be u32",
				 kv_type_name(kv->type));
	if (kv->scalar == 0 || (kv->scalar & (kv->scalar - 1)))
		return error_set(p->err, EBADMSG, kv->offset,
				 "general.alignment is %" PRIu64 "; it has to be a power of two",
				 kv->scalar);
	p->gguf->alignment = (uint32_t)kv->scalar;
	return 0;
}

static int parse_all(struct parse *p)
{
	struct gguf *gguf = p->gguf;
	int rc = parse_preamble(p);

	if (rc < 0)
		return rc;
	gguf->kv = calloc(gguf->n_kv + 1u, sizeof(*gguf->kv));
	gguf->tensors = calloc(gguf->n_tensors + 1u, sizeof(*gguf->tensors));
	gguf->order = calloc(gguf->n_tensors + 1u, sizeof(*gguf->order));
	gguf->keys = names_new(gguf->n_kv);
	gguf->names = names_new(gguf->n_tensors);
	gguf->arena = arena_new();
	if (!gguf->kv || !gguf->tensors || !gguf->order || !gguf->keys || !gguf->names ||
	    !gguf->arena)
		return error_errno(p->err, ENOMEM);
	for (uint32_t i = 0; i < gguf->n_kv; i++) {
		rc = parse_kv(p, i);
		if (rc < 0)
			return rc;
	}
	rc = find_alignment(p);
	if (rc < 0)
		return rc;
	return parse_tensors(p);
}

static struct gguf *read_source(const struct source *source, bool header, struct error *err)
{
	struct parse p = { .header = header, .err = err };
	int rc;

	p.gguf = calloc(1, sizeof(*p.gguf));
	if (!p.gguf || cursor_init(&p.in, source, 0) < 0) {
		error_errno(err, ENOMEM);
		free(p.gguf);
		return NULL;
	}
	p.gguf->size = source->size;
	rc = parse_all(&p);
	cursor_release(&p.in);
	if (rc < 0) {
		gguf_free(p.gguf);
		return NULL;
	}
	return p.gguf;
}

struct gguf *gguf_read(const struct source *source, struct error *err)
{
	return read_source(source, false, err);
}

struct gguf *gguf_read_header(const struct source *source, struct error *err)
{
	return read_source(source, true, err);
}

void gguf_free(struct gguf *gguf)
{
	if (!gguf)
		return;
	names_free(gguf->keys);
	names_free(gguf->names);
	arena_free(gguf->arena);
	free(gguf->order);
	free(gguf->tensors);
	free(gguf->kv);
	free(gguf);
}

const struct kv *gguf_find(const struct gguf *gguf, const char *key)
{
	uint32_t number;

	return names_find(gguf->keys, key, strlen(key), &number) ? &gguf->kv[number] : NULL;
}

const struct gguf_tensor *gguf_tensor(const struct gguf *gguf, const char *name, size_t length)
{
	uint32_t number;

	return names_find(gguf->names, name, length, &number) ? &gguf->tensors[number] : NULL;
}

bool kv_unsigned(const struct kv *kv, uint64_t *value)
{
	const uint32_t size = kv_types[kv->type].size;

	switch (kv->type) {
	case KV_I8:
	case KV_I16:
	case KV_I32:
	case KV_I64:
		if (kv->scalar >> (size * 8 - 1))
			return false;
		break;
	case KV_U8:
	case KV_U16:
	case KV_U32:
	case KV_U64:
		break;
	default:
		return false;
	}
	*value = kv->scalar;
	return true;
}

bool kv_real(const struct kv *kv, double *value)
{
	const uint32_t bits = (uint32_t)kv->scalar;
	float single;

	if (kv->type == KV_F64)
		memcpy(value, &kv->scalar, sizeof(*value));
	if (kv->type != KV_F32)
		return kv->type == KV_F64;
	memcpy(&single, &bits, sizeof(single));
	*value = (double)single;
	return true;
}
