/* SPDX-License-Identifier: MIT */
/* json_out.h - elements of the JSON of reports. A measured number has a fixed width, and null if
 * unknown, so that a text has the same length before and after the measurement. */
#ifndef FS_REPORT_JSON_OUT_H
#define FS_REPORT_JSON_OUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct theta_mean;

/* Output of the text. */
struct json_out {
	FILE *out;
	bool failed; /* out of memory: the text is incomplete */
};

/* Print a string of n bytes, as json_string(); null for bytes NULL. */
void json_out_bytes(struct json_out *json, const char *bytes, size_t n);
void json_out_text(struct json_out *json, const char *text);

/* Print a number in width bytes, which suffice, with that many digits after the point, or with
 * -digits significant digits if digits is negative. */
void json_out_real(struct json_out *json, int width, int digits, double value);

/* Width that json_out_real() needs for that many significant digits. */
#define JSON_WIDTH(digits) ((digits) + 7)

/* Print θ, 0 to 90 with two places, and the signal, 0 to 1 with four. */
void json_out_theta(struct json_out *json, double theta);
void json_out_signal(struct json_out *json, double signal);

/* Print an object with the sums and means of some tensors; bytes is UINT64_MAX if unknown. */
void json_out_mean(struct json_out *json, const struct theta_mean *mean, uint64_t parameters,
		   uint64_t bytes);

/* Print a number, or null if it equals unknown. */
void json_out_unsigned(struct json_out *json, uint64_t value, uint64_t unknown);

#endif
