/* SPDX-License-Identifier: Apache-2.0 */
#include "data/picture_filter.h"
#include "tests/unit/picture_make.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { WIDTH = 37, HEIGHT = 29, SIDE_MAX = 128 };

static struct picture_decoder *decoder;
static const struct picture_place centre = { 0 };

static int open_decoder(void **state)
{
	struct error err;

	(void)state;
	return picture_decoder_new(&decoder, &err);
}

static int close_decoder(void **state)
{
	(void)state;
	picture_decoder_freep(&decoder);
	return 0;
}

/* ---- Pictures ---- */

/* Smooth colours with an edge and some noise. */
static void paint(uint8_t *pixels, unsigned width, unsigned height, unsigned channels)
{
	uint32_t state = 44;

	for (unsigned y = 0; y < height; y++)
		for (unsigned x = 0; x < width; x++)
			for (unsigned c = 0; c < channels; c++) {
				unsigned value = (x * 255 / width + (c + 1) * y * 128 / height) / 2;

				state = state * 1664525 + 1013904223;
				if (x > width / 3 && x < width / 2)
					value = 255 - value;
				*pixels++ = (uint8_t)((value + (state >> 27)) & 255);
			}
}

static struct file png_of(const uint8_t *pixels, unsigned width, unsigned height, unsigned channels,
			  unsigned bits, bool interlaced)
{
	const struct spng_ihdr header = { .width = width,
					  .height = height,
					  .bit_depth = (uint8_t)bits,
					  .color_type = channels == 1   ? SPNG_COLOR_TYPE_GRAYSCALE
							: channels == 2 ? SPNG_COLOR_TYPE_GRAYSCALE_ALPHA
							: channels == 3 ? SPNG_COLOR_TYPE_TRUECOLOR
									: SPNG_COLOR_TYPE_TRUECOLOR_ALPHA,
					  .interlace_method = interlaced };

	return make_png(pixels, ((size_t)width * channels * bits + 7) / 8 * height, &header, NULL, NULL);
}

static const struct picture_form as_it_is = { .height = HEIGHT,
					      .width = WIDTH,
					      .channels = 3,
					      .interpolation = INTERPOLATE_BILINEAR,
					      .orientation = true,
					      .pixels_max = 1000000 };

static int decode(const struct file *file, const struct picture_form *form, uint8_t *out, struct error *err)
{
	/* Memory of exactly this size, so that a sanitizer sees a read beyond the end. */
	uint8_t *exact = malloc(file->bytes ? file->bytes : 1);
	int r;

	assert_non_null(exact);
	memcpy(exact, file->data, file->bytes);
	r = picture_decode(decoder, form, centre, exact, file->bytes, out, err);
	free(exact);
	return r;
}

static void must_decode(const struct file *file, const struct picture_form *form, uint8_t *out)
{
	struct error err = { 0 };

	if (decode(file, form, out, &err) < 0)
		fail_msg("%s", err.text);
}

static void refused(const struct file *file, const struct picture_form *form, const char *words)
{
	static uint8_t out[SIDE_MAX * SIDE_MAX * 3];
	struct error err = { 0 };

	assert_int_equal(decode(file, form, out, &err), -EBADMSG);
	if (!strstr(err.text, words))
		fail_msg("found \"%s\", expected %s", err.text, words);
}

/* ---- The filters, once more ---- */

static double keys(double x)
{
	x = fabs(x);
	if (x < 1)
		return 1.5 * x * x * x - 2.5 * x * x + 1;
	return x < 2 ? -0.5 * x * x * x + 2.5 * x * x - 4 * x + 2 : 0;
}

static double weight(int interpolation, bool antialias, unsigned from, unsigned to, unsigned i, unsigned k)
{
	const double scale = (double)from / to, wide = antialias && scale > 1 ? scale : 1,
		     x = (k + 0.5 - (i + 0.5) * scale) / wide;

	switch (interpolation) {
	case INTERPOLATE_NEAREST:
		return (unsigned)floor((i + 0.5) * scale) == k;
	case INTERPOLATE_BILINEAR:
		return fabs(x) < 1 ? 1 - fabs(x) : 0;
	case INTERPOLATE_BICUBIC:
		return keys(x);
	default:
		return fmax(0, fmin((i + 1) * scale, k + 1.0) - fmax(i * scale, k));
	}
}

