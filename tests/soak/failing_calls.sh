#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/system/failing_calls.sh with every call.
KILN_FAILING_EVERY=1 exec "$(dirname "$0")/../system/failing_calls.sh"
