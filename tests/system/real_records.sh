#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# TFRecord files of other projects, where they are installed. tests/system/real_records.py describes the checks.
cd "$(dirname "$0")/../.." || exit 1
exec python3 tests/system/real_records.py "${KILN_SHARED:-../shared}" "${KILN_BUILD:-build/release}/system/dump_records"
