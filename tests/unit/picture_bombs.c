/* SPDX-License-Identifier: Apache-2.0 */
/* Small files that ask for much: each is refused before the memory is taken, or decoded with little. */
#include "data/picture.h"
#include "tests/unit/picture_make.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#define SIDE      16u
#define FILE_MOST (24u << 20)
#define MB        (UINT64_C(1) << 20)

/* A sanitizer has memory of its own. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MEASURED false
#else
#define MEASURED true
#endif

static const struct picture_form form = { .height = SIDE,
					  .width = SIDE,
					  .channels = 3,
					  .interpolation = INTERPOLATE_BILINEAR,
					  .orientation = true,
					  .pixels_max = 64000000 };

static uint64_t peak_bytes(void)
{
	struct rusage usage;

	(void)getrusage(RUSAGE_SELF, &usage);
	return (uint64_t)usage.ru_maxrss << 10;
}

/* Exit status: 0 as expected; 1 another result; 2 too much memory. */
static int try(const struct file *file, const char *words, uint64_t most)
{
	const uint64_t before = peak_bytes();
	struct picture_decoder *decoder = NULL;
	uint8_t out[SIDE * SIDE * 3];
	struct error err = { 0 };
	int r;

	if (picture_decoder_new(&decoder, &err) < 0)
		return 1;
	r = picture_decode(decoder, &form, (struct picture_place){ 0 }, file->data, file->bytes, out, &err);
	if (words ? r != -EBADMSG || !strstr(err.text, words) : r < 0) {
		print_message("found %d \"%s\"\n", r, err.text);
		return 1;
	}
	picture_decoder_free(decoder);
	if (MEASURED && peak_bytes() - before > most) {
		print_message("%lu KiB\n", (unsigned long)((peak_bytes() - before) >> 10));
		return 2;
	}
	return 0;
}

/* Decodes in a process of its own, whose peak is that of the decoder. `words` NULL: the file is good. */
static void expect(const char *label, struct file file, const char *words, uint64_t most)
{
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(try(&file, words, most));
	assert_int_equal(waitpid(child, &status, 0), child);
	if (status != 0)
		fail_msg("%s: %s", label, WEXITSTATUS(status) == 2 ? "too much memory" : "another result");
	free(file.data);
}

/* ---- JPEG ---- */

static struct file jpeg_of(unsigned side, bool progressive)
{
	const struct jpeg_kind kind = { .space = JCS_RGB, .quality = 90, .progressive = progressive };
	uint8_t *pixels = calloc(side, (size_t)side * 3);
	struct file file;

	assert_non_null(pixels);
	for (size_t i = 0; i < (size_t)side * side * 3; i++)
		pixels[i] = (uint8_t)(i * 2654435761u >> 24);
	file = make_jpeg(pixels, side, side, &kind);
	free(pixels);
	return file;
}

/* Writes another size into the head of a frame, which is the marker 0xff `marker`. */
static struct file of_size(struct file file, uint8_t marker, unsigned side)
{
	unsigned long at = 2;

	while (file.data[at + 1] != marker)
		at += 2u + ((unsigned)file.data[at + 2] << 8 | file.data[at + 3]);
	for (unsigned i = 0; i < 2; i++) {
		file.data[at + 5 + 2 * i] = (uint8_t)(side >> 8);
		file.data[at + 6 + 2 * i] = (uint8_t)side;
	}
	return file;
}

/* A JPEG of so many scans: the means, then each coefficient of each component by itself. */
static struct file of_scans(unsigned scans)
{
	static jpeg_scan_info scan[256];
	struct jpeg_compress_struct jpeg = { 0 };
	struct jpeg_error_mgr errors;
	struct file file = { 0 };
	uint8_t line[SIDE * 3];
	JSAMPROW row = line;

