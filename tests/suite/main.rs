//! Suites that cross crates, in files named by the property they prove.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod async_requests;
mod corpus_is_whole;
mod cuda_broken_ptx;
mod cuda_cubins;
mod cuda_ptxas;
mod cuda_restart;
mod cuda_stack;
mod damage_is_relowered;
mod disk_faults;
mod disk_full;
mod disk_kills;
mod disk_processes;
mod emitted_ptx_assembles;
mod examples_run;
#[cfg(feature = "cuda")]
mod gpu_broken_ptx;
#[cfg(feature = "cuda")]
mod gpu_device;
#[cfg(feature = "cuda")]
mod gpu_in_flight;
#[cfg(feature = "cuda")]
mod gpu_modules;
#[cfg(feature = "cuda")]
mod gpu_out_of_memory;
#[cfg(feature = "cuda")]
mod gpu_own_functions;
#[cfg(feature = "cuda")]
mod gpu_reference_kernels;
#[cfg(feature = "cuda")]
mod gpu_restart;
mod ir_limits;
mod key_golden;
mod readme_example;
mod soundness;
mod soundness_edits;
mod soundness_neighbours;
