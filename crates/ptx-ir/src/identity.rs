//! What of a kernel reaches the key? Every type is taken apart in full, so that a new part that is
//! not written does not compile.

use std::fmt::Debug;

use ptx_key::{Identity, Lanes};

use crate::{Access, Buffer, Expression, Kernel, KernelParts, Statement};

impl Identity for Kernel {
    fn identify(&self, lanes: &mut Lanes) {
        let KernelParts { name, workgroup, fixed_workgroup, buffers, variables, body } = &**self;
        lanes.record("kernel", |lanes| {
            lanes.str(name);
            for extent in workgroup {
                lanes.u64((*extent).into());
            }
            lanes.bool(*fixed_workgroup);
            lanes.record("buffers", |lanes| {
                for buffer in buffers {
                    identify_buffer(buffer, lanes);
                }
            });
            lanes.record("variables", |lanes| {
                for kind in variables {
                    word(kind, lanes);
                }
            });
            block("body", body, lanes);
        });
    }
}

fn identify_buffer(buffer: &Buffer, lanes: &mut Lanes) {
    let Buffer { slot, access, element, count } = buffer;
    lanes.u64((*slot).into());
    word(access, lanes);
    word(element, lanes);
    match count {
        // The code contains the size of workgroup memory. The launch passes a storage length, and
        // only an asynchronous copy puts it into the code.
        Some(count) if *access == Access::Workgroup => lanes.u64((*count).into()),
        Some(count) => lanes.exact_only(|exact| exact.u64((*count).into())),
        None => lanes.exact_only(Lanes::absent),
    }
}

/// Writes a variant without fields by its name: reordered variants keep their keys, and two variants
/// never share one.
fn word(variant: &dyn Debug, lanes: &mut Lanes) {
    lanes.str(&format!("{variant:?}"));
}

/// Writes a statement or expression that has no blocks. Each `kind` has as many words, numbers and
/// operands every time, so none is taken for another.
fn node(
    lanes: &mut Lanes,
    kind: &str,
    words: &[&dyn Debug],
    numbers: &[u32],
    operands: &[&Expression],
) {
    lanes.record(kind, |lanes| {
        for variant in words {
            word(variant, lanes);
        }
        for number in numbers {
            lanes.u64((*number).into());
        }
        for operand in operands {
            expression(operand, lanes);
        }
    });
}

fn block(name: &str, body: &[Statement], lanes: &mut Lanes) {
    lanes.record(name, |lanes| {
        for inner in body {
            statement(inner, lanes);
        }
    });
}

fn statement(statement: &Statement, lanes: &mut Lanes) {
    match statement {
        Statement::Assign(variable, value) => node(lanes, "assign", &[], &[variable.0], &[value]),
        Statement::Store { buffer, index, value } => {
            node(lanes, "store", &[], &[buffer.0], &[index, value]);
        }
        Statement::AtomicAdd { buffer, index, value } => {
            node(lanes, "atomic-add", &[], &[buffer.0], &[index, value]);
        }
        Statement::If { condition, then, otherwise } => lanes.record("if", |lanes| {
            expression(condition, lanes);
            block("then", then, lanes);
            block("otherwise", otherwise, lanes);
        }),
        Statement::For { variable, from, to, step, body } => lanes.record("for", |lanes| {
            node(lanes, "range", &[], &[variable.0, *step], &[from, to]);
            block("body", body, lanes);
        }),
        Statement::Barrier => node(lanes, "barrier", &[], &[], &[]),
        Statement::Reduce { variable, reduction, value } => {
            node(lanes, "reduce", &[reduction], &[variable.0], &[value]);
        }
        Statement::AsyncCopy { destination, destination_index, source, source_index } => {
            let indices = [destination_index, source_index];
            node(lanes, "async-copy", &[], &[destination.0, source.0], &indices);
        }
        Statement::AsyncCommit => node(lanes, "async-commit", &[], &[], &[]),
        Statement::AsyncWait(groups) => node(lanes, "async-wait", &[], &[*groups], &[]),
    }
}

fn expression(expression: &Expression, lanes: &mut Lanes) {
    match expression {
        // By bits: -0.0 and 0.0 are different code.
        Expression::F32(value) => node(lanes, "f32", &[], &[value.to_bits()], &[]),
        Expression::U32(value) => node(lanes, "u32", &[], &[*value], &[]),
        Expression::I32(value) => node(lanes, "i32", &[], &[value.cast_unsigned()], &[]),
        Expression::Variable(id) => node(lanes, "variable", &[], &[id.0], &[]),
        Expression::Position(index, axis) => node(lanes, "position", &[index, axis], &[], &[]),
        Expression::WorkgroupSize(axis) => node(lanes, "workgroup-size", &[axis], &[], &[]),
        Expression::Length(buffer) => node(lanes, "length", &[], &[buffer.0], &[]),
        Expression::Load(buffer, index) => node(lanes, "load", &[], &[buffer.0], &[index]),
        Expression::Unary(operation, operand) => {
            node(lanes, "unary", &[operation], &[], &[operand]);
        }
        Expression::Binary(operation, left, right) => {
            node(lanes, "binary", &[operation], &[], &[left, right]);
        }
        Expression::Compare(comparison, left, right) => {
            node(lanes, "compare", &[comparison], &[], &[left, right]);
        }
        Expression::Select(condition, yes, no) => {
            node(lanes, "select", &[], &[], &[condition, yes, no]);
        }
        Expression::FusedMultiplyAdd(a, b, c) => {
            node(lanes, "fused-multiply-add", &[], &[], &[a, b, c]);
        }
        Expression::Cast(to, operand) => node(lanes, "cast", &[to], &[], &[operand]),
    }
}
