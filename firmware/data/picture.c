/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file is turned by its result, not by its pixels: the filter reads the lines as the file has them, in the
 * opposite direction where the file is mirrored, and makes a result that is transposed at the end where it
 * has to be. The values are those of a file that was turned before.
 */
#include "data/picture_filter.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define EIGHTHS 8u

/* The lines between the two passes: the last ones that came, each in the place of its number modulo `lines`.
 */
struct columns {
	void *memory, *line; /* line: pointers to as many lines as an axis has taps */
	uint64_t memory_capacity, line_capacity, stride;
	uint32_t lines;
};

struct picture_decoder {
	void *reader[PICTURE_PNG + 1]; /* by format; NULL = not needed yet */
	struct picture_axis across, down;
	struct columns columns;
	void *lines, *turned; /* lines of the file; a result that is not transposed yet */
	uint64_t lines_capacity, turned_capacity;
	uint64_t warnings;
	bool simd;
};

static const struct picture_reader *const readers[] = {
	[PICTURE_JPEG] = &picture_jpeg, [PICTURE_PNG] = &picture_png
};

struct picture_form picture_form_of(const struct config_feature *feature)
{
	return (struct picture_form){ .height = (uint32_t)feature->shape[0],
				      .width = (uint32_t)feature->shape[1],
				      .channels = (uint32_t)feature->shape[2],
				      .interpolation = feature->interpolation,
				      .antialias = feature->antialias,
				      .fit = feature->fit,
				      .orientation = feature->orientation,
				      .scaled_decode = feature->scaled_decode,
				      .pixels_max = feature->pixels_max };
}

/* ---- The decoder ---- */

int picture_decoder_new(struct picture_decoder **ret_decoder, struct error *err)
{
	struct picture_decoder *decoder = calloc(1, sizeof(*decoder));

	if (!decoder)
		return error_set(err, -ENOMEM, "no memory for a decoder of pictures");
#ifdef __x86_64__
	decoder->simd = __builtin_cpu_supports("avx2");
#endif
	*ret_decoder = decoder;
	return 0;
}

void picture_decoder_free(struct picture_decoder *decoder)
{
	if (!decoder)
		return;
	for (int i = PICTURE_JPEG; i <= PICTURE_PNG; i++)
		readers[i]->close(decoder->reader[i]);
	picture_axis_done(&decoder->across);
	picture_axis_done(&decoder->down);
	free(decoder->columns.memory);
	free(decoder->columns.line);
	free(decoder->lines);
	free(decoder->turned);
	free(decoder);
}

void picture_decoder_freep(struct picture_decoder **decoder)
{
	picture_decoder_free(TAKE(*decoder));
}

uint64_t picture_warnings(const struct picture_decoder *decoder)
{
	return decoder->warnings;
}

/* ---- Which part of the file goes where ---- */

/* One direction: pixels [from, from + from_size) of the file fill [to, to + to_size) of the result. */
struct span {
	uint32_t from, from_size, to, to_size;
};

struct layout {
	struct span across, down; /* as the file lies */
	bool mirror_across, mirror_down, transpose;
};

static uint32_t rounded(uint64_t numerator, uint64_t denominator, uint32_t max)
{
	const uint64_t value = (numerator + denominator / 2) / denominator;

	return value < 1 ? 1 : value > max ? max : (uint32_t)value;
}

static uint32_t placed(uint32_t room, bool random, uint32_t word)
{
	return random ? (uint32_t)((uint64_t)word * ((uint64_t)room + 1) >> 32) : room / 2;
}

/* Cuts the direction that is too long for the result's proportions. */
static void fit_crop(struct span *across, struct span *down, struct picture_place place)
{
	const uint64_t width = across->from_size, height = down->from_size;

	if (width * down->to_size > height * across->to_size)
		across->from_size = rounded(height * across->to_size, down->to_size, across->from_size);
	else
		down->from_size = rounded(width * down->to_size, across->to_size, down->from_size);
	across->from = placed((uint32_t)width - across->from_size, place.random, place.right);
	down->from = placed((uint32_t)height - down->from_size, place.random, place.down);
}

/* Makes the result smaller in the direction that the picture is too short for. */
static void fit_pad(struct span *across, struct span *down)
{
	const uint64_t width = across->from_size, height = down->from_size;
	const uint32_t columns = across->to_size, rows = down->to_size;

	if (width * rows > height * columns)
		down->to_size = rounded(height * columns, width, rows);
	else
		across->to_size = rounded(width * rows, height, columns);
	across->to = (columns - across->to_size) / 2;
	down->to = (rows - down->to_size) / 2;
}