/* Value (i, j, c) of the picture in another size, in float64. */
static double resized(const uint8_t *pixels, const struct picture_form *form, unsigned i, unsigned j,
		      unsigned c)
{
	double sum = 0, total = 0;

	for (unsigned y = 0; y < HEIGHT; y++) {
		const double down = weight(form->interpolation, form->antialias, HEIGHT, form->height, i, y);

		for (unsigned x = 0; x < WIDTH && down != 0; x++) {
			const double w =
				down * weight(form->interpolation, form->antialias, WIDTH, form->width, j, x);

			sum += w * pixels[(y * WIDTH + x) * 3 + c];
			total += w;
		}
	}
	return fmin(255, fmax(0, sum / total));
}

static void every_filter(void **state)
{
	static const unsigned sizes[][2] = { { 29, 37 }, { 13, 11 }, { 64, 96 },
					     { 1, 1 },   { 29, 12 }, { 100, 7 } };
	uint8_t pixels[HEIGHT * WIDTH * 3], out[SIDE_MAX * SIDE_MAX * 3];
	struct file file;

	(void)state;
	paint(pixels, WIDTH, HEIGHT, 3);
	file = png_of(pixels, WIDTH, HEIGHT, 3, 8, false);
	for (unsigned n = 0; n < 8 * sizeof(sizes) / sizeof(*sizes); n++) {
		struct picture_form form = as_it_is;

		form.height = sizes[n / 8][0];
		form.width = sizes[n / 8][1];
		form.interpolation = (int)(n % 4);
		form.antialias = n / 4 % 2;
		must_decode(&file, &form, out);
		if (form.height == HEIGHT && form.width == WIDTH)
			assert_memory_equal(out, pixels, sizeof(pixels));
		for (unsigned v = 0; v < form.height * form.width * 3; v++) {
			const double expected =
				resized(pixels, &form, v / 3 / form.width, v / 3 % form.width, v % 3);

			if (fabs(out[v] - expected) > 1)
				fail_msg("%ux%u, filter %u: value %u is %u, expected %.2f", form.height,
					 form.width, n % 8, v, out[v], expected);
		}
	}
	free(file.data);
}

/* Thousands of pixels become a few: what rounding takes from each small weight must not meet in one pixel. */
static void small_weights(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 8; n++) {
		const struct picture_axis_key key = { 3000, 7, (int)(n % 4), n / 4, false, 4 };
		struct picture_axis axis = { 0 };
		struct error err;

		assert_int_equal(picture_axis_make(&axis, &key, &err), 0);
		for (unsigned i = 0; i < key.to; i++) {
			double total = 0;
			int sum = 0;

			for (unsigned k = 0; k < key.from; k++)
				total += weight(key.interpolation, key.antialias, key.from, key.to, i, k);
			for (unsigned k = 0; k < axis_taps(&axis, i); k++) {
				const unsigned at = axis_first(&axis, i) + k;
				const double exact = at < key.from ? weight(key.interpolation, key.antialias,
									    key.from, key.to, i, at)
								   : 0;

				assert_true(fabs(axis_weights(&axis, i)[k] - exact / total * 16384) <= 1);
				sum += axis_weights(&axis, i)[k];
			}
			assert_int_equal(sum, 16384);
		}
		picture_axis_done(&axis);
	}
}