	scan[0] = (jpeg_scan_info){ .comps_in_scan = 3, .component_index = { 0, 1, 2 } };
	for (unsigned i = 1; i < scans; i++)
		scan[i] = (jpeg_scan_info){ .comps_in_scan = 1,
					    .component_index = { (int)((i - 1) / 63) },
					    .Ss = (int)((i - 1) % 63 + 1),
					    .Se = (int)((i - 1) % 63 + 1) };
	jpeg.err = jpeg_std_error(&errors);
	jpeg_create_compress(&jpeg);
	jpeg_mem_dest(&jpeg, &file.data, &file.bytes);
	jpeg.image_width = jpeg.image_height = SIDE;
	jpeg.input_components = 3;
	jpeg.in_color_space = JCS_RGB;
	jpeg_set_defaults(&jpeg);
	jpeg.scan_info = scan;
	jpeg.num_scans = (int)scans;
	jpeg_start_compress(&jpeg, TRUE);
	while (jpeg.next_scanline < SIDE) {
		memset(line, (int)(jpeg.next_scanline * 15), sizeof(line));
		(void)jpeg_write_scanlines(&jpeg, &row, 1);
	}
	jpeg_finish_compress(&jpeg);
	jpeg_destroy_compress(&jpeg);
	return file;
}

static void jpeg_pixels(void **state)
{
	(void)state;
	expect("baseline", of_size(jpeg_of(SIDE, false), 0xc0, 65500),
	       "found 65500 x 65500 pixels, at most 64000000 (pixels_max)", 4 * MB);
	expect("progressive", of_size(jpeg_of(SIDE, true), 0xc2, 65500),
	       "found 65500 x 65500 pixels, at most 64000000 (pixels_max)", 4 * MB);
	expect("allowed", jpeg_of(2000, false), NULL, 12 * MB);
}

static void jpeg_scans(void **state)
{
	(void)state;
	expect("so many are allowed", of_scans(PICTURE_SCANS_MAX), NULL, 8 * MB);
	expect("one more", of_scans(PICTURE_SCANS_MAX + 1), "more than 100 scans", 8 * MB);
	expect("all that there can be", of_scans(1 + 3 * 63), "more than 100 scans", 8 * MB);
}

/* ---- PNG ---- */

static void put_u32(uint8_t *at, uint64_t number)
{
	for (unsigned i = 0; i < 4; i++)
		at[i] = (uint8_t)(number >> (24 - 8 * i));
}

static void add_chunk(struct file *file, const char *type, const void *data, unsigned long bytes)
{
	uint8_t *at = file->data + file->bytes;

	assert_true(file->bytes + bytes + 12 <= FILE_MOST);
	put_u32(at, bytes);
	memcpy(at + 4, type, 4);
	if (bytes)
		memcpy(at + 8, data, bytes);
	put_u32(at + 8 + bytes, crc32(0, at + 4, (uInt)bytes + 4));
	file->bytes += bytes + 12;
}

static struct file begin_png(unsigned width, unsigned height)
{
	struct file file = { malloc(FILE_MOST), 8 };
	uint8_t header[13] = { [8] = 8, [9] = 0 };

	assert_non_null(file.data);
	memcpy(file.data, "\x89PNG\r\n\x1a\n", 8);
	put_u32(header, width);
	put_u32(header + 4, height);
	add_chunk(&file, "IHDR", header, sizeof(header));
	return file;
}

static struct file end_png(struct file file)
{
	uint8_t lines[SIDE * (SIDE + 1)] = { 0 }, packed[1024];
	unsigned long bytes = sizeof(packed);

	assert_int_equal(compress(packed, &bytes, lines, sizeof(lines)), Z_OK);
	add_chunk(&file, "IDAT", packed, bytes);
	add_chunk(&file, "IEND", NULL, 0);
	return file;
}

/* A chunk that begins with `head`, then `bytes` zeros, deflated or as they are. */
static void add_zeros(struct file *file, const char *type, const char *head, unsigned long head_bytes,
		      unsigned long bytes, bool deflated)
{
	unsigned long packed = compressBound(bytes);
	uint8_t *data = calloc(1, head_bytes + packed), *from = calloc(1, bytes);

	assert_non_null(data);
	assert_non_null(from);
	memcpy(data, head, head_bytes);
	if (deflated)
		assert_int_equal(compress(data + head_bytes, &packed, from, bytes), Z_OK);
	add_chunk(file, type, data, head_bytes + (deflated ? packed : bytes));
	free(from);
	free(data);
}