static void mirror(struct span *span, uint32_t size)
{
	span->from = size - span->from - span->from_size;
}

/* Places the upright picture in the result, and then turns both as the file lies. Source of the eight
 * orientations: Exif 2.32, section 4.6.4. */
static struct layout layout_of(const struct picture_form *form, struct picture_place place,
			       uint32_t orientation, uint32_t width, uint32_t height)
{
	const bool transpose = orientation >= 5;
	const uint32_t upright_width = transpose ? height : width,
		       upright_height = transpose ? width : height;
	struct span across = { 0, upright_width, 0, form->width },
		    down = { 0, upright_height, 0, form->height };
	struct layout layout = {
		.transpose = transpose,
		.mirror_across = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8,
		.mirror_down = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7
	};

	if (form->fit == FIT_CROP)
		fit_crop(&across, &down, place);
	else if (form->fit == FIT_PAD)
		fit_pad(&across, &down);
	layout.across = transpose ? down : across;
	layout.down = transpose ? across : down;
	if (layout.mirror_across)
		mirror(&layout.across, width);
	if (layout.mirror_down)
		mirror(&layout.down, height);
	return layout;
}

/* Returns the smallest scale, in eighths, at which the library makes no fewer pixels than the result has. */
static uint32_t eighths_of(const struct picture_form *form, const struct layout *layout)
{
	for (uint32_t eighths = 1; form->scaled_decode && eighths < EIGHTHS; eighths *= 2)
		if ((uint64_t)layout->across.from_size * eighths >=
			    (uint64_t)layout->across.to_size * EIGHTHS &&
		    (uint64_t)layout->down.from_size * eighths >= (uint64_t)layout->down.to_size * EIGHTHS)
			return eighths;
	return EIGHTHS;
}

/* ---- Lines ---- */

/* One file on its way. */
struct work {
	struct picture_decoder *decoder;
	const struct picture_reader *type;
	void *reader;
	struct picture_lines lines;
	struct layout layout;
	uint32_t channels;
	uint8_t *result;      /* not transposed yet */
	uint64_t result_line; /* bytes of a line of it */
	uint32_t arrived, made;
};

static int16_t *columns_at(const struct columns *columns, uint32_t line)
{
	return (int16_t *)((uint8_t *)columns->memory + line % columns->lines * columns->stride);
}

/* The lines of the file begin at addresses of 8 modulo 32. libjpeg-turbo writes a line that begins at a
 * multiple of 32 (with SSE2 alone: of 16) past the cache, and the filter, which reads the line next, would
 * wait for the memory. */
#define LINE_ALIGNMENT 32u
#define LINE_OFFSET    8u

static uint64_t line_stride(const struct work *work)
{
	const uint64_t bytes = (uint64_t)work->lines.width * work->lines.pixel + PICTURE_LINE_SPARE;

	return (bytes + LINE_ALIGNMENT - 1) / LINE_ALIGNMENT * LINE_ALIGNMENT;
}

static uint8_t *line_at(const struct work *work, uint32_t i)
{
	uint8_t *memory = work->decoder->lines;
	const uint64_t skip =
		(LINE_ALIGNMENT + LINE_OFFSET - (uintptr_t)memory % LINE_ALIGNMENT) % LINE_ALIGNMENT;

	return memory + skip + i * line_stride(work);
}

static int reserve(struct work *work, const struct picture_form *form, struct error *err)
{
	struct picture_decoder *decoder = work->decoder;
	struct columns *columns = &decoder->columns;
	const struct layout *layout = &work->layout;
	const struct picture_axis_key across = { layout->across.from_size, layout->across.to_size,
						 form->interpolation,      form->antialias,
						 layout->mirror_across,    4 },
				      down = { layout->down.from_size, layout->down.to_size,
					       form->interpolation,    form->antialias,
					       layout->mirror_down,    2 };
	const uint64_t bytes = line_stride(work) * PICTURE_LINES_MAX + LINE_ALIGNMENT;
	int r;

	if ((r = picture_axis_make(&decoder->across, &across, err)) < 0 ||
	    (r = picture_axis_make(&decoder->down, &down, err)) < 0 ||
	    (r = picture_grow(&decoder->lines, &decoder->lines_capacity, bytes, err)) < 0)
		return r;
	columns->lines = decoder->down.taps_max;
	columns->stride =
		((uint64_t)across.to * work->channels * sizeof(int16_t) + PICTURE_COLUMNS_SPARE + 63) / 64 *
		64;
	r = picture_grow(&columns->memory, &columns->memory_capacity, columns->lines * columns->stride, err);
	if (r < 0)
		return r;
	return picture_grow(&columns->line, &columns->line_capacity, columns->lines * sizeof(int16_t *), err);
}