/* The two ways of each pass, for widths that no vector fits: with many pixels for one, and with two. */
static void vectors_agree(void **state)
{
#ifdef __x86_64__
	static uint8_t line[700 * 4 + PICTURE_LINE_SPARE];
	static int16_t plain[700 * 3 + 64], fast[700 * 3 + 64];
	uint8_t out[700 * 3], other[700 * 3];

	(void)state;
	if (!__builtin_cpu_supports("avx2"))
		skip();
	for (unsigned i = 0; i < sizeof(line); i++)
		line[i] = (uint8_t)(i * 2654435761u >> 13);
	for (unsigned n = 2; n < 1400; n += n / 2 + 1) {
		const bool two = n % 2;
		const uint32_t to = n / 2;
		const struct picture_axis_key key = {
			613, to, two ? INTERPOLATE_BILINEAR : INTERPOLATE_BICUBIC, !two, false, 4
		};
		struct picture_axis axis = { 0 };
		const int16_t *lines[2000];
		struct error err;

		assert_int_equal(picture_axis_make(&axis, &key, &err), 0);
		assert_int_equal(axis.two_taps, two);
		picture_across(&axis, PICTURE_RGBX, line, false, plain);
		picture_across(&axis, PICTURE_RGBX, line, true, fast);
		assert_memory_equal(plain, fast, to * 3 * sizeof(*plain));
		for (unsigned k = 0; k < 2000; k++)
			lines[k] = plain + k % 7;
		picture_down(&axis, to / 2, lines, to * 3, false, out);
		picture_down(&axis, to / 2, lines, to * 3, true, other);
		assert_memory_equal(out, other, to * 3);
		picture_copy(PICTURE_RGBX, line, to, false, out);
		picture_copy(PICTURE_RGBX, line, to, true, other);
		assert_memory_equal(out, other, to * 3);
		assert_memory_equal(out + 3 * (to - 1), line + 4 * (to - 1), 3);
		picture_axis_done(&axis);
	}
#else
	(void)state;
	skip();
#endif
}

/* ---- Fit ---- */

/* A part of a PNG that crop cuts out, or that pad surrounds, is exact where its size stays. */
static void crop_and_pad(void **state)
{
	uint8_t pixels[HEIGHT * WIDTH * 3], out[SIDE_MAX * SIDE_MAX * 3];
	struct picture_form form = as_it_is;
	struct file file;
	struct error err = { 0 };
	bool seen[WIDTH - HEIGHT + 1] = { 0 };

	(void)state;
	paint(pixels, WIDTH, HEIGHT, 3);
	file = png_of(pixels, WIDTH, HEIGHT, 3, 8, false);
	form.fit = FIT_CROP;
	form.width = HEIGHT;
	must_decode(&file, &form, out);
	for (unsigned y = 0; y < HEIGHT; y++)
		assert_memory_equal(out + y * HEIGHT * 3, pixels + (y * WIDTH + (WIDTH - HEIGHT) / 2) * 3,
				    HEIGHT * 3);
	for (uint32_t word = 0; word < 200; word++) {
		const struct picture_place place = { true, 0xdeadbeef, word * 0x9e3779b9u };
		const uint32_t at = (uint32_t)((uint64_t)place.right * (WIDTH - HEIGHT + 1) >> 32);

		assert_int_equal(picture_decode(decoder, &form, place, file.data, file.bytes, out, &err), 0);
		assert_memory_equal(out, pixels + at * 3, HEIGHT * 3);
		seen[at] = true;
	}
	for (unsigned i = 0; i <= WIDTH - HEIGHT; i++)
		assert_true(seen[i]);

	form = as_it_is;
	form.fit = FIT_PAD;
	form.height = WIDTH;
	must_decode(&file, &form, out);
	for (unsigned y = 0; y < WIDTH; y++)
		for (unsigned v = 0; v < WIDTH * 3; v++) {
			const unsigned top = (WIDTH - HEIGHT) / 2;

			assert_int_equal(out[y * WIDTH * 3 + v], y >= top && y < top + HEIGHT
									 ? pixels[(y - top) * WIDTH * 3 + v]
									 : 0);
		}
	free(file.data);
}

/* ---- Orientation ---- */

/* Pixel (y, x) of the upright picture in a file of this orientation. */
static const uint8_t *upright(const uint8_t *pixels, unsigned orientation, unsigned y, unsigned x)
{
	const unsigned bottom = HEIGHT - 1, right = WIDTH - 1;
	const struct {
		unsigned y, x;
	} at[] = { { 0 },
		   { y, x },
		   { y, right - x },
		   { bottom - y, right - x },
		   { bottom - y, x },
		   { x, y },
		   { bottom - x, y },
		   { bottom - x, right - y },
		   { x, right - y } };

	return pixels + (at[orientation].y * WIDTH + at[orientation].x) * 3;
}

