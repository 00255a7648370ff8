//! Does the text of a generated kernel compute what the kernel means?

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use ptx_ir::reference::Work;
use ptx_ir::{
    Access, BufferId, Element, Expression, Kernel, KernelParts, Statement, arbitrary, lower,
};
use ptx_key::{DispatchPolicy, Feature};

use crate::interpret::interpret;
use crate::machine::Order;
use crate::{Launch, configuration};

/// The number of elements of every buffer.
const LENGTH: u32 = 16;
const WORKGROUPS: u32 = 3;

/// Returns the kernel for workgroups of one thread, so that threads cannot race, with every index
/// within its buffer.
fn tamed(kernel: &Kernel) -> Kernel {
    let mut parts = KernelParts::clone(kernel);
    parts.workgroup = [1, 1, 1];
    for buffer in &mut parts.buffers {
        buffer.count = Some(LENGTH);
    }
    parts.body.iter_mut().for_each(tame);
    Kernel::new(&parts).unwrap()
}

fn tame(statement: &mut Statement) {
    match statement {
        Statement::Assign(_, value) | Statement::Reduce { value, .. } => bound(value),
        Statement::Store { index, value, .. } | Statement::AtomicAdd { index, value, .. } => {
            within(index);
            bound(value);
        }
        Statement::If { condition, then, otherwise } => {
            bound(condition);
            then.iter_mut().chain(otherwise).for_each(tame);
        }
        Statement::For { from, to, body, .. } => {
            bound(from);
            bound(to);
            body.iter_mut().for_each(tame);
        }
        Statement::AsyncCopy { destination_index, source_index, .. } => {
            within(destination_index);
            // Past the end it copies a zero: any index is valid.
            bound(source_index);
        }
        Statement::Barrier | Statement::AsyncCommit | Statement::AsyncWait(_) => {}
    }
}

/// Brings an index within its buffer.
fn within(index: &mut Expression) {
    bound(index);
    let free = std::mem::replace(index, Expression::U32(0));
    *index = free % LENGTH;
}

/// Brings every index in an expression within its buffer.
fn bound(expression: &mut Expression) {
    match expression {
        Expression::Load(_, index) => within(index),
        Expression::Unary(_, operand) | Expression::Cast(_, operand) => bound(operand),
        Expression::Binary(_, left, right) | Expression::Compare(_, left, right) => {
            bound(left);
            bound(right);
        }
        Expression::Select(a, b, c) | Expression::FusedMultiplyAdd(a, b, c) => {
            for operand in [a, b, c] {
                bound(operand);
            }
        }
        Expression::F32(_)
        | Expression::U32(_)
        | Expression::I32(_)
        | Expression::Variable(_)
        | Expression::Position(..)
        | Expression::WorkgroupSize(_)
        | Expression::Length(_) => {}
    }
}

/// Returns the bits of each buffer before the launch, by its position.
fn contents(kernel: &Kernel) -> Vec<Vec<u32>> {
    let bits = |element, number: u32| {
        let small = i16::try_from(number % 23).unwrap() - 9;
        match element {
            Element::F32 => (f32::from(small) / 4.0).to_bits(),
            Element::F16 => half::f16::from_f32(f32::from(small) / 4.0).to_bits().into(),
            _ => number.wrapping_mul(0x0101_0101) >> (number % 29),
        }
    };
    let buffers = kernel.buffers.iter().zip(0..);
    buffers
        .map(|(buffer, salt): (_, u32)| {
            (0..LENGTH).map(|place| bits(buffer.element, place * 7 + salt * 5)).collect()
        })
        .collect()
}

/// Returns the positions of the buffers that the launch binds, in the order of slots.
fn bound_buffers(kernel: &Kernel) -> Vec<usize> {
    let buffers = &kernel.buffers;
    let mut positions: Vec<_> = (0..buffers.len()).collect();
    positions.retain(|position| buffers[*position].access != Access::Workgroup);
    positions.sort_by_key(|position| buffers[*position].slot);
    positions
}

/// Returns true if the bits are the same element. All NaNs are the same.
fn same(element: Element, left: u32, right: u32) -> bool {
    let is_nan = |bits: u32| match element {
        Element::F32 => f32::from_bits(bits).is_nan(),
        Element::F16 => half::f16::from_bits(bits as u16).is_nan(),
        Element::Bf16 | Element::U32 | Element::I32 => false,
    };
    left == right || is_nan(left) && is_nan(right)
}

#[test]
fn the_text_computes_what_the_kernel_means() {
    let optional = [Feature::AsyncCompute, Feature::PersistentThread];
    let features = prop::sample::subsequence(optional.to_vec(), 0..=2);
    let compared = Cell::new(0);
    let mut runner = TestRunner::new(Config { cases: 2_048, ..Config::with_source_file(file!()) });
    let run = runner.run(&(arbitrary::kernel(), features), |(kernel, mut features)| {
        let kernel = tamed(&kernel);
        features.push(Feature::F16);
        let mut asked = configuration(&features);
        // Nothing is approximate then, and an exponential is refused.
        asked.policy = DispatchPolicy { ulp_budget: Some(0), ..DispatchPolicy::default() };
        if lower(&kernel, &asked).is_err() {
            return Ok(());
        }
        let before = contents(&kernel);
        let mut after = before.clone();
        if interpret(&kernel, WORKGROUPS, &mut after).is_none() {
            return Ok(());
        }
        compared.set(compared.get() + 1);
        let positions = bound_buffers(&kernel);
        let element = |position: usize| kernel.buffers[position].element;
        let bytes = |position: usize| -> Vec<u8> {
            let width = element(position).bytes() as usize;
            let words = before[position].iter();
            words.flat_map(|word| word.to_le_bytes()[..width].to_vec()).collect()
        };
        let launch = Launch {
            kernel: &kernel,
            configuration: &asked,
            work: Work::Workgroups([WORKGROUPS, 1]),
            persistent: 1,
            order: Order::Forward,
        };
        let bound: Vec<_> = positions.iter().map(|it| (LENGTH, bytes(*it))).collect();
        let found = launch.run(&bound);
        for (position, found) in positions.into_iter().zip(found) {
            let element = element(position);
            for (place, expected) in after[position].iter().enumerate() {
                let width = element.bytes() as usize;
                let mut word = [0; 4];
                word[..width].copy_from_slice(&found[place * width..][..width]);
                let found = u32::from_le_bytes(word);
                prop_assert!(
                    same(element, found, *expected),
                    "{:?}, element {place}: {found:#x}, but the kernel means {expected:#x}",
                    BufferId(u32::try_from(position).unwrap())
                );
            }
        }
        Ok(())
    });
    run.unwrap();
    println!("{} of 2048 compared", compared.get());
    assert!(compared.get() > 500, "too few kernels could be compared: {}", compared.get());
}