static void gray_of_rgbx(uint8_t *line, uint64_t width)
{
	for (uint64_t x = 0; x < width; x++) {
		const uint8_t *pixel = line + 4 * x;

		/* 0.299, 0.587 and 0.114 of 2^16, as in libjpeg */
		line[x] =
			(uint8_t)((pixel[0] * 19595u + pixel[1] * 38470u + pixel[2] * 7471u + 32768u) >> 16);
	}
}

/* Returns the line of the result that is made next: the lines of a mirrored file come from below. */
static uint32_t next_line(const struct work *work)
{
	return work->layout.mirror_down ? work->layout.down.to_size - 1 - work->made : work->made;
}

/* Returns the number of lines of the part that line `i` of the result needs. */
static uint32_t needed(const struct work *work, uint32_t i)
{
	const struct picture_axis *down = &work->decoder->down;
	const uint32_t end = axis_first(down, i) + axis_taps(down, i);

	return end < down->key.from ? end : down->key.from;
}

/* Returns where line `i` of the result lies. */
static uint8_t *place_of(const struct work *work, uint32_t i)
{
	return work->result + (work->layout.down.to + i) * work->result_line +
	       (uint64_t)work->layout.across.to * work->channels;
}

static void make_line(struct work *work, uint32_t i)
{
	struct picture_decoder *decoder = work->decoder;
	const struct picture_axis *down = &decoder->down;
	const struct span *across = &work->layout.across;
	const int16_t **line = decoder->columns.line;

	/* A line behind the part has the weight 0, and is any line. */
	for (uint32_t k = 0; k < axis_taps(down, i); k++)
		line[k] = columns_at(&decoder->columns, axis_first(down, i) + k);
	picture_down(down, i, line, (uint64_t)across->to_size * work->channels, decoder->simd,
		     place_of(work, i));
}

/* Returns whether a line counts: lines behind the part, and lines that the filter passes over, do not. */
static bool counts(const struct work *work, uint32_t at)
{
	const struct span *down = &work->layout.down;

	return at >= down->from && at - down->from < down->from_size && work->made < down->to_size &&
	       at - down->from >= axis_first(&work->decoder->down, next_line(work));
}

/* Whether each pixel of the result is one of the file's, in the file's order: no filter changes it. */
static bool keeps_pixels(const struct layout *layout)
{
	return layout->across.from_size == layout->across.to_size &&
	       layout->down.from_size == layout->down.to_size && !layout->mirror_across &&
	       !layout->mirror_down;
}

/* Takes the next line of the file: makes the lines of the result that it completes. */
static void take_line(struct work *work, uint8_t *line)
{
	struct picture_decoder *decoder = work->decoder;
	const struct layout *layout = &work->layout;
	const uint32_t at = work->arrived++;
	enum picture_pixel pixel = work->lines.pixel;

	if (!counts(work, at))
		return;
	if (work->channels == 1 && pixel == PICTURE_RGBX) {
		gray_of_rgbx(line, work->lines.width);
		pixel = PICTURE_GRAY;
	}
	line += (uint64_t)layout->across.from * pixel;
	if (keeps_pixels(layout)) {
		picture_copy(pixel, line, layout->across.to_size, decoder->simd,
			     place_of(work, work->made++));
		return;
	}
	picture_across(&decoder->across, pixel, line, decoder->simd,
		       columns_at(&decoder->columns, at - layout->down.from));
	while (work->made < layout->down.to_size &&
	       needed(work, next_line(work)) <= at - layout->down.from + 1) {
		make_line(work, next_line(work));
		work->made++;
	}
}

static int take_lines(struct work *work, struct error *err)
{
	uint8_t *line[PICTURE_LINES_MAX];

	for (uint32_t i = 0; i < PICTURE_LINES_MAX; i++)
		line[i] = line_at(work, i);
	while (work->arrived < work->lines.height) {
		const int count = work->type->lines(work->reader, line, err);

		if (count < 0)
			return count;
		for (int i = 0; i < count; i++)
			take_line(work, line[i]);
	}
	return 0;
}

