/* SPDX-License-Identifier: MIT */
/* picture.c - see picture.h. Colours are those of viridis (Smith and van der Walt, for matplotlib,
 * CC0), which grow evenly brighter and can be told apart with every kind of colour-blindness. */
#include "fs/picture_internal.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define NO_VALUE "#c9c9c9"

/* One colour every 15 degrees. */
static const uint8_t viridis[][3] = {
	{ 0x44, 0x01, 0x54 }, { 0x44, 0x39, 0x83 }, { 0x31, 0x68, 0x8e }, { 0x21, 0x91, 0x8c },
	{ 0x35, 0xb7, 0x79 }, { 0x90, 0xd7, 0x43 }, { 0xfd, 0xe7, 0x25 },
};
#define COLOURS (sizeof(viridis) / sizeof(viridis[0]))

static void colour_of(double theta, char text[8])
{
	const double place = fmin(fmax(theta / 15, 0), COLOURS - 1);
	const size_t low = place >= COLOURS - 1 ? COLOURS - 2 : (size_t)place;
	unsigned mixed[3];

	for (size_t i = 0; i < 3; i++)
		mixed[i] = (unsigned)lround(viridis[low][i] +
					    (place - (double)low) *
						    (viridis[low + 1][i] - viridis[low][i]));
	snprintf(text, 8, "#%02x%02x%02x", mixed[0] & 255, mixed[1] & 255, mixed[2] & 255);
}

/* Text as XML has it; what no XML may hold becomes a question mark. */
static void print_text(const char *text, FILE *out)
{
	for (; *text; text++) {
		const unsigned char c = (unsigned char)*text;

		if (c == '&')
			fputs("&amp;", out);
		else if (c == '<')
			fputs("&lt;", out);
		else if (c == '>')
			fputs("&gt;", out);
		else if (c == '"')
			fputs("&quot;", out);
		else if (c < ' ' || strncmp(text, "\xef\xbf\xbe", 3) == 0 ||
			 strncmp(text, "\xef\xbf\xbf", 3) == 0)
			fputc('?', out);
		else
			fputc(c, out);
	}
}

/* The beginning of a name that may be of any length, without half a letter at its end. */
#define NAME_MOST 64

static void print_name(const char *name, FILE *out)
{
	char start[NAME_MOST + 1];
	size_t n = strlen(name);

	if (n > NAME_MOST)
		for (n = NAME_MOST; n > 0 && ((unsigned char)name[n] & 0xc0) == 0x80;)
			n--;
	memcpy(start, name, n);
	start[n] = '\0';
	print_text(start, out);
	if (name[n])
		fputs("…", out);
}

/* A label that is too long loses its middle. It is plain ASCII. */
static void print_label(const char *label, FILE *out)
{
	const size_t n = strlen(label), half = PICTURE_LABEL_MOST / 2 - 1;

	if (n > PICTURE_LABEL_MOST)
		fprintf(out, "%.*s…%s", (int)half, label, label + n - half);
	else
		print_text(label, out);
}

static const char *status_of(const struct zmeasure *z)
{
	return z ? zmeasure_status_name(z->status) : "undecoded";
}

/* Not a number has no sign, which would take a byte. */
static double plain(const struct zmeasure *z, double value)
{
	return z && z->status != ZMEASURE_NONFINITE && isfinite(value) ? value : NAN;
}

static void print_tooltip(const struct figure *figure, FILE *out)
{
	static const struct zmeasure none;
	const struct zmeasure *z = figure->z, *any = z ? z : &none;
	const double magnitude = any->has_magnitude ? any->magnitude : NAN;

	fputs("<title>", out);
	print_text(figure->file, out);
	fprintf(out,
		"\n%s, %llu elements\nθ %5.2f°, signal %7.5f\nentropy %8.6f, kurtosis %12.6g\n"
		"spacing %12.6g, magnitude %9.6f\n%9s</title>",
		figure->type, (unsigned long long)figure->elements, plain(z, any->theta),
		plain(z, any->signal), plain(z, any->entropy), plain(z, any->kurtosis),
		plain(z, any->spacing), plain(z, magnitude), status_of(z));
}

