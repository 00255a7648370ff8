//! Every reference kernel computes the right values in one process after the other.

use ptx_cuda::{Context, CustDriver, Driver as _};
use ptx_tests::Role;

use crate::cuda_restart::{check_lives, live};
use crate::gpu_device::{Gpu, gpu};
use crate::gpu_reference_kernels::check;

const LIFE: Role = Role::new("gpu_restart::a_life");

#[test]
fn a_life() {
    let Some(argument) = LIFE.argument() else { return };
    let context = Context::primary(&CustDriver::new().unwrap(), 0).unwrap();
    live(&context, &argument, |function, lowering| check(function, lowering).unwrap());
}

#[test]
fn nothing_is_made_twice_and_all_values_are_right() {
    let Some(Gpu { driver, context, .. }) = gpu() else { return };
    println!("driver build: {:?}", driver.build());
    assert!(context.jit().assembler.is_exact(), "its cubins are not kept");
    check_lives(&LIFE, context.device().compute_capability);
}
