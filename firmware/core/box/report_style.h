/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The style of a report's HTML page, as the content of <style>: light and dark, for screens of any width and
 * for paper. */
extern const char report_style[];
