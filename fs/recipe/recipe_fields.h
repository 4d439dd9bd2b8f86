/* SPDX-License-Identifier: MIT */
/* recipe_fields.h - which keys the mappings of a recipe have, and where their values lie in its
 * structures: what recipe_read.c and recipe_write.c share. */
#ifndef FS_RECIPE_RECIPE_FIELDS_H
#define FS_RECIPE_RECIPE_FIELDS_H

#include "fs/recipe/recipe.h"

#include <stddef.h>

enum recipe_field_kind {
	FIELD_ENCODED, /* struct recipe_text, percent-encoded */
	FIELD_TEXT,    /* struct recipe_text, as it is, which has to be UTF-8 without a NUL */
	FIELD_UNTEXT,  /* FIELD_ENCODED, where the text is none for FIELD_TEXT */
	FIELD_NUMBER,  /* uint64_t */
	FIELD_HASH,    /* char[FINGERPRINT_TEXT], 32 hexadecimal digits */
	FIELD_DONOR,   /* uint32_t, "base" or a number */
	FIELD_HOW,     /* enum recipe_how */
	FIELD_YES,     /* bool, "yes" */
};

struct recipe_field {
	const char *name;
	enum recipe_field_kind kind;
	size_t offset; /* in the structure */
	bool required;
	bool local; /* it holds on this machine alone */
};

/* The mappings, and the lists of mappings, of a recipe. */
enum recipe_section {
	SECTION_BASE,
	SECTION_OPTIONS,
	SECTION_DONORS,
	SECTION_MERGE,
	SECTION_MODELS,
	SECTION_GRAFTS,
	SECTION_METADATA,
	SECTION_ADAPTERS,
	SECTION_TYPES,
	RECIPE_SECTIONS,
};

#define RECIPE_FIELDS_MAX 9

extern const struct recipe_section_fields {
	const char *name;
	bool list; /* of mappings */
	size_t n;
	struct recipe_field fields[RECIPE_FIELDS_MAX];
} recipe_sections[RECIPE_SECTIONS];

extern const char *const recipe_hows[RECIPE_HOWS];

/* The first line's key and value. */
#define RECIPE_WORD    "organfs"
#define RECIPE_VERSION "recipe 1"

/* Number i of a section; *n is how many it has. NULL: there are not so many. */
void *recipe_item(const struct recipe *recipe, enum recipe_section section, size_t i);

/* One more in a section, or the one that it has. NULL: out of memory. */
void *recipe_add(struct recipe *recipe, enum recipe_section section);

/* Is it UTF-8 without a NUL? */
bool recipe_is_utf8(const struct recipe_text *text);

#endif
