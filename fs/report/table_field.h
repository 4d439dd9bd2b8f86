/* SPDX-License-Identifier: MIT */
/* table_field.h - fields of a table line, printed and parsed. The parser trusts no text. */
#ifndef FS_REPORT_TABLE_FIELD_H
#define FS_REPORT_TABLE_FIELD_H

#include "fs/lazy/theta_text.h"

/* Characters percent-encoded besides control characters. */
#define TABLE_ENCODED "%"

/* Decode a field, which text_escape_print() printed with TABLE_ENCODED, in place; a NUL follows.
 * False: a '%' without two hexadecimal digits. */
bool table_get(char *field, size_t *n);

/* Parse a decimal number up to most, after blanks. False: invalid. */
bool table_unsigned(const char *field, uint64_t most, uint64_t *value);

/* Parse a number as printf() writes it, after blanks, including "inf" and "nan". False: invalid. */
bool table_real(const char *field, double *value);

/* Parse a shape as shape_text() writes it. Gives the number of its elements. False: invalid. */
bool table_shape(const char *field, uint64_t *elements);

/* Parse the n fields of theta_exact(), without the newline; n is THETA_EXACT_COLUMNS or, in older
 * tables, THETA_EXACT_FIRST_COLUMNS. Scores and elements stay 0; *known is false for a type without
 * values. False: invalid. */
bool table_measure(char *const fields[THETA_EXACT_COLUMNS], size_t n, struct zmeasure *z,
		   bool *known);

#endif
