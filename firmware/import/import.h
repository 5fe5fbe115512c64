/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kiln-import: a network of another program becomes a kiln.conf and a file of weights. import.c runs the
 * steps; keras/ reads the file, network/ writes Kiln's files.
 *
 * Threads: none. Crash: kiln.conf comes last, so a folder with a kiln.conf has its weights; each file is
 * whole or absent.
 */
#pragma once

#include "core/base/error.h"

/* Writes FOLDER/kiln.conf and FOLDER/weights.safetensors from a .keras file, and says on standard output what
 * it wrote and what was not taken over. Makes the folder. All that cannot be had is printed on standard
 * error, a line each. Memory: that of all weights. Blocks. Errors: -EINVAL there was such a line; -EEXIST the
 * folder has a kiln.conf; -EBADMSG the file is damaged; others of open(2) and write(2). */
MUST_CHECK int import_keras(const char *path, const char *folder, struct error *err);
