#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Other projects' TFRecord files, where they are: tests/system/real_records.py says what is checked.
cd "$(dirname "$0")/../.." || exit 1
exec python3 tests/system/real_records.py "${KILN_SHARED:-../shared}" "${KILN_BUILD:-build/release}/system/dump_records"
