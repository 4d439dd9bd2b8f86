/* SPDX-License-Identifier: MIT */
/* recipe_fields.h - keys of a recipe's mappings, and the places of their values in its structures;
 * shared by recipe_read.c and recipe_write.c. */
#ifndef FS_RECIPE_RECIPE_FIELDS_H
#define FS_RECIPE_RECIPE_FIELDS_H

#include "fs/recipe/recipe.h"

#include <stddef.h>

enum recipe_field_kind {
	FIELD_ENCODED, /* struct recipe_text, percent-encoded */
	FIELD_TEXT,    /* struct recipe_text, unencoded: UTF-8 without a NUL */
	FIELD_UNTEXT,  /* FIELD_ENCODED, for a text that cannot be FIELD_TEXT */
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
	bool local; /* holds on this machine alone */
};

/* Sections of a recipe: mappings and lists of mappings. */
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
	bool list; /* a list of mappings */
	size_t n;
	struct recipe_field fields[RECIPE_FIELDS_MAX];
} recipe_sections[RECIPE_SECTIONS];

extern const char *const recipe_hows[RECIPE_HOWS];

/* Key and value of the first line. */
#define RECIPE_WORD    "organfs"
#define RECIPE_VERSION "recipe 1"

/* Item i of a section. NULL: there are not so many. */
void *recipe_item(const struct recipe *recipe, enum recipe_section section, size_t i);

/* Add an item to a section, or get its only one. NULL: out of memory. */
void *recipe_add(struct recipe *recipe, enum recipe_section section);

/* Is the text UTF-8 without a NUL? */
bool recipe_is_utf8(const struct recipe_text *text);

#endif
