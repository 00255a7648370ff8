#!/usr/bin/env bash
# Runs the GPU tests under compute-sanitizer, for memory errors and leaks, then the kernels' tests
# for races and barriers. Skips the tests of a context that an illegal write ends. API errors are
# not reported: some tests ask the driver for what does not exist.
set -u
cd "$(dirname "$0")"
export CUDA_CACHE_DISABLE=1 PTX_REQUIRE=gpu
status=0
sanitize() {
    local tool="$1"
    shift
    for suite in ./suite-*; do
        # $tool is a name and its options, so it is split into words.
        compute-sanitizer --target-processes all --report-api-errors no --error-exitcode 9 \
            --tool $tool "$suite" --test-threads=1 "$@" || status=1
    done
}
sanitize "memcheck --leak-check full" gpu --skip a_lost_context --skip a_context_is_lost
for tool in racecheck synccheck initcheck; do
    sanitize "$tool" gpu_reference
done
exit $status
