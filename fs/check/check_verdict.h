/* SPDX-License-Identifier: MIT */
/* check_verdict.h - what one check of a graft comes to: a verdict and the reason for it. */
#ifndef FS_CHECK_CHECK_VERDICT_H
#define FS_CHECK_CHECK_VERDICT_H

/* From the best to the worst. */
enum verdict {
	VERDICT_OK,
	VERDICT_UNKNOWN, /* what would have to be known is not */
	VERDICT_RISKY,
	VERDICT_IMPOSSIBLE,
	VERDICTS,
};

/* "ok", "unknown", "risky", "impossible" */
const char *verdict_name(enum verdict verdict);

/* A reason takes so many bytes, with its NUL; a longer one is cut and ends in "...". */
#define FINDING_TEXT 160

/* Zeros are ok for no reason. */
struct finding {
	enum verdict verdict;
	char text[FINDING_TEXT];
};

/* Say it in place of what was said before. Bytes that would break a line are replaced. */
void finding_set(struct finding *finding, enum verdict verdict, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Say it too, after "; ". The verdict is the worse of the two. */
void finding_add(struct finding *finding, enum verdict verdict, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
