//! Loaded CUDA modules: PTX text or cubin in, ready function out.
