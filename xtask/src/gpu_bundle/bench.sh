#!/usr/bin/env bash
# Measures module loading on this machine. Arguments go to the bench.
set -eu
export PTX_CORPUS="${PTX_CORPUS:-$(dirname "$0")/corpus}"
"$(dirname "$0")/bench-modules" "$@"