static void print_cell(const struct figure *figure, double x, double y, double width, FILE *out)
{
	const struct zmeasure *z = figure->z;
	const bool known = z && isfinite(z->theta) && z->status != ZMEASURE_NONFINITE;
	char colour[8] = NO_VALUE;

	if (known)
		colour_of(z->theta, colour);
	fprintf(out,
		"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\" "
		"stroke=\"%s\">",
		x + 0.5, y + 0.5, width - 2, PICTURE_LINE - 3, colour,
		z && z->status == ZMEASURE_OK ? "#ffffff" : "#d62728");
	print_tooltip(figure, out);
	fputs("</rect>\n", out);
}

static void print_heading(const struct picture *picture, FILE *out)
{
	double theta = 0, signal = 0, weight = 0, weighted = 0;
	size_t n = 0;

	for (size_t i = 0; i < picture->n; i++) {
		const struct figure *figure = &picture->figures[i];

		if (!figure->z || isnan(plain(figure->z, figure->z->theta)))
			continue;
		n++;
		theta += figure->z->theta;
		signal += figure->z->signal;
		weight += (double)figure->elements;
		weighted += (double)figure->elements * figure->z->theta;
	}
	fprintf(out, "<text class=\"name\" x=\"%.0f\" y=\"36\">", PICTURE_MARGIN);
	print_name(picture->name, out);
	fprintf(out, "</text>\n<text class=\"note\" x=\"%.0f\" y=\"56\">", PICTURE_MARGIN);
	print_text(picture->subtitle, out);
	fprintf(out,
		"</text>\n<text class=\"note\" x=\"%.0f\" y=\"74\" xml:space=\"preserve\">"
		"mean θ %5.2f°, signal %6.4f over %zu tensors; %5.2f° weighted by elements"
		"</text>\n",
		PICTURE_MARGIN, n ? theta / (double)n : NAN, n ? signal / (double)n : NAN,
		picture->n, weight > 0 ? weighted / weight : NAN);
}

/* Numbers as close as they have room. */
static void print_blocks(const struct picture_plan *plan, FILE *out)
{
	static const size_t steps[] = { 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000 };
	const double y = plan->rows[0].y - 8;
	char last[16];
	size_t step = 0;

	snprintf(last, sizeof(last), "%d", plan->blocks[plan->n_blocks - 1]);
	while (step < sizeof(steps) / sizeof(steps[0]) - 1 &&
	       (double)steps[step] * plan->cell < 6 * (double)strlen(last) + 8)
		step++;
	for (size_t i = 0; i < plan->n_blocks; i += steps[step])
		fprintf(out, "<text class=\"axis\" x=\"%.1f\" y=\"%.1f\">%d</text>\n",
			plan->left + plan->cell * ((double)i + 0.5) - 0.5, y, plan->blocks[i]);
}

static void print_grid(const struct picture_plan *plan, FILE *out)
{
	for (size_t i = 0; i < plan->n_rows; i++) {
		const struct picture_row *row = &plan->rows[i];

		if (i == 0 || row[-1].figure->klass != row->figure->klass)
			fprintf(out, "<text class=\"class\" x=\"%.0f\" y=\"%.1f\">%s</text>\n",
				PICTURE_MARGIN, row->y - 7, class_name(row->figure->klass));
		fprintf(out, "<text class=\"role\" x=\"%.1f\" y=\"%.1f\">", plan->left - 8,
			row->y + 12);
		print_label(row->figure->role, out);
		fputs("</text>\n", out);
	}
	for (size_t i = 0; i < plan->n_cells; i++) {
		const struct picture_cell *cell = &plan->cells[i];

		print_cell(cell->figure, plan->left + plan->cell * (double)cell->column,
			   plan->rows[cell->row].y, plan->cell, out);
	}
}