static void all_orientations(void **state)
{
	uint8_t pixels[HEIGHT * WIDTH * 3], out[SIDE_MAX * SIDE_MAX * 3], turned[SIDE_MAX * SIDE_MAX * 3];
	uint8_t exif[MADE_EXIF_BYTES];

	(void)state;
	paint(pixels, WIDTH, HEIGHT, 3);
	for (unsigned n = 2; n < 18; n++) {
		const unsigned orientation = n / 2, width = orientation < 5 ? WIDTH : HEIGHT,
			       height = orientation < 5 ? HEIGHT : WIDTH;
		const struct spng_ihdr header = { WIDTH, HEIGHT, 8, SPNG_COLOR_TYPE_TRUECOLOR, 0, 0, 0 };
		struct spng_exif given = { sizeof(exif) - 6, (char *)exif + 6 };
		struct picture_form form = as_it_is;
		struct picture_head head;
		struct error err;
		struct file file, already;

		make_exif(exif, n % 2, (uint8_t)orientation);
		file = make_png(pixels, sizeof(pixels), &header, NULL, &given);
		assert_int_equal(picture_head(file.data, file.bytes, &head, &err), 0);
		assert_int_equal(head.orientation, orientation);
		form.width = width;
		form.height = height;
		must_decode(&file, &form, out);
		for (unsigned i = 0; i < width * height; i++)
			assert_memory_equal(out + i * 3, upright(pixels, orientation, i / width, i % width),
					    3);
		/* With a filter, a crop and bars: as a file that was turned before, whatever direction comes
		 * first. */
		already = png_of(out, width, height, 3, 8, false);
		form.height = 17;
		form.width = 23;
		form.antialias = true;
		for (int fit = FIT_STRETCH; fit <= FIT_PAD; fit++) {
			form.fit = fit;
			must_decode(&already, &form, out);
			must_decode(&file, &form, turned);
			for (unsigned v = 0; v < 17 * 23 * 3; v++)
				assert_in_range(out[v] - turned[v] + 1, 0, 2);
		}
		form.orientation = false;
		form.height = HEIGHT;
		form.width = WIDTH;
		form.fit = FIT_STRETCH;
		must_decode(&file, &form, out);
		assert_memory_equal(out, pixels, sizeof(pixels));
		free(already.data);
		free(file.data);
	}
}

static void hostile_exif(void **state)
{
	uint8_t exif[MADE_EXIF_BYTES];

	(void)state;
	for (unsigned bytes = 0; bytes < MADE_EXIF_BYTES - 6; bytes++)
		for (unsigned at = 0; at < MADE_EXIF_BYTES - 6; at++)
			for (unsigned value = 0; value < 256; value += 5) {
				uint8_t *exact = malloc(bytes + 1);
				uint32_t found;

				make_exif(exif, value % 2, 6);
				exif[6 + at] = (uint8_t)value;
				memcpy(exact, exif + 6, bytes);
				found = picture_exif_orientation(exact, bytes);
				assert_in_range(found, 1, 8);
				free(exact);
			}
	make_exif(exif, false, 9);
	assert_int_equal(picture_exif_orientation(exif + 6, sizeof(exif) - 6), 1);
}

/* ---- PNG ---- */

