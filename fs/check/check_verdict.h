/* SPDX-License-Identifier: MIT */
/* check_verdict.h - the finding of a check: a verdict and its reason. */
#ifndef FS_CHECK_CHECK_VERDICT_H
#define FS_CHECK_CHECK_VERDICT_H

/* From the best to the worst. */
enum verdict {
	VERDICT_OK,
	VERDICT_UNKNOWN, /* data that the check needs is unknown */
	VERDICT_RISKY,
	VERDICT_IMPOSSIBLE,
	VERDICTS,
};

/* "ok", "unknown", "risky", "impossible" */
const char *verdict_name(enum verdict verdict);

/* Size of a reason with its NUL; a longer reason is cut and ends in "...". */
#define FINDING_TEXT 160

/* Zeros are ok without a reason. */
struct finding {
	enum verdict verdict;
	char text[FINDING_TEXT];
};

/* Set verdict and reason. Bytes that would break a line are replaced. */
void finding_set(struct finding *finding, enum verdict verdict, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Append "; " and a reason. The verdict becomes the worse of both. */
void finding_add(struct finding *finding, enum verdict verdict, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
