/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures how fast one core makes JPEG files into squares of uint8, from memory: by data/picture.h with the
 * bilinear filter, without and with antialias, and, in the same rounds, by libjpeg-turbo, which only decodes.
 *
 * Usage: picture LIST SIDE        LIST: a file with one path a line. Prints three numbers, pictures per
 * second: libjpeg-turbo alone, bilinear, bilinear with antialias. picture LIST SIDE OUT    writes the values
 * instead: all pictures bilinear, then all with antialias, each uint8 [SIDE, SIDE, 3].
 */
#include "data/picture.h"
#include "core/base/cleanup.h"
#include "core/base/paths.h"
#include "tests/bench/measure.h"

#include <stdio.h>
#include <string.h>

#include <jpeglib.h>

#define FILES_MAX  4096u
#define FILE_MAX   (UINT64_C(1) << 26)
#define ROUNDS     5u
#define LINE_BYTES 4096u

enum { DECODE, BILINEAR, ANTIALIAS, KINDS };

struct bench {
	char *file[FILES_MAX];
	uint64_t bytes[FILES_MAX];
	uint32_t files, side;
	struct picture_decoder *decoder;
	uint8_t *values, *line; /* one result; one line of a decoded file */
};

static double cpu_seconds(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int read_files(const char *list, struct bench *bench, struct error *err)
{
	CLEANUP(close_file) FILE *paths = fopen(list, "re");
	char path[LINE_BYTES];
	int r;

	if (!paths)
		return error_set(err, -errno, "%s: cannot open it", list);
	while (fgets(path, sizeof(path), paths) && bench->files < FILES_MAX) {
		path[strcspn(path, "\n")] = '\0';
		r = file_read(path, FILE_MAX, &bench->file[bench->files], &bench->bytes[bench->files], err);
		if (r < 0)
			return r;
		bench->files++;
	}
	return bench->files > 0 ? 0 : error_set(err, -EINVAL, "%s: no paths", list);
}

/* Decodes a file as the picture decoder does, without a filter. */
static void decode_alone(const struct bench *bench, uint32_t i)
{
	struct jpeg_decompress_struct jpeg;
	struct jpeg_error_mgr errors;
	JSAMPROW line = bench->line;

	jpeg.err = jpeg_std_error(&errors);
	jpeg_create_decompress(&jpeg);
	jpeg_mem_src(&jpeg, (const unsigned char *)bench->file[i], bench->bytes[i]);
	(void)jpeg_read_header(&jpeg, TRUE);
	jpeg.out_color_space = JCS_RGB;
	jpeg.dct_method = JDCT_ISLOW;
	(void)jpeg_start_decompress(&jpeg);
	while (jpeg.output_scanline < jpeg.output_height)
		(void)jpeg_read_scanlines(&jpeg, &line, 1);
	(void)jpeg_finish_decompress(&jpeg);
	jpeg_destroy_decompress(&jpeg);
}

static int make_picture(const struct bench *bench, uint32_t i, bool antialias, struct error *err)
{
	const struct picture_form form = { .height = bench->side,
					   .width = bench->side,
					   .channels = 3,
					   .interpolation = INTERPOLATE_BILINEAR,
					   .antialias = antialias,
					   .fit = FIT_STRETCH,
					   .pixels_max = 64000000 };

	return picture_decode(bench->decoder, &form, (struct picture_place){ 0 }, bench->file[i],
			      bench->bytes[i], bench->values, err);
}

static uint64_t value_bytes(const struct bench *bench)
{
	return (uint64_t)bench->side * bench->side * 3;
}

static int write_values(const struct bench *bench, const char *path, struct error *err)
{
	CLEANUP(close_file) FILE *out = fopen(path, "we");
	int r;

	if (!out)
		return error_set(err, -errno, "%s: cannot open it", path);
	for (int antialias = 0; antialias <= 1; antialias++)
		for (uint32_t i = 0; i < bench->files; i++) {
			if ((r = make_picture(bench, i, antialias, err)) < 0)
				return r;
			if (fwrite(bench->values, value_bytes(bench), 1, out) != 1)
				return error_set(err, -EIO, "%s: cannot write it", path);
		}
	return 0;
}

static int run(const struct bench *bench, int kind, double *ret_rate, struct error *err)
{
	const double start = cpu_seconds();
	int r = 0;

	for (uint32_t i = 0; i < bench->files && r == 0; i++)
		if (kind == DECODE)
			decode_alone(bench, i);
		else
			r = make_picture(bench, i, kind == ANTIALIAS, err);
	*ret_rate = bench->files / (cpu_seconds() - start);
	return r;
}

static int measure(const struct bench *bench, struct error *err)
{
	double rate[KINDS][ROUNDS];
	int r;

	for (uint32_t round = 0; round < ROUNDS; round++)
		for (int kind = 0; kind < KINDS; kind++)
			if ((r = run(bench, kind, &rate[kind][round], err)) < 0)
				return r;
	printf("%.1f %.1f %.1f\n", median(rate[DECODE], ROUNDS), median(rate[BILINEAR], ROUNDS),
	       median(rate[ANTIALIAS], ROUNDS));
	return 0;
}

static int bench_pictures(int argc, char **argv, struct bench *bench, struct error *err)
{
	int r = read_files(argv[1], bench, err);

	if (r < 0 || (r = picture_decoder_new(&bench->decoder, err)) < 0)
		return r;
	bench->side = (uint32_t)strtoul(argv[2], NULL, 10);
	bench->values = malloc(value_bytes(bench));
	bench->line = malloc(UINT64_C(3) * JPEG_MAX_DIMENSION);
	if (!bench->values || !bench->line)
		return error_set(err, -ENOMEM, "no memory");
	return argc == 4 ? write_values(bench, argv[3], err) : measure(bench, err);
}

int main(int argc, char **argv)
{
	static struct bench bench;
	struct error err = { 0 };
	int r;

	if (argc < 3 || argc > 4)
		return 2;
	r = bench_pictures(argc, argv, &bench, &err);
	if (r < 0)
		(void)fprintf(stderr, "picture: %s\n", err.text);
	picture_decoder_free(bench.decoder);
	for (uint32_t i = 0; i < bench.files; i++)
		free(bench.file[i]);
	free(bench.values);
	free(bench.line);
	return r < 0;
}