static void every_png(void **state)
{
	static const unsigned bits[] = { 1, 2, 4, 8, 16 };
	struct picture_form form = as_it_is;
	uint8_t samples[HEIGHT * WIDTH * 8], out[SIDE_MAX * SIDE_MAX * 3];

	(void)state;
	form.channels = 1;
	for (unsigned n = 0; n < 10; n++) { /* gray */
		const unsigned depth = bits[n / 2], line = (WIDTH * depth + 7) / 8, most = (1u << depth) - 1;
		struct file file;

		paint(samples, line, HEIGHT, 1);
		file = png_of(samples, WIDTH, HEIGHT, 1, depth, n % 2);
		must_decode(&file, &form, out);
		for (unsigned i = 0; i < HEIGHT * WIDTH; i++) {
			const unsigned x = i % WIDTH * depth;
			const uint8_t *at = samples + i / WIDTH * line + x / 8;
			/* 16 bits, here in this processor's order, lose their lower half */
			const unsigned value =
				depth == 16 ? at[1] : (*at >> (8 - depth - x % 8) & most) * 255 / most;

			assert_int_equal(out[i], value);
		}
		free(file.data);
	}
	form.channels = 3;
	for (unsigned n = 0; n < 6; n++) { /* colour with transparency, which is dropped */
		const unsigned channels = n / 2 + 2, used = channels == 2 ? 1 : 3;
		struct file file;

		paint(samples, WIDTH, HEIGHT, channels);
		file = png_of(samples, WIDTH, HEIGHT, channels, 8, n % 2);
		must_decode(&file, &form, out);
		for (unsigned v = 0; v < HEIGHT * WIDTH * 3; v++)
			assert_int_equal(out[v], samples[v / 3 * channels + v % 3 % used]);
		free(file.data);
	}
}

static void palette(void **state)
{
	const struct spng_ihdr header = { WIDTH, HEIGHT, 4, SPNG_COLOR_TYPE_INDEXED, 0, 0, 0 };
	struct spng_plte colours = { .n_entries = 16 };
	uint8_t samples[HEIGHT * ((WIDTH + 1) / 2)], out[SIDE_MAX * SIDE_MAX * 3];
	struct file file;

	(void)state;
	for (unsigned i = 0; i < 16; i++)
		colours.entries[i] = (struct spng_plte_entry){ (uint8_t)(i * 16), (uint8_t)(255 - i),
							       (uint8_t)(i * i), 255 };
	paint(samples, (WIDTH + 1) / 2, HEIGHT, 1);
	file = make_png(samples, sizeof(samples), &header, &colours, NULL);
	must_decode(&file, &as_it_is, out);
	for (unsigned i = 0; i < HEIGHT * WIDTH; i++) {
		const unsigned x = i % WIDTH,
			       index = samples[i / WIDTH * ((WIDTH + 1) / 2) + x / 2] >> (x % 2 ? 0 : 4) & 15;

		assert_int_equal(out[i * 3], colours.entries[index].red);
		assert_int_equal(out[i * 3 + 1], colours.entries[index].green);
		assert_int_equal(out[i * 3 + 2], colours.entries[index].blue);
	}
	free(file.data);
}

/* ---- JPEG ---- */

/* What the library makes of a file, as djpeg does. */
static void by_the_library(const struct file *file, J_COLOR_SPACE space, uint8_t *out)
{
	struct jpeg_decompress_struct jpeg = { 0 };
	struct jpeg_error_mgr errors;

	jpeg.err = jpeg_std_error(&errors);
	jpeg_create_decompress(&jpeg);
	jpeg_mem_src(&jpeg, file->data, file->bytes);
	(void)jpeg_read_header(&jpeg, TRUE);
	jpeg.out_color_space = space;
	(void)jpeg_start_decompress(&jpeg);
	while (jpeg.output_scanline < jpeg.output_height) {
		JSAMPROW row = out + (size_t)jpeg.output_scanline * jpeg.output_width *
					     (unsigned)jpeg.output_components;

		(void)jpeg_read_scanlines(&jpeg, &row, 1);
	}
	(void)jpeg_finish_decompress(&jpeg);
	jpeg_destroy_decompress(&jpeg);
}

