/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trials of a file before they are checked: values as settings of libconfig, which have lines. Private to
 * the files trials*.c. Order: draft_open() -> draft_read_experiments() -> draft_read_vary() -> draft_expand()
 * -> draft_done().
 */
#pragma once

#include "core/config/config_overlay.h"
#include "core/config/config_reading.h"
#include "core/series/trials.h"

#define DRAFT_AXES_MAX  64u
#define DRAFT_KEY_BYTES 256u

struct draft_trial {
	const char *name; /* NULL: the file gives none, or a wrong one */
	unsigned line;
	struct config_overlay overlay;
	uint32_t room;                    /* overrides that `override` has room for */
	struct config_override *override; /* the list that overlay.override points to */
	char made_name[TRIAL_NAME_BYTES]; /* the name, where `vary` made the trial */
};

/* A key of `vary`: a list of values, or a range. */
struct draft_axis {
	char key[DRAFT_KEY_BYTES];
	unsigned line;
	const config_setting_t *values; /* NULL: a range */
	double min, max;
	bool log, whole;
};

struct draft {
	struct config_reading reading; /* first, so that a callback of config_read_list() finds the draft */
	const char *method;            /* as in struct trials */
	uint32_t count;
	struct draft_trial *trial; /* TRIALS_MAX */
	uint32_t axes;
	struct draft_axis axis[DRAFT_AXES_MAX];
	bool whole_vary; /* no mistake was found in `vary` */
	/* Owned: keys of overrides, and the settings of numbers that were drawn. */
	uint32_t keys;
	char **key;
	config_t made;
	struct config ends; /* the ends of a range are read into it */
	int r;              /* -ENOMEM, or 0 */
};

/* Starts a draft without trials. Mistakes are noted in `mistakes`. Owns: the caller calls draft_done(). The
 * config must outlive the draft. */
void draft_open(struct config *config, struct mistakes *mistakes, struct draft *ret);
/* Adds the trials of `experiments`. Errors: -ENOMEM. */
MUST_CHECK int draft_read_experiments(struct draft *draft);
/* Reads the keys of `vary`. */
void draft_read_vary(struct draft *draft);
/* Adds the trials of `vary`, and names them. Errors: -ENOMEM. */
MUST_CHECK int draft_expand(struct draft *draft);
void draft_done(struct draft *draft);

/* Add a trial without overrides, and an override; key and value must outlive the draft. NULL, false: no
 * memory, which draft->r notes. */
struct draft_trial *draft_add(struct draft *draft, unsigned line);
bool draft_override(struct draft *draft, struct draft_trial *trial, const char *key,
		    const config_setting_t *value);
/* Notes a mistake where a trial may not have this key, or where the key has no form of one. Returns whether
 * the trial may have it. */
bool draft_key_allowed(struct mistakes *mistakes, const char *key, unsigned line);
/* Writes the key of a member of a group: "prefix.name". */
void draft_join(const char *prefix, const config_setting_t *member, char out[static DRAFT_KEY_BYTES]);
/* Returns a copy of the key that lives as long as the draft; NULL: no memory. */
const char *draft_keep_key(struct draft *draft, const char *key);
