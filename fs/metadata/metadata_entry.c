/* SPDX-License-Identifier: MIT */
/* metadata_entry.c - see metadata.h: one value, and its text as a view. */
#include "fs/metadata/metadata.h"
#include "fs/metadata/value_parse.h"
#include "fs/metadata/value_text.h"
#include "fs/storage/backing.h"
#include "fs/storage/view.h"
#include "gguf/bytes.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

struct metadata_entry {
	atomic_uint refs;
	uint64_t ino;
	struct value value;
	struct source source;
	struct memory_bytes memory; /* the value's bytes, unless it is read from the base */
	uint8_t *bytes;
	struct backing *base;
	uint8_t scalar[8];
	struct timespec mtime;
	pthread_mutex_t lock; /* protects text; held while it is generated */
	struct value_text *text;
};

static struct metadata_entry *make(struct value_type type, uint32_t width)
{
	struct metadata_entry *metadatum = calloc(1, sizeof(*metadatum));

	if (!metadatum)
		return NULL;
	atomic_init(&metadatum->refs, 1);
	pthread_mutex_init(&metadatum->lock, NULL);
	metadatum->value.type = type;
	metadatum->value.width = width;
	metadatum->value.source = &metadatum->source;
	return metadatum;
}

static void read_from_memory(struct metadata_entry *metadatum, const uint8_t *bytes, size_t n)
{
	metadatum->memory = (struct memory_bytes){ bytes, n };
	metadatum->source = source_of_memory(&metadatum->memory);
	metadatum->value.offset = 0;
	metadatum->value.length = n;
}

struct metadata_entry *metadata_entry_new(uint64_t ino, struct value_type type, uint32_t width,
					  struct value_bytes *bytes, const struct timespec *mtime)
{
	struct metadata_entry *metadatum = make(type, width);

	if (metadatum) {
		metadatum->ino = ino;
		metadatum->bytes = bytes->bytes;
		metadatum->value.count = bytes->count;
		metadatum->mtime = *mtime;
		read_from_memory(metadatum, bytes->bytes, bytes->length);
	} else {
		free(bytes->bytes);
	}
	bytes->bytes = NULL;
	return metadatum;
}

struct metadata_entry *metadata_entry_of_base(struct backing *base, const struct gguf *gguf,
					      uint32_t i)
{
	const struct kv *kv = &gguf->kv[i];
	struct metadata_entry *metadatum =
		make((struct value_type){ kv->type, kv->element }, gguf->version > 1 ? 8 : 4);

	if (!metadatum)
		return NULL;
	metadatum->base = backing_ref(base);
	metadatum->mtime = backing_stat(base)->st_mtim;
	metadatum->value.count = kv->count;
	if (kv_type_size(kv->type)) {
		store_u64(metadatum->scalar, kv->scalar);
		read_from_memory(metadatum, metadatum->scalar, (size_t)kv->length);
	} else {
		metadatum->value.offset = kv->offset;
		metadatum->value.length = kv->length;
		/* Only the value's bytes are read from the base. */
		metadatum->source = backing_source(base);
		metadatum->source.size = kv->offset + kv->length;
	}
	return metadatum;
}

struct metadata_entry *metadata_entry_ref(struct metadata_entry *metadatum)
{
	atomic_fetch_add(&metadatum->refs, 1);
	return metadatum;
}

void metadata_entry_unref(struct metadata_entry *metadatum)
{
	if (!metadatum || atomic_fetch_sub(&metadatum->refs, 1) != 1)
		return;
	value_text_free(metadatum->text);
	pthread_mutex_destroy(&metadatum->lock);
	backing_unref(metadatum->base);
	free(metadatum->bytes);
	free(metadatum);
}

const struct value *metadata_entry_value(const struct metadata_entry *metadatum)
{
	return &metadatum->value;
}

uint64_t metadata_entry_ino(const struct metadata_entry *metadatum)
{
	return metadatum->ino;
}

struct timespec metadata_entry_mtime(const struct metadata_entry *metadatum)
{
	return metadatum->mtime;
}

const uint8_t *metadata_entry_bytes(const struct metadata_entry *metadatum)
{
	return metadatum->bytes;
}

/* The text, valid as long as the value. NULL with *rc set. */
static const struct value_text *text_of(struct metadata_entry *metadatum, int *rc)
{
	const struct value_text *text;

	*rc = 0;
	pthread_mutex_lock(&metadatum->lock);
	if (!metadatum->text)
		metadatum->text = value_text_new(&metadatum->value, rc);
	text = metadatum->text;
	pthread_mutex_unlock(&metadatum->lock);
	return text;
}

int metadata_entry_size(struct metadata_entry *metadatum, uint64_t *size)
{
	int rc;
	const struct value_text *text = text_of(metadatum, &rc);

	*size = text ? value_text_size(text) : 0;
	return rc;
}

bool metadata_entry_is_size_known(struct metadata_entry *metadatum)
{
	bool measured;

	if (metadatum->source.context == &metadatum->memory)
		return true;
	if (pthread_mutex_trylock(&metadatum->lock) != 0)
		return false;
	measured = metadatum->text != NULL;
	pthread_mutex_unlock(&metadatum->lock);
	return measured;
}

struct text_generator {
	struct view_generator generator;
	struct metadata_entry *metadatum; /* the value whose text the view shows */
};

static int compute_chunk(struct view_generator *generator, size_t number, char *bytes,
			 size_t length, const atomic_bool *stop)
{
	const struct metadata_entry *metadatum = ((struct text_generator *)generator)->metadatum;
	uint64_t offset;

	if (stop && atomic_load(stop))
		return -EINTR;
	value_text_chunk(metadatum->text, number, &offset);
	return value_text_read(metadatum->text, &metadatum->value, bytes, length, offset);
}

static void release(struct view_generator *generator)
{
	struct text_generator *text_generator = (struct text_generator *)generator;

	metadata_entry_unref(text_generator->metadatum);
	free(text_generator);
}

struct view *metadata_entry_view(struct metadata_entry *metadatum, int *rc)
{
	const struct value_text *text = text_of(metadatum, rc);
	const size_t n = text ? value_text_chunks(text) : 0;
	struct segment *segments = calloc(n + 1, sizeof(*segments));
	struct text_generator *generator = calloc(1, sizeof(*generator));
	struct view *view = NULL;
	uint64_t offset;

	if (!text || !segments || !generator) {
		*rc = *rc < 0 ? *rc : -ENOMEM;
		free(generator);
	} else {
		generator->generator = (struct view_generator){ NULL, compute_chunk, release };
		generator->metadatum = metadata_entry_ref(metadatum);
		for (size_t i = 0; i < n; i++)
			segments[i] =
				(struct segment){ .kind = SEGMENT_COMPUTED,
						  .length = value_text_chunk(text, i, &offset) };
		view = view_new_computed(segments, n, NULL, &generator->generator);
		*rc = view ? 0 : -ENOMEM;
	}
	free(segments);
	return view;
}