static void every_jpeg(void **state)
{
	static const struct jpeg_kind kinds[] = {
		{ .space = JCS_RGB, .quality = 90 },
		{ .space = JCS_RGB, .quality = 75, .small_chroma = true },
		{ .space = JCS_RGB, .quality = 75, .small_chroma = true, .progressive = true },
		{ .space = JCS_RGB, .written = JCS_RGB, .quality = 95 },
		{ .space = JCS_GRAYSCALE, .quality = 80 },
		{ .space = JCS_GRAYSCALE, .quality = 80, .progressive = true },
		{ .space = JCS_RGB, .quality = 60, .restart_rows = 1 },
	};
	uint8_t pixels[HEIGHT * WIDTH * 3], out[SIDE_MAX * SIDE_MAX * 3], expected[SIDE_MAX * SIDE_MAX * 3];

	(void)state;
	for (size_t n = 0; n < sizeof(kinds) / sizeof(*kinds); n++) {
		struct picture_form form = as_it_is;
		struct file file;

		paint(pixels, WIDTH, HEIGHT, 3);
		file = make_jpeg(pixels, WIDTH, HEIGHT, &kinds[n]);
		by_the_library(&file, JCS_RGB, expected);
		must_decode(&file, &form, out);
		assert_memory_equal(out, expected, sizeof(pixels));
		form.channels = 1;
		by_the_library(&file, JCS_GRAYSCALE, expected);
		must_decode(&file, &form, out);
		assert_memory_equal(out, expected, HEIGHT * WIDTH);
		free(file.data);
	}
	assert_int_equal(picture_warnings(decoder), 0);
}

static void cmyk(void **state)
{
	static const J_COLOR_SPACE spaces[] = { JCS_CMYK, JCS_YCCK };
	uint8_t pixels[HEIGHT * WIDTH * 4], out[SIDE_MAX * SIDE_MAX * 3], ink[HEIGHT * WIDTH * 4];

	(void)state;
	paint(pixels, WIDTH, HEIGHT, 4);
	for (size_t n = 0; n < 2; n++) {
		const struct jpeg_kind kind = { .space = JCS_CMYK, .written = spaces[n], .quality = 90 };
		struct picture_form form = as_it_is;
		struct file file = make_jpeg(pixels, WIDTH, HEIGHT, &kind);

		by_the_library(&file, JCS_CMYK, ink);
		must_decode(&file, &form, out);
		for (unsigned i = 0; i < HEIGHT * WIDTH * 3; i++)
			assert_int_equal(out[i], ink[i / 3 * 4 + i % 3] * ink[i / 3 * 4 + 3] / 255);
		form.channels = 1;
		must_decode(&file, &form, out);
		free(file.data);
	}
}

/* Decoded at a half by the library: near the picture that the filter makes smaller. */
static void scaled(void **state)
{
	const struct jpeg_kind kind = { .space = JCS_RGB, .quality = 95 };
	uint8_t pixels[96 * 128 * 3], small[12 * 16 * 3], other[12 * 16 * 3];
	struct picture_form form = as_it_is;
	struct file file;
	double difference = 0;

	(void)state;
	for (unsigned i = 0; i < sizeof(pixels); i++)
		pixels[i] = (uint8_t)(i / 3 % 128 + i / 3 / 128);
	file = make_jpeg(pixels, 128, 96, &kind);
	form.height = 12;
	form.width = 16;
	form.antialias = true;
	must_decode(&file, &form, other);
	form.scaled_decode = true;
	must_decode(&file, &form, small);
	for (unsigned i = 0; i < sizeof(small); i++)
		difference += abs(small[i] - other[i]);
	assert_true(difference / sizeof(small) < 4);
	free(file.data);
}

/* Returns the file without its segments of this marker. All segments lie before the first scan. */
static struct file without(const struct file *file, uint8_t marker)
{
	struct file left = { malloc(file->bytes), 2 };

	memcpy(left.data, file->data, 2);
	for (unsigned long at = 2, bytes; at < file->bytes; at += bytes) {
		const uint8_t *segment = file->data + at;

		bytes = segment[1] == 0xda ? file->bytes - at
					   : 2ul + ((unsigned long)segment[2] << 8 | segment[3]);
		if (segment[1] == marker)
			continue;
		memcpy(left.data + left.bytes, segment, bytes);
		left.bytes += bytes;
	}
	return left;
}

/* A file that lacks a table gets none from the file before it: the values of a picture are the same whatever
 * this decoder has read. */
