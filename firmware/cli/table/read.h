/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pass 1: reads all rows once, on several threads. A worker gets the next block, parses it beside the other
 * workers, and then waits for its turn: blocks are added in their order, so the facts, the bad row that is
 * reported, and the order of equal keys do not depend on the threads.
 */
#pragma once

#include "cli/table/table.h"

/* Sets the columns with their facts and values, rows, bad_rows, spill and crc. Prints the first bad rows that
 * are skipped to standard error. Errors: those of blocks.h; -EBADMSG a bad row, with the input and the line.
 */
MUST_CHECK int table_read(struct table *table, struct error *err);
