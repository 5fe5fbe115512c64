/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/prep/tar.h"

#include "cli/prep/gzip.h"

#include <locale.h>
#include <string.h>

bool tar_is(const char *name)
{
	static const char *const ends[] = { ".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst" };
	const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
	size_t length = strlen(base);

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		size_t bytes = strlen(ends[i]);

		if (length >= bytes && strcmp(base + length - bytes, ends[i]) == 0)
			return true;
	}
	return false;
}

struct unzip {
	gzFile file;
	uint8_t plain[65536];
};

static la_ssize_t unzip_some(struct archive *archive, void *context, const void **ret_plain)
{
	struct unzip *unzip = context;
	int bytes = gzread(unzip->file, unzip->plain, sizeof(unzip->plain));

	if (bytes < 0)
		archive_set_error(archive, EIO, "damaged or cut");
	*ret_plain = unzip->plain;
	return bytes < 0 ? ARCHIVE_FATAL : bytes;
}

/* zlib inflates gzip, because libarchive does not compare gzip's checksums. zlib returns the bytes of other
 * files unchanged, and the filters of libarchive decompress them. Not all filters: for some, libarchive
 * starts a program that the file's first bytes choose. */
static int open_archive(struct archive *archive, struct unzip *unzip)
{
	(void)archive_read_support_filter_gzip(archive);
	(void)archive_read_support_filter_bzip2(archive);
	(void)archive_read_support_filter_xz(archive);
	(void)archive_read_support_filter_zstd(archive);
	(void)archive_read_support_format_tar(archive);
	return archive_read_open(archive, unzip, NULL, unzip_some, NULL);
}

static int read_members(gzFile file, const char *name,
			int (*member)(void *, struct archive *, struct archive_entry *, struct error *),
			void *context, struct error *err)
{
	struct archive *archive = archive_read_new();
	struct unzip unzip = { .file = file };
	struct archive_entry *entry;
	int r = 0, z;

	if (!archive)
		return error_set(err, -ENOMEM, "%s: no memory", name);
	z = open_archive(archive, &unzip);
	while (z == ARCHIVE_OK && r == 0 && (z = archive_read_next_header(archive, &entry)) == ARCHIVE_OK) {
		r = member(context, archive, entry, err);
		if (r < 0)
			(void)error_prefix(err, "%s: %s", name, archive_entry_pathname(entry));
	}
	if (r == 0 && z != ARCHIVE_EOF)
		r = error_set(err, -EBADMSG, "%s: expected a tar, compressed or not: %s", name,
			      archive_error_string(archive));
	(void)archive_read_free(archive);
	return r;
}

/* libarchive converts the names of the form pax from UTF-8 to the locale's bytes, and the locale "C" has none
 * for other letters than those of ASCII. Returns the locale of this thread before, or 0 where the machine has
 * no UTF-8. */
static locale_t enter_utf8(locale_t *ret_utf8)
{
	*ret_utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	return *ret_utf8 ? uselocale(*ret_utf8) : (locale_t)0;
}

static void leave_utf8(locale_t before, locale_t utf8)
{
	if (!utf8)
		return;
	(void)uselocale(before);
	freelocale(utf8);
}

int tar_read(const char *path, const char *name,
	     int (*member)(void *context, struct archive *archive, struct archive_entry *entry,
			   struct error *err),
	     void *context, struct error *err)
{
	gzFile file = NULL;
	locale_t before, utf8;
	int r = gzip_open(path, name, &file, err);

	if (r < 0)
		return r;
	before = enter_utf8(&utf8);
	r = read_members(file, name, member, context, err);
	leave_utf8(before, utf8);
	if (r <= 0)
		r = gzip_explain(file, path, name, r, err);
	(void)gzclose(file);
	return r;
}
