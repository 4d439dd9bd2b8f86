/* SPDX-License-Identifier: MIT */
/* picture_cell.c - one tensor: its colour, its mark, its number, and the text under the pointer.
 * Nothing here may be longer or shorter for another z. */
#include "fs/picture_internal.h"

#include <inttypes.h>
#include <math.h>

#define NO_COLOUR "#eeeeee"

double figure_theta(const struct figure *figure)
{
	const struct zmeasure *z = figure->z;

	if (!z || (z->status != ZMEASURE_OK && z->status != ZMEASURE_SPIKE) || !isfinite(z->theta))
		return NAN;
	return fmin(fmax(z->theta, 0.0), 90.0);
}

/* What is special about a tensor; the legend explains it. */
static char mark_of(const struct figure *figure)
{
	static const char marks[] = {
		[ZMEASURE_OK] = ' ',	[ZMEASURE_CONSTANT] = '=', [ZMEASURE_ZERO] = 'z',
		[ZMEASURE_SHORT] = 's', [ZMEASURE_SPIKE] = '^',	   [ZMEASURE_NONFINITE] = '!',
	};

	if (!figure->z || figure->z->status >= sizeof(marks))
		return '-';
	if (!isfinite(figure->z->theta))
		return '!';
	return marks[figure->z->status];
}

static const char *status_of(const struct figure *figure)
{
	if (!figure->z || figure->z->status > ZMEASURE_NONFINITE)
		return "undecoded";
	return zmeasure_status_name(figure->z->status);
}

struct rgb {
	unsigned char red, green, blue;
};

/* Viridis (van der Walt, Smith 2015): lightness rises evenly, also for eyes that do not tell red
 * from green, and no colour of it is the grey of tensors without an angle. */
static struct rgb rgb_of(double theta)
{
	static const struct rgb stops[COLOUR_STOPS] = {
		{ 0x44, 0x01, 0x54 }, { 0x48, 0x28, 0x78 }, { 0x3e, 0x49, 0x89 },
		{ 0x31, 0x68, 0x8e }, { 0x26, 0x82, 0x8e }, { 0x1f, 0x9e, 0x89 },
		{ 0x35, 0xb7, 0x79 }, { 0x6e, 0xce, 0x58 }, { 0xb5, 0xde, 0x2b },
		{ 0xfd, 0xe7, 0x25 },
	};
	const double place = theta / 90.0 * (COLOUR_STOPS - 1);
	const size_t low = place < COLOUR_STOPS - 2 ? (size_t)place : COLOUR_STOPS - 2;
	const double high = place - (double)low;
	const struct rgb *a = &stops[low], *b = &stops[low + 1];

	return (struct rgb){
		.red = (unsigned char)lround(a->red + high * (b->red - a->red)),
		.green = (unsigned char)lround(a->green + high * (b->green - a->green)),
		.blue = (unsigned char)lround(a->blue + high * (b->blue - a->blue)),
	};
}

const char *colour_of(char out[COLOUR_MAX], double theta)
{
	const struct rgb rgb = rgb_of(theta);

	snprintf(out, COLOUR_MAX, "#%02x%02x%02x", rgb.red, rgb.green, rgb.blue);
	return out;
}

/* White on dark cells, black on light ones. Most feed-forward tensors are below the line, so that
 * their rows are of one ink; the contrast is 3.5 at least. */
static const char *ink_of(double theta)
{
	return theta < 46.0 ? "#ffffff" : "#111111";
}

static void print_tooltip(FILE *out, const struct figure *figure)
{
	static const struct zmeasure none = {
		.signal = NAN,
		.theta = NAN,
		.entropy = NAN,
		.kurtosis = NAN,
		.spacing = NAN,
	};
	const struct zmeasure *z = figure->z ? figure->z : &none;
	char theta[NUMBER_MAX], signal[NUMBER_MAX], entropy[NUMBER_MAX], kurtosis[NUMBER_MAX];
	char spacing[NUMBER_MAX], magnitude[NUMBER_MAX];

	fputs("<title>", out);
	text_print(out, figure->file);
	fputs("\n", out);
	text_print(out, figure->type);
	fprintf(out, ", %" PRIu64 " elements\nθ %s°, signal %s, status %-9s\n", figure->elements,
		number_fixed(theta, 5, 2, z->theta), number_fixed(signal, 6, 4, z->signal),
		status_of(figure));
	fprintf(out, "entropy %s, kurtosis %s, spacing %s, magnitude %s%-12s</title>",
		number_fixed(entropy, 6, 4, z->entropy), number_general(kurtosis, 12, z->kurtosis),
		number_general(spacing, 12, z->spacing),
		number_fixed(magnitude, 7, 4, z->has_magnitude ? z->magnitude : NAN),
		z->low_n ? ", few values" : "");
}

static void print_inscription(FILE *out, const struct cell *cell, uint64_t width, uint64_t height)
{
	const double theta = figure_theta(cell->figure);
	const char mark = mark_of(cell->figure);
	const unsigned size = width >= PICTURE_DECIMALS ? 10 : 9;
	char text[NUMBER_MAX];

	fprintf(out, "<text x=\"%" PRIu64 "%s\" y=\"%" PRIu64 "%s\" font-size=\"%u\" fill=\"%s\">",
		cell->x + width / 2, width % 2 ? ".5" : "", cell->y + height / 2 + 3,
		height % 2 ? ".9" : ".4", size, ink_of(isnan(theta) ? 90.0 : theta));
	if (width >= PICTURE_DECIMALS)
		fprintf(out, "%c%s", mark, isnan(theta) ? "    " : number_fixed(text, 4, 1, theta));
	else if (width >= PICTURE_WHOLE && mark == ' ')
		fputs(number_fixed(text, 2, 0, theta), out);
	else
		fprintf(out, "%*c", width >= PICTURE_WHOLE ? 2 : 1, mark);
	fputs("</text>", out);
}

void cell_print(FILE *out, const struct cell *cell, uint64_t width, uint64_t height)
{
	const double theta = figure_theta(cell->figure);
	char colour[COLOUR_MAX];

	fputs("<g>", out);
	print_tooltip(out, cell->figure);
	/* "none" and "#666" are of one length. */
	fprintf(out,
		"<rect x=\"%" PRIu64 "\" y=\"%" PRIu64 "\" width=\"%" PRIu64 "\" height=\"%" PRIu64
		"\" fill=\"%s\" stroke=\"%s\"/>",
		cell->x, cell->y, width, height,
		isnan(theta) ? NO_COLOUR : colour_of(colour, theta),
		mark_of(cell->figure) == ' ' ? "none" : "#666");
	if (width >= PICTURE_MARKS)
		print_inscription(out, cell, width, height);
	fputs("</g>\n", out);
}
