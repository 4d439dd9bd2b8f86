/* SPDX-License-Identifier: MIT */
/* json_out.h - what the JSON of reports is made of. A number that has to be measured has its width,
 * whatever it is, and null where it is not known: the length of a text is the same before anything
 * is measured and after that. */
#ifndef FS_REPORT_JSON_OUT_H
#define FS_REPORT_JSON_OUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct theta_mean;

/* Where the text goes. */
struct json_out {
	FILE *out;
	bool failed; /* memory ran out: the text is not whole */
};

/* A string of n bytes, as json_string(); null for bytes NULL. */
void json_out_bytes(struct json_out *json, const char *bytes, size_t n);
void json_out_text(struct json_out *json, const char *text);

/* A number with so many digits after the point, or with digits below 0 so many (-digits) of all, in
 * width bytes, which suffice. */
void json_out_real(struct json_out *json, int width, int digits, double value);

/* As wide as json_out_real() with that many of all digits needs. */
#define JSON_WIDTH(digits) ((digits) + 7)

/* θ and the signal of a mean: 0 to 90 with two places and 0 to 1 with four. */
void json_out_theta(struct json_out *json, double theta);
void json_out_signal(struct json_out *json, double signal);

/* An object of what some tensors have together; bytes is UINT64_MAX where it is not known. */
void json_out_mean(struct json_out *json, const struct theta_mean *mean, uint64_t parameters,
		   uint64_t bytes);

/* A number, or null for unknown. */
void json_out_unsigned(struct json_out *json, uint64_t value, uint64_t unknown);

#endif