static void print_outside(const struct picture_plan *plan, FILE *out)
{
	const double top = plan->top + PICTURE_HEADING;

	if (plan->n_outside)
		fprintf(out,
			"<text class=\"class\" x=\"%.1f\" y=\"%.1f\">outside of blocks</text>\n",
			plan->right + 30, top - 7);
	for (size_t i = 0; i < plan->n_outside; i++) {
		const double x =
			plan->right + 30 + plan->outside_width * (double)(i / plan->outside_lines);
		const double y = top + PICTURE_LINE * (double)(i % plan->outside_lines);

		print_cell(plan->outside[i].figure, x, y, 26, out);
		fprintf(out, "<text class=\"label\" x=\"%.1f\" y=\"%.1f\">", x + 32, y + 12);
		print_label(plan->outside[i].figure->role, out);
		fputs("</text>\n", out);
	}
}

static void print_legend(const struct picture_plan *plan, FILE *out)
{
	const double y = plan->bottom + 34, left = PICTURE_MARGIN + 24, width = 360;
	char colour[8];

	fputs("<defs><linearGradient id=\"scale\">", out);
	for (int theta = 0; theta <= 90; theta += 15) {
		colour_of(theta, colour);
		fprintf(out, "<stop offset=\"%.4f\" stop-color=\"%s\"/>", theta / 90.0, colour);
	}
	fprintf(out,
		"</linearGradient></defs>\n<text class=\"label\" x=\"%.0f\" y=\"%.1f\">θ</text>"
		"<rect x=\"%.0f\" y=\"%.1f\" width=\"%.0f\" height=\"14\" fill=\"url(#scale)\"/>\n",
		PICTURE_MARGIN, y + 11, left, y, width);
	for (int theta = 0; theta <= 90; theta += 15)
		fprintf(out, "<text class=\"axis\" x=\"%.1f\" y=\"%.1f\">%d°</text>\n",
			left + width * theta / 90.0, y + 28, theta);
	fprintf(out,
		"<text class=\"label\" x=\"%.0f\" y=\"%.1f\">evenly spread</text>"
		"<text class=\"role\" x=\"%.0f\" y=\"%.1f\">a few far out</text>\n"
		"<text class=\"axis\" x=\"%.1f\" y=\"%.1f\">bell curve</text>\n",
		left, y - 6, left + width, y - 6, left + width * 36 / 90.0, y - 6);
	fprintf(out,
		"<rect x=\"%.0f\" y=\"%.1f\" width=\"24\" height=\"13\" fill=\"" NO_VALUE "\" "
		"stroke=\"#d62728\"/><text class=\"label\" x=\"%.0f\" y=\"%.1f\">"
		"framed: no θ, or a special case (see its tooltip)</text>\n",
		left + width + 40, y, left + width + 72, y + 11);
}

int picture_print(const struct picture *picture, FILE *out)
{
	struct picture_plan plan;
	const int rc = picture_arrange(picture, &plan);

	if (rc == 0) {
		fprintf(out,
			"<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"%.0f\" "
			"height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n<title>θ of ",
			plan.width, plan.height, plan.width, plan.height);
		print_text(picture->name, out);
		fputs("</title>\n<style>text{font:11px DejaVu Sans,Verdana,sans-serif;fill:#222}"
		      ".name{font-size:18px;font-weight:bold}.note{font-size:12px}"
		      ".class{font-weight:bold;fill:#555}.role{text-anchor:end}"
		      ".axis{font-size:10px;fill:#555;text-anchor:middle}</style>\n"
		      "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
		      out);
		print_heading(picture, out);
		if (plan.n_rows) {
			print_blocks(&plan, out);
			print_grid(&plan, out);
		}
		print_outside(&plan, out);
		print_legend(&plan, out);
		fputs("</svg>\n", out);
	}
	picture_release(&plan);
	return rc;
}