static void png_pixels(void **state)
{
	(void)state;
	expect("claimed", end_png(begin_png(60000, 60000)),
	       "found 60000 x 60000 pixels, at most 64000000 (pixels_max)", 4 * MB);
	expect("allowed", end_png(begin_png(SIDE, SIDE)), NULL, 4 * MB);
}

static void png_chunks(void **state)
{
	static const struct {
		const char *label, *type, *head;
		unsigned long head_bytes, bytes;
		bool deflated, good;
	} cases[] = {
		{ "text that inflates to 100 MB", "zTXt", "k\0\0", 3, 100 << 20, true, false },
		{ "UTF-8 that inflates to 100 MB", "iTXt", "k\0\1\0\0\0", 6, 100 << 20, true, false },
		{ "a profile that inflates to 100 MB", "iCCP", "k\0\0", 3, 100 << 20, true, false },
		{ "a plain text of 20 MB", "tEXt", "k\0", 2, 20 << 20, false, false },
		{ "a profile of 1 MB", "iCCP", "k\0\0", 3, 1 << 20, true, true },
		{ "an unknown chunk of 20 MB", "abCd", "", 0, 20 << 20, false, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct file file = begin_png(SIDE, SIDE);

		add_zeros(&file, cases[i].type, cases[i].head, cases[i].head_bytes, cases[i].bytes,
			  cases[i].deflated);
		expect(cases[i].label, end_png(file), cases[i].good ? NULL : "at most 16777216 bytes in all",
		       40 * MB);
	}
}

static void png_many_chunks(void **state)
{
	struct file file = begin_png(SIDE, SIDE), inflated = begin_png(SIDE, SIDE),
		    claimed = begin_png(SIDE, SIDE);

	(void)state;
	for (unsigned i = 0; i < 200000; i++)
		add_chunk(&file, "tEXt", "k\0a", 3);
	expect("200 000 chunks", end_png(file), "at most 16777216 bytes in all", 40 * MB);
	for (unsigned i = 0; i < 10; i++)
		add_zeros(&inflated, "zTXt", "k\0\0", 3, 5 << 20, true);
	expect("ten texts of 5 MB", end_png(inflated), "at most 16777216 bytes in all", 40 * MB);
	put_u32(claimed.data + claimed.bytes, 0x7fffffff);
	memcpy(claimed.data + claimed.bytes + 4, "eXIf", 4);
	claimed.bytes += 8;
	expect("a chunk that claims 2 GB", claimed, "at most 16777216 bytes in all", 4 * MB);
}

/* ---- Warnings ---- */

/* Bytes that belong to nothing, behind the first segment: the picture has all its pixels. */
static void a_warning_is_counted(void **state)
{
	struct picture_decoder *decoder = NULL;
	uint8_t out[2][SIDE * SIDE * 3];
	struct file file = jpeg_of(SIDE, false), more = { malloc(file.bytes + 3), file.bytes + 3 };
	const unsigned long at = 4ul + ((unsigned)file.data[4] << 8 | file.data[5]);
	struct error err = { 0 };

	(void)state;
	assert_non_null(more.data);
	memcpy(more.data, file.data, at);
	memcpy(more.data + at, "abc", 3);
	memcpy(more.data + at + 3, file.data + at, file.bytes - at);
	assert_int_equal(picture_decoder_new(&decoder, &err), 0);
	for (unsigned i = 0; i < 2; i++) {
		const struct file *from = i ? &more : &file;

		assert_int_equal(picture_decode(decoder, &form, (struct picture_place){ 0 }, from->data,
						from->bytes, out[i], &err),
				 0);
		assert_int_equal(picture_warnings(decoder), i);
	}
	assert_memory_equal(out[0], out[1], sizeof(out[0]));
	picture_decoder_free(decoder);
	free(file.data);
	free(more.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jpeg_pixels),     cmocka_unit_test(jpeg_scans),
		cmocka_unit_test(png_pixels),      cmocka_unit_test(png_chunks),
		cmocka_unit_test(png_many_chunks), cmocka_unit_test(a_warning_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
