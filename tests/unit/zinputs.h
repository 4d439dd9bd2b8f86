/* SPDX-License-Identifier: MIT */
/* zinputs.h - inputs with a known Z-measure: those of golden_z.tsv by name, those of random_z.tsv
 * by kind and seed. NumPy computed the tables from the same inputs, independently of measure/: one
 * linear congruential generator gives uniform numbers, and all arithmetic is in double precision,
 * rounded to float at the end. */
#ifndef TESTS_UNIT_ZINPUTS_H
#define TESTS_UNIT_ZINPUTS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A uniform number in [0, 1), of 24 bits. */
double lcg(uint32_t *state);

/* The sum of twelve uniform numbers less 6: Irwin-Hall, nearly normal. */
double bell(uint32_t *state);

bool begins(const char *name, const char *prefix);

float *new_values(size_t n);

/* values[i] becomes values[p(i)], p(0) = 0, p(i + 1) = a p(i) + c modulo n, a power of two: with a
 * = 1 modulo 4 and an odd c, p(i) takes every value. */
void shuffle(float *values, size_t n);

/* n values in memory from malloc(). */
float *golden_input(const char *name, size_t n);

/* name: KIND-SEED. */
float *random_input(const char *name, size_t n);

typedef float *make_input(const char *name, size_t n);

/* A line of a table: an input and its measure. */
struct zrow {
	char name[64], status[16];
	unsigned long long n, sampled, nonfinite;
	double numbers[8]; /* from entropy to theta, in the table's order */
	bool has_magnitude;
	double magnitude;
};

/* Open a table for reading by lines, behind the line of column names. */
FILE *ztable_open(const char *path);

bool ztable_next(FILE *table, struct zrow *row);

#endif