static void transpose(const uint8_t *from, const struct picture_form *form, uint8_t *out)
{
	for (uint64_t y = 0; y < form->height; y++)
		for (uint64_t x = 0; x < form->width; x++)
			for (uint64_t c = 0; c < form->channels; c++)
				*out++ = from[(x * form->height + y) * form->channels + c];
}

/* ---- A picture ---- */

static int open_reader(struct work *work, enum picture_format format, struct error *err)
{
	void **reader = &work->decoder->reader[format];
	int r = *reader ? 0 : readers[format]->open(reader, err);

	work->type = readers[format];
	work->reader = *reader;
	return r;
}

static int check_size(const struct picture_form *form, const struct picture_head *head, struct error *err)
{
	if ((uint64_t)head->width * head->height > form->pixels_max)
		return error_set(err, -EBADMSG,
				 "found %" PRIu32 " x %" PRIu32 " pixels, at most %" PRIu64 " (pixels_max)",
				 head->width, head->height, form->pixels_max);
	if (head->width > PICTURE_SIDE_MAX || head->height > PICTURE_SIDE_MAX)
		return error_set(err, -EBADMSG,
				 "found %" PRIu32 " x %" PRIu32 " pixels, at most %u in one direction",
				 head->width, head->height, PICTURE_SIDE_MAX);
	return 0;
}

static int start(struct work *work, const struct picture_form *form, struct picture_place place,
		 const struct picture_head *head, struct error *err)
{
	const uint32_t orientation = form->orientation ? head->orientation : 1;
	int r;

	work->layout = layout_of(form, place, orientation, head->width, head->height);
	r = work->type->start(work->reader, form->channels == 1, eighths_of(form, &work->layout),
			      &work->lines, err);
	if (r == 0) /* with the size of the lines, which the library may have shrunk */
		work->layout = layout_of(form, place, orientation, work->lines.width, work->lines.height);
	return r;
}

/* Decodes a file whose head is read. */
static int decode(struct work *work, const struct picture_form *form, struct picture_place place,
		  const struct picture_head *head, uint8_t *ret_values, struct error *err)
{
	struct picture_decoder *decoder = work->decoder;
	const uint64_t values = (uint64_t)form->height * form->width * form->channels;
	bool warned;
	int r;

	if ((r = start(work, form, place, head, err)) < 0 || (r = reserve(work, form, err)) < 0)
		return r;
	if (work->layout.transpose &&
	    (r = picture_grow(&decoder->turned, &decoder->turned_capacity, values, err)) < 0)
		return r;
	work->result = work->layout.transpose ? decoder->turned : ret_values;
	work->result_line = (uint64_t)(work->layout.transpose ? form->height : form->width) * form->channels;
	if (form->fit == FIT_PAD)
		memset(work->result, 0, values);
	if ((r = take_lines(work, err)) < 0 || (r = work->type->end(work->reader, &warned, err)) < 0)
		return r;
	decoder->warnings += warned;
	if (work->layout.transpose)
		transpose(work->result, form, ret_values);
	return 0;
}

/* The same for a file of more than PICTURE_WHOLE_BYTES: alone in this process, and its memory is freed. */
static int decode_alone(struct work *work, const struct picture_form *form, struct picture_place place,
			const struct picture_head *head, uint8_t *ret_values, struct error *err)
{
	static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
	int r;

	(void)pthread_mutex_lock(&turn);
	r = decode(work, form, place, head, ret_values, err);
	work->type->close(TAKE(work->decoder->reader[head->format]));
	(void)pthread_mutex_unlock(&turn);
	return r;
}

int picture_decode(struct picture_decoder *decoder, const struct picture_form *form,
		   struct picture_place place, const void *file, uint64_t bytes, uint8_t *ret_values,
		   struct error *err)
{
	const enum picture_format format = picture_format_of(file, bytes);
	struct work work = { .decoder = decoder, .channels = form->channels };
	struct picture_head head;
	int r;

	if (format == PICTURE_UNKNOWN)
		return picture_refuse(file, bytes, err);
	if ((r = open_reader(&work, format, err)) < 0 ||
	    (r = work.type->begin(work.reader, file, bytes, &head, err)) < 0 ||
	    (r = check_size(form, &head, err)) < 0)
		return r;
	return work.type->whole(work.reader) > PICTURE_WHOLE_BYTES
		       ? decode_alone(&work, form, place, &head, ret_values, err)
		       : decode(&work, form, place, &head, ret_values, err);
}
