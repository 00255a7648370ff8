#!/usr/bin/env bash
# Runs the GPU tests, the demo and the examples on this machine. Arguments go to the tests.
set -u
cd "$(dirname "$0")"
export CUDA_CACHE_DISABLE="${CUDA_CACHE_DISABLE:-1}"
export PTX_REQUIRE="${PTX_REQUIRE-gpu}"
status=0
for suite in ./suite-*; do
    "$suite" gpu --test-threads=1 "$@" || status=1
done
./ptx demo || status=1
./raw_handles || status=1
PTXAS="${PTXAS:-$(command -v ptxas)}"
if [ -n "$PTXAS" ]; then
    PTXAS="$PTXAS" ./cudarc gpu || status=1
else
    echo "skipped: the example of cudarc, which needs ptxas" >&2
fi
exit $status
