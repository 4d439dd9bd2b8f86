/* SPDX-License-Identifier: MIT */
/* open_model.h - an open model with its log, and grafts like those of a close(). */
#ifndef TESTS_UNIT_OPEN_MODEL_H
#define TESTS_UNIT_OPEN_MODEL_H

#include "fs/edit/graft.h"
#include "fs/edit/recover.h"
#include "fs/model/model.h"
#include "fs/model/organ_file.h"
#include "tests/unit/small_gguf.h"

/* A test's open model, in the test's directory. */
struct opened {
	struct log *log;
	struct zstd_cache *cache;
	struct model *model;
	struct error err;
};

struct opened open_at(void **state, const char *name, const char *layer,
		      const struct model_options *options);

struct opened open_with(void **state, const char *name, const struct model_options *options);

/* Try to open that file; the caller asserts success. */
struct opened try_model(void **state, const char *name);

struct opened open_model(void **state, const char *name);

/* Open a new mk_small() under that name. */
struct opened open_small(void **state, const char *name);

void close_model(struct opened *o);

bool log_says(struct log *log, const char *words);

/* A stage over the current content of the slot. */
struct stage *stage_over(struct model *model, uint32_t tensor);

/* Write these bytes over the slot's file and close it. Returns 0 or -errno of the close. */
int fill(struct model *model, uint32_t tensor, const void *bytes, size_t n);

/* Fill the slot with an organ of mk_organ(). */
int fill_organ(struct model *model, uint32_t tensor, const char *name, uint32_t type, uint32_t dims,
	       const uint64_t *ne, uint32_t seed);

/* Fill SMALL_UP with other bytes of the same type and shape. */
int fill_up(struct model *model, uint32_t seed);

/* The organ file as a user reads it now; caller frees. */
char *read_organ(struct model *model, uint32_t tensor, size_t *size);

/* Check that the slot's content is that organ. */
#define assert_organ(model, tensor, file) unit_assert_organ(model, tensor, file, __FILE__, __LINE__)

void unit_assert_organ(struct model *model, uint32_t tensor, const struct organ_file *file,
		       const char *where, int line);

#endif
