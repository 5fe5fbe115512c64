#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/system/faults.sh with 500 random schedules.
KILN_FAULT_SEEDS=500 exec "$(dirname "$0")/../system/faults.sh"
