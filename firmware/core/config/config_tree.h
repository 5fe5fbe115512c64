/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings of libconfig as values: copied with their lines, printed in libconfig's syntax, as JSON and from
 * JSON. For core/config and core/series. Owns: a setting belongs to its tree.
 */
#pragma once

#include <cjson/cJSON.h>
#include <libconfig.h>
#include <stdint.h>
#include <stdio.h>

/* Adds a copy of a setting, with all that it holds, to `parent`. `name`: NULL in a list. The copy and what it
 * holds get the lines of the original. Returns the copy; NULL: no memory, or the name is not allowed or is
 * there already. */
config_setting_t *config_tree_copy(config_setting_t *parent, const char *name, const config_setting_t *from);
/* Does the same with a JSON value; every setting gets the line `line`. A whole number becomes an integer, and
 * an array of numbers, truth values or strings becomes an array [ ], another one a list ( ). NULL also for
 * null. */
config_setting_t *config_tree_add_json(config_setting_t *parent, const char *name, const cJSON *json,
				       unsigned line);

/* Prints the value of a setting in one line, without its name. */
void config_tree_print(FILE *out, const config_setting_t *setting);
/* Returns the value of a setting; NULL: no memory. The caller deletes it. */
cJSON *config_tree_json(const config_setting_t *setting);

/* Print a value in libconfig's syntax: an integer, with an L beyond 32 bits; a number, as the shortest text
 * that gives the same number when it is read; a string with quotes, where NULL is an empty string. */
void config_print_integer(FILE *out, int64_t value);
void config_print_float(FILE *out, double value);
void config_print_string(FILE *out, const char *text);