static void tables_of_another_file(void **state)
{
	const struct jpeg_kind plain = { .space = JCS_RGB, .quality = 80 },
			       other = { .space = JCS_RGB, .quality = 40, .progressive = true };
	uint8_t pixels[HEIGHT * WIDTH * 3], out[sizeof(pixels)], expected[sizeof(pixels)];
	struct file file, before, bare;

	(void)state;
	paint(pixels, WIDTH, HEIGHT, 3);
	file = make_jpeg(pixels, WIDTH, HEIGHT, &plain);
	before = make_jpeg(pixels, WIDTH, HEIGHT, &other);
	bare = without(&file, 0xc4); /* its Huffman tables, which are the standard ones, as in Motion JPEG */
	must_decode(&file, &as_it_is, expected);
	must_decode(&before, &as_it_is, out);
	must_decode(&bare, &as_it_is, out);
	assert_memory_equal(out, expected, sizeof(out));
	free(bare.data);
	bare = without(&file, 0xdb); /* its quantization tables, of which there is no standard */
	must_decode(&before, &as_it_is, out);
	refused(&bare, &as_it_is, "Quantization table");
	free(bare.data);
	free(before.data);
	free(file.data);
}

/* ---- Bad files ---- */

static void truncated(void **state)
{
	static const struct jpeg_kind kinds[] = { { .space = JCS_RGB, .quality = 90 },
						  { .space = JCS_RGB, .quality = 90, .progressive = true },
						  { .space = JCS_RGB, .quality = 60, .restart_rows = 1 } };
	uint8_t pixels[HEIGHT * WIDTH * 3], out[sizeof(pixels)], whole[sizeof(pixels)];
	struct file file;
	struct error err;

	(void)state;
	paint(pixels, WIDTH, HEIGHT, 3);
	for (size_t n = 0; n < 5; n++) {
		file = n < 3 ? make_jpeg(pixels, WIDTH, HEIGHT, &kinds[n])
			     : png_of(pixels, WIDTH, HEIGHT, 3, 8, n == 4);
		must_decode(&file, &as_it_is, whole);
		for (unsigned long bytes = 0; bytes < file.bytes; bytes++) {
			const struct file cut = { file.data, bytes };

			/* What is read without an error has every pixel. */
			if (decode(&cut, &as_it_is, out, &err) == 0)
				assert_memory_equal(out, whole, sizeof(out));
			else if (bytes > file.bytes - 2 && n < 3 && n != 1)
				fail_msg("a JPEG without its last byte: %s", err.text);
		}
		free(file.data);
	}
}

