/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes small pictures in class folders: make_pictures FOLDER PER_CLASS HEIGHT WIDTH SEED CLASS...
 * Writes FOLDER/CLASS/0000.jpg, 0001.png, ...: every fourth one is a PNG, every fifth JPEG is gray. A class
 * has its own brightness and direction of stripes, so that a small network can tell the classes apart.
 */
#include "../unit/picture_make.h"

#include "core/base/paths.h"

static uint32_t state;

static uint32_t draw(uint32_t below)
{
	state = state * 1664525u + 1013904223u;
	return (state >> 8) % below;
}

static void paint(uint8_t *pixels, unsigned height, unsigned width, unsigned channels, unsigned class)
{
	const unsigned shift = draw(8), level = 40 + 45 * (class % 4) + draw(20);

	for (unsigned y = 0; y < height; y++)
		for (unsigned x = 0; x < width; x++)
			for (unsigned c = 0; c < channels; c++) {
				const unsigned at = class % 2 ? x : y;
				const unsigned stripe = (at + shift) / 4 % 2 ? 50 : 0;
				const unsigned tint = channels == 3 && c == class % 3 ? 20 : 0;

				*pixels++ = (uint8_t)(level + stripe + tint + draw(6));
			}
}

static struct file make(unsigned height, unsigned width, unsigned class, unsigned number)
{
	const bool png = number % 4 == 3, gray = !png && number % 5 == 4;
	const struct jpeg_kind kind = { .space = gray ? JCS_GRAYSCALE : JCS_RGB, .quality = 92 };
	const struct spng_ihdr header = {
		.width = width, .height = height, .bit_depth = 8, .color_type = SPNG_COLOR_TYPE_TRUECOLOR
	};
	const size_t bytes = (size_t)height * width * (gray ? 1 : 3);
	uint8_t *pixels = malloc(bytes);
	struct file file;

	assert(pixels);
	paint(pixels, height, width, gray ? 1 : 3, class);
	file = png ? make_png(pixels, bytes, &header, NULL, NULL) : make_jpeg(pixels, width, height, &kind);
	free(pixels);
	return file;
}

static int write_class(const char *folder, const char *name, unsigned class, unsigned per_class,
		       unsigned height, unsigned width)
{
	char path[PATH_BYTES];
	struct error err = { 0 };

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (path_make(path, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	for (unsigned i = 0; i < per_class; i++) {
		struct file file = make(height, width, class, i);
		FILE *out;

		(void)snprintf(path, sizeof(path), "%s/%s/%04u.%s", folder, name, i,
			       i % 4 == 3 ? "png" : "jpg");
		out = fopen(path, "w");
		if (!out || fwrite(file.data, 1, file.bytes, out) != file.bytes || fclose(out) != 0) {
			perror(path);
			return 1;
		}
		free(file.data);
	}
	return 0;
}

int main(int argc, char **argv)
{
	int r = 0;

	if (argc < 7) {
		fprintf(stderr, "usage: make_pictures FOLDER PER_CLASS HEIGHT WIDTH SEED CLASS...\n");
		return 2;
	}
	state = (uint32_t)strtoul(argv[5], NULL, 10);
	for (int i = 6; r == 0 && i < argc; i++)
		r = write_class(argv[1], argv[i], (unsigned)(i - 6), (unsigned)strtoul(argv[2], NULL, 10),
				(unsigned)strtoul(argv[3], NULL, 10), (unsigned)strtoul(argv[4], NULL, 10));
	return r;
}
