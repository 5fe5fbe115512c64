/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pictures in class folders: a folder, a tar archive, or the objects below a prefix. The folder of a file is
 * its class, "daisy/1.jpg"; a folder train, val or test above it is its split. Hidden files (".name") do not
 * count.
 *
 *     pictures_list.h    takes class and split from the names of files
 *     pictures_find.c    finds the files of folders and stores; pictures_tar.c those of archives
 *     pictures_load.c    reads a file, and keeps copies
 *     pictures_check.c   reads each file once: SHA-256, size of the picture, and whether it can be decoded
 *     pictures_split.c   holds out the test split
 *     pictures.c         the kind of records (struct prep_kind)
 *     picture_small.c    makes a picture smaller
 *
 * Memory: a few hundred bytes for each file; the content of a file is in memory only while a thread works on
 * it. Members of an archive and objects are copied into a file without a name, in the folder of temporary
 * files; a file of a folder is read again where it lies, and must still have its SHA-256.
 *
 * Order: pictures_find_*() for each input, then pictures_check() once, then pictures_load() by any thread,
 * then pictures_done().
 */
#pragma once

#include "cli/prep/stores.h"
#include "cli/prep/texts.h"
#include "drivers/digest/digest.h"

#define PICTURES_CHANNELS 3u
#define PICTURES_ENCODED  "image/encoded"
#define PICTURES_RAW      "image/raw"
/* Largest file of a picture, and longest name below the input. */
#define PICTURES_FILE_MAX   (UINT64_C(256) << 20)
#define PICTURES_NAME_MAX   1023u
#define PICTURES_STORES_MAX 8u /* inputs that are prefixes */

/* Where the bytes of a file are. */
enum picture_from { PICTURE_FILE, PICTURE_OBJECT, PICTURE_POOL };

struct picture_item {
	char *path;        /* INPUT/daisy/1.jpg */
	const char *name;  /* in `path`: daisy/1.jpg */
	const char *class; /* in `name`, class_bytes long */
	uint32_t class_bytes;
	uint32_t label; /* as texts_label() gave it when the file was found */
	bool other;     /* no picture, and beside class folders; it is taken out */
	bool in_split;  /* in a folder train, val or test */
	enum picture_from from;
	uint32_t store; /* an object: index of its store */
	enum texts_split split;
	uint64_t offset, bytes; /* offset: in the pool */
	char sha256[DIGEST_HEX_BYTES];
	uint32_t height, width, channels; /* size of the file, before it is turned */
	bool turned;                      /* upright, height and width are exchanged */
	char *wrong;                      /* why the file is no picture; NULL = it is one */
};

struct pictures {
	struct picture_item *item;
	uint32_t items, capacity;
	uint32_t left_out; /* files that are no pictures */
	uint64_t outside;  /* files in no class folder */
	struct stores store[PICTURES_STORES_MAX];
	uint32_t stores;
	int pool; /* 0 = none yet */
	uint64_t pool_bytes;
};

/* Add the files of an input. `split`: TEXTS_TEST makes each file a test file, TEXTS_TRAIN takes the split
 * from the names. Labels are added to `texts`. Errors: -EBADMSG what is wrong with a folder or a name;
 * -ENOMEM; those of reading. */
MUST_CHECK int pictures_find_folder(struct pictures *pictures, struct texts *texts, const char *folder,
				    enum texts_split split, struct error *err);
/* Copies the members of an archive. */
MUST_CHECK int pictures_find_tar(struct pictures *pictures, struct texts *texts, const char *path,
				 const char *name, enum texts_split split, struct error *err);
/* `where`: the store whose url is the prefix. */
MUST_CHECK int pictures_find_objects(struct pictures *pictures, struct texts *texts,
				     const struct config_store *where, enum texts_split split,
				     struct error *err);
/* Tells whether an archive has pictures: 1 or 0, by the names of its first members. */
MUST_CHECK int pictures_in_tar(const char *path, const char *name, struct error *err);

/* Reads each file, and copies the objects. Prints a line for each of the first files that are no pictures.
 * `skip`: leaves such files out; otherwise they are an error. Errors: -EBADMSG; those of reading. */
MUST_CHECK int pictures_check(struct pictures *pictures, bool skip, struct error *err);

/* Decides which pictures the test split gets, where no input says so: of each class about `percent` percent,
 * by a hash of seed and content, so that equal files are on one side in every set. Each class with two
 * different pictures or more has one on each side. Says which files are equal to others. Errors: -ENOMEM. */
MUST_CHECK int pictures_split(struct pictures *pictures, uint64_t seed, uint64_t percent, struct error *err);

/* Reads the bytes of a file, which must be those of pictures_check(). Errors: -EBADMSG they have changed;
 * those of reading. */
MUST_CHECK int pictures_load(const struct pictures *pictures, const struct picture_item *item,
			     uint8_t **ret_data, struct error *err);

void pictures_done(struct pictures *pictures);