static void other_formats(void **state)
{
	static const struct {
		const char *bytes;
		unsigned count;
		const char *words;
	} cases[] = {
		{ "GIF89a..........", 16, "a GIF file" },
		{ "RIFF....WEBPVP8 ", 16, "a WebP file" },
		{ "BM..............", 16, "a BMP file" },
		{ "\0\0\0\x18"
		  "ftypheic....",
		  16, "a HEIC file" },
		{ "\0\0\0\x18"
		  "ftypavif....",
		  16, "an AVIF file" },
		{ "II*\0............", 16, "a TIFF file" },
		{ "<html>", 6, "the bytes 3c 68 74 6d" },
		{ "", 0, "found 0 bytes" },
		{ "\xff\xd8\xff", 3, "JPEG of 3 bytes, at byte 3" },
		{ "\x89PNG\r\n\x1a\n", 8, "PNG of 8 bytes" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		refused(&(struct file){ (uint8_t *)(uintptr_t)cases[i].bytes, cases[i].count }, &as_it_is,
			cases[i].words);
}

static void bombs(void **state)
{
	uint8_t pixels[HEIGHT * WIDTH * 3];
	struct picture_form form = as_it_is;
	struct file file;

	(void)state;
	paint(pixels, WIDTH, HEIGHT, 3);
	form.pixels_max = HEIGHT * WIDTH - 1;
	file = png_of(pixels, WIDTH, HEIGHT, 3, 8, false);
	refused(&file, &form, "37 x 29 pixels, at most 1072");
	free(file.data);
}

/* A PNG of zeros: some KB, however many pixels. */
static struct file zeros(unsigned width, unsigned height, bool interlaced)
{
	const size_t bytes = (size_t)(width + 7) / 8 * height;
	void *pixels = calloc(1, bytes);
	struct file file = make_png(pixels, bytes,
				    &(struct spng_ihdr){ .width = width,
							 .height = height,
							 .bit_depth = 1,
							 .color_type = SPNG_COLOR_TYPE_GRAYSCALE,
							 .interlace_method = interlaced },
				    NULL, NULL);

	free(pixels);
	return file;
}

/* A line takes memory, and so does each line that a pixel of the result is made of. */
static void sides(void **state)
{
	struct file wide = zeros(65536, 1, false), tall = zeros(1, 65536, false),
		    most = zeros(65535, 1, false);
	static uint8_t out[SIDE_MAX * SIDE_MAX * 3];

	(void)state;
	refused(&wide, &as_it_is, "found 65536 x 1 pixels, at most 65535 in one direction");
	refused(&tall, &as_it_is, "found 1 x 65536 pixels, at most 65535 in one direction");
	must_decode(&most, &as_it_is, out);
	free(wide.data);
	free(tall.data);
	free(most.data);
}

static const struct picture_form large = {
	.height = 8, .width = 8, .channels = 3, .interpolation = INTERPOLATE_NEAREST, .pixels_max = 64000000
};

enum { DECODERS = 3, LARGE_SIDE = 4200 };

static void *decode_large(void *file)
{
	struct picture_decoder *own = NULL;
	const struct file *from = file;
	uint8_t out[8 * 8 * 3];
	struct error err;

	if (picture_decoder_new(&own, &err) < 0 ||
	    picture_decode(own, &large, centre, from->data, from->bytes, out, &err) < 0)
		_exit(1);
	return own;
}

/* In a process of its own, whose peak is that of the decoders. */
static int memory_of_decoders(struct file *file)
{
	const uint64_t whole = (uint64_t)LARGE_SIDE * LARGE_SIDE * 4;
	pthread_t thread[DECODERS];
	struct rusage usage;
	void *own;

	for (unsigned i = 0; i < DECODERS; i++)
		(void)pthread_create(&thread[i], NULL, decode_large, file);
	for (unsigned i = 0; i < DECODERS; i++) {
		(void)pthread_join(thread[i], &own);
		picture_decoder_free(own);
	}
	(void)getrusage(RUSAGE_SELF, &usage);
	return (uint64_t)usage.ru_maxrss << 10 < 2 * whole ? 0 : 2;
}

/* A sanitizer keeps what is freed. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FREED_IS_FREE false
#else
#define FREED_IS_FREE true
#endif

/* Each core has a decoder: large files that lie in memory as a whole take their turns. */
static void one_large_file_at_a_time(void **state)
{
	struct file file;
	pid_t child;
	int status;

	(void)state;
	if (!FREED_IS_FREE)
		skip();
	file = zeros(LARGE_SIDE, LARGE_SIDE, true);
	child = fork();
	if (child == 0)
		_exit(memory_of_decoders(&file));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	free(file.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_filter),
		cmocka_unit_test(small_weights),
		cmocka_unit_test(vectors_agree),
		cmocka_unit_test(crop_and_pad),
		cmocka_unit_test(all_orientations),
		cmocka_unit_test(hostile_exif),
		cmocka_unit_test(every_png),
		cmocka_unit_test(palette),
		cmocka_unit_test(every_jpeg),
		cmocka_unit_test(cmyk),
		cmocka_unit_test(scaled),
		cmocka_unit_test(truncated),
		cmocka_unit_test(other_formats),
		cmocka_unit_test(bombs),
		cmocka_unit_test(tables_of_another_file),
		cmocka_unit_test(sides),
		cmocka_unit_test(one_large_file_at_a_time),
	};

	return cmocka_run_group_tests_name("picture", tests, open_decoder, close_decoder);
}
