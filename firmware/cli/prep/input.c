/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/prep/input.h"

#include "cli/prep/tar.h"
#include "core/base/temporary.h"
#include "trained/location.h"

#include <string.h>
#include <sys/stat.h>

/* An input as a file on this machine. The readers of archives, gzip and IDX need a path, so an object of a
 * store is copied to a temporary file. */
struct local {
	char path[PATH_BYTES];
	bool temporary;
};

static void local_done(struct local *local)
{
	if (local->temporary)
		(void)unlink(local->path);
}

static int download(const struct prep *prep, const char *url, const char *path, struct error *err)
{
	CLEANUP(store_closep) struct store *store = NULL;
	const char *rest = strstr(url, "://") + strlen("://"), *slash = strrchr(url, '/'), *key;
	int r;

	if (slash < rest || !slash[1])
		return error_set(err, -EINVAL,
				 "%s: found no key, expected s3://BUCKET/KEY or file:///FOLDER/FILE", url);
	r = location_open(&prep->where, url, &store, &key, err);
	return r < 0 ? r : store_get_file(store, key, path, UINT64_MAX, err);
}

static int make_local(const struct prep *prep, const char *name, struct local *local, struct error *err)
{
	int r;

	if (!location_is_url(name)) {
		(void)snprintf(local->path, sizeof(local->path), "%s", name);
		return 0;
	}
	r = temporary_file("prep", local->path, err);
	local->temporary = r == 0;
	return r < 0 ? r : download(prep, name, local->path, err);
}

static int read_images(struct prep *prep, const char *path, const char *name, enum texts_split split,
		       struct error *err)
{
	CLEANUP(local_done) struct local labels = { 0 };
	char labels_name[PATH_BYTES];
	int r;

	if (!idx_labels_name(name, labels_name, sizeof(labels_name)))
		return error_set(err, -EINVAL,
				 "%s: an IDX file; expected \"images\" and \"idx3\" or \"idx4\" in its name, "
				 "from which Kiln makes the name of the file of labels",
				 name);
	r = make_local(prep, labels_name, &labels, err);
	return r < 0 ? r : idx_read(&prep->images[split], path, name, labels.path, labels_name, err);
}

static int read_file(struct prep *prep, const char *name, enum texts_split split, struct error *err)
{
	CLEANUP(local_done) struct local local = { 0 };
	int r = make_local(prep, name, &local, err);

	if (r < 0)
		return r;
	if (idx_is(local.path))
		return read_images(prep, local.path, name, split, err);
	r = tar_is(name) ? pictures_in_tar(local.path, name, err) : 0;
	if (r < 0)
		return r;
	return r ? pictures_find_tar(&prep->pictures, &prep->texts, local.path, name, split, err)
		 : texts_read(&prep->texts, local.path, name, split, err);
}

/* Reads a folder without a file of a known name: it has pictures, or nothing that Kiln reads. */
static int read_pictures(struct prep *prep, const char *folder, enum texts_split split, struct error *err)
{
	const uint32_t before = prep->pictures.items;
	int r = pictures_find_folder(&prep->pictures, &prep->texts, folder, split, err);

	if (r < 0 || prep->pictures.items > before)
		return r;
	return error_set(err, -ENOENT,
			 "%s: found neither aclImdb_v1.tar.gz nor train.tsv[.gz] nor "
			 "train-images-idx3-ubyte[.gz] nor class folders with pictures in this folder",
			 folder);
}

/* Reads each file of the folder that has a known name: NAME or, where it is missing, NAME.gz. */
static int read_folder(struct prep *prep, const char *folder, enum texts_split split, struct error *err)
{
	static const struct {
		const char *name;
		enum texts_split split;
	} names[] = {
		{ "aclImdb_v1.tar", TEXTS_TRAIN },
		{ "train.tsv", TEXTS_TRAIN },
		{ "test.tsv", TEXTS_TEST },
		{ "train-images-idx3-ubyte", TEXTS_TRAIN },
		{ "t10k-images-idx3-ubyte", TEXTS_TEST },
	};
	bool found = false;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char path[PATH_BYTES];
		int r;

		(void)snprintf(path, sizeof(path), "%s/%s", folder, names[i].name);
		if (access(path, R_OK) < 0)
			(void)snprintf(path, sizeof(path), "%s/%s.gz", folder, names[i].name);
		if (access(path, R_OK) < 0)
			continue;
		r = read_file(prep, path, names[i].split, err);
		if (r < 0)
			return r;
		found = true;
	}
	return found ? 0 : read_pictures(prep, folder, split, err);
}

/* Reads an object of S3 or, where there is none of this name, the pictures below it. */
static int read_url(struct prep *prep, const char *url, enum texts_split split, struct error *err)
{
	const char *rest = strstr(url, "://") + strlen("://"), *slash = strchr(rest, '/'), *key;
	CLEANUP(store_closep) struct store *store = NULL;
	struct config_store where = prep->where;
	struct store_object object;
	int r = -ENOENT;

	if (slash && slash[1] && url[strlen(url) - 1] != '/') {
		if ((r = location_open(&prep->where, url, &store, &key, err)) < 0)
			return r;
		r = store_stat(store, key, &object, err);
	}
	if (r == 0)
		return read_file(prep, url, split, err);
	if (r != -ENOENT || tar_is(url))
		return r;
	where.url = url;
	return pictures_find_objects(&prep->pictures, &prep->texts, &where, split, err);
}

static int read_input(struct prep *prep, const char *name, enum texts_split split, struct error *err)
{
	const char *path = strncmp(name, "file://", strlen("file://")) == 0 ? name + strlen("file://") : name;
	struct stat st;

	if (!location_is_url(path) && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return read_folder(prep, path, split, err);
	return location_is_url(path) ? read_url(prep, name, split, err) : read_file(prep, name, split, err);
}

/* Chooses the kind of records: images for image files; for texts, tokens with --tokens (by a tokenizer with
 * --tokenizer), otherwise vectors. */
static int choose_kind(struct prep *prep, struct error *err)
{
	const uint32_t texts = prep->texts.rows[TEXTS_TRAIN], images = prep->images[TEXTS_TRAIN].images;
	const bool any = texts || images || prep->texts.rows[TEXTS_TEST] || prep->images[TEXTS_TEST].images;

	if (prep->pictures.items && any)
		return error_set(err, -EINVAL,
				 "%s: found pictures and texts or IDX images, expected one of them",
				 prep->input[0]);
	if (prep->pictures.items) {
		prep->kind = &prep_pictures;
		return 0;
	}
	if (!texts && !images)
		return error_set(err, -EBADMSG,
				 "%s: found no training split, expected aclImdb_v1.tar.gz, train.tsv[.gz], "
				 "train-images-idx3-ubyte[.gz] or class folders with pictures",
				 prep->input[0]);
	if ((texts || prep->texts.rows[TEXTS_TEST]) && (images || prep->images[TEXTS_TEST].images))
		return error_set(err, -EINVAL, "%s: found texts and images, expected one of them",
				 prep->input[0]);
	prep->kind = images                 ? &prep_images
		     : !prep->tokens        ? &prep_vectors
		     : prep->tokenizer_name ? &prep_ids
					    : &prep_tokens;
	return 0;
}

int prep_read(struct prep *prep, struct error *err)
{
	int r = 0;

	for (int i = 0; r == 0 && i < prep->inputs; i++)
		r = read_input(prep, prep->input[i], TEXTS_TRAIN, err);
	if (r == 0 && prep->test_input)
		r = read_input(prep, prep->test_input, TEXTS_TEST, err);
	return r < 0 ? r : choose_kind(prep, err);
}
