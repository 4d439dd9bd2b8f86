/* SPDX-License-Identifier: MIT */
/* table_field.h - the fields of a table line, in both directions. Nothing of the text is
 * trusted. */
#ifndef FS_REPORT_TABLE_FIELD_H
#define FS_REPORT_TABLE_FIELD_H

#include "fs/lazy/theta_text.h"

/* What of a text is percent-encoded beside control characters. */
#define TABLE_ENCODED "%"

/* Decode a field, which text_escape_print() printed with TABLE_ENCODED, in place; a NUL follows.
 * False: a '%' without two hexadecimal digits. */
bool table_get(char *field, size_t *n);

/* A decimal number up to most, after blanks. False: it is none. */
bool table_unsigned(const char *field, uint64_t most, uint64_t *value);

/* A number as printf() writes it, after blanks: "inf" and "nan" are some too. False: it is none. */
bool table_real(const char *field, double *value);

/* A shape as shape_text() writes it, and how many elements it has. False: it is none. */
bool table_shape(const char *field, uint64_t *elements);

/* The fields of theta_exact(), without the newline; n of them, THETA_EXACT_COLUMNS or, of older
 * tables, THETA_EXACT_FIRST_COLUMNS. Scores and elements stay 0; *known is false for
 * a type that holds no values. False: they are none. */
bool table_measure(char *const fields[THETA_EXACT_COLUMNS], size_t n, struct zmeasure *z,
		   bool *known);

#endif
