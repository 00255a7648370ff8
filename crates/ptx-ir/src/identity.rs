//! What a kernel is, for the key. Every type is taken apart in full: a new part that is not written
//! does not compile.

use ptx_key::{Identity, Lanes};

use crate::{
    Access, Axis, Binary, Buffer, Comparison, Element, Expression, Index, Kernel, KernelParts,
    Reduction, Statement, Type, Unary, Workgroup,
};

impl Identity for Kernel {
    fn identify(&self, lanes: &mut Lanes) {
        let KernelParts { name, workgroup, buffers, variables, body } = self.parts();
        let Workgroup { size, fixed } = workgroup;
        lanes.record("kernel", |lanes| {
            lanes.str(name);
            for extent in size {
                lanes.u64((*extent).into());
            }
            lanes.bool(*fixed);
            lanes.record("buffers", |lanes| {
                for buffer in buffers {
                    identify_buffer(buffer, lanes);
                }
            });
            lanes.record("variables", |lanes| {
                for kind in variables {
                    lanes.str(type_name(*kind));
                }
            });
            identify_block("body", body, lanes);
        });
    }
}

fn identify_buffer(buffer: &Buffer, lanes: &mut Lanes) {
    let Buffer { slot, access, element, count } = buffer;
    lanes.u64((*slot).into());
    lanes.str(match access {
        Access::Read => "read",
        Access::Write => "write",
        Access::ReadWrite => "read-write",
        Access::Workgroup => "workgroup",
        Access::Uniform => "uniform",
    });
    lanes.str(match element {
        Element::F32 => "f32",
        Element::F16 => "f16",
        Element::Bf16 => "bf16",
        Element::U32 => "u32",
        Element::I32 => "i32",
    });
    match count {
        // The size of workgroup memory is in the code. A storage length is given at launch, and is
        // in the code only where an asynchronous copy bakes it in.
        Some(count) if *access == Access::Workgroup => lanes.u64((*count).into()),
        Some(count) => lanes.exact_only(|exact| exact.u64((*count).into())),
        None => lanes.exact_only(Lanes::absent),
    }
}

fn identify_block(name: &str, body: &[Statement], lanes: &mut Lanes) {
    lanes.record(name, |lanes| {
        for statement in body {
            identify_statement(statement, lanes);
        }
    });
}

fn identify_statement(statement: &Statement, lanes: &mut Lanes) {
    match statement {
        Statement::Assign(variable, value) => lanes.record("assign", |lanes| {
            lanes.u64(variable.0.into());
            identify_expression(value, lanes);
        }),
        Statement::Store { buffer, index, value } => lanes.record("store", |lanes| {
            lanes.u64(buffer.0.into());
            identify_expression(index, lanes);
            identify_expression(value, lanes);
        }),
        Statement::AtomicAdd { buffer, index, value } => lanes.record("atomic-add", |lanes| {
            lanes.u64(buffer.0.into());
            identify_expression(index, lanes);
            identify_expression(value, lanes);
        }),
        Statement::If { condition, then, otherwise } => lanes.record("if", |lanes| {
            identify_expression(condition, lanes);
            identify_block("then", then, lanes);
            identify_block("otherwise", otherwise, lanes);
        }),
        Statement::For { variable, from, to, step, body } => lanes.record("for", |lanes| {
            lanes.u64(variable.0.into());
            identify_expression(from, lanes);
            identify_expression(to, lanes);
            lanes.u64((*step).into());
            identify_block("body", body, lanes);
        }),
        Statement::Barrier => lanes.str("barrier"),
        Statement::Reduce { variable, reduction, value } => lanes.record("reduce", |lanes| {
            lanes.u64(variable.0.into());
            lanes.str(match reduction {
                Reduction::Sum => "sum",
                Reduction::Maximum => "maximum",
            });
            identify_expression(value, lanes);
        }),
        Statement::AsyncCopy { destination, destination_index, source, source_index } => {
            lanes.record("async-copy", |lanes| {
                lanes.u64(destination.0.into());
                identify_expression(destination_index, lanes);
                lanes.u64(source.0.into());
                identify_expression(source_index, lanes);
            });
        }
        Statement::AsyncCommit => lanes.str("async-commit"),
        Statement::AsyncWait(groups) => {
            lanes.record("async-wait", |lanes| lanes.u64((*groups).into()));
        }
    }
}

fn identify_expression(expression: &Expression, lanes: &mut Lanes) {
    let group = |lanes: &mut Lanes, name, operands: &[&Expression]| {
        lanes.record(name, |lanes| {
            for operand in operands {
                identify_expression(operand, lanes);
            }
        });
    };
    match expression {
        // By bits: -0.0 and 0.0 are different code.
        Expression::F32(value) => lanes.record("f32", |lanes| lanes.u64(value.to_bits().into())),
        Expression::U32(value) => lanes.record("u32", |lanes| lanes.u64((*value).into())),
        Expression::I32(value) => lanes.record("i32", |lanes| lanes.i64((*value).into())),
        Expression::Variable(id) => lanes.record("variable", |lanes| lanes.u64(id.0.into())),
        Expression::Position(index, axis) => lanes.record("position", |lanes| {
            lanes.str(match index {
                Index::Global => "global",
                Index::Local => "local",
                Index::Workgroup => "workgroup",
            });
            lanes.str(axis_name(*axis));
        }),
        Expression::WorkgroupSize(axis) => {
            lanes.record("workgroup-size", |lanes| lanes.str(axis_name(*axis)));
        }
        Expression::Length(buffer) => lanes.record("length", |lanes| lanes.u64(buffer.0.into())),
        Expression::Load(buffer, index) => lanes.record("load", |lanes| {
            lanes.u64(buffer.0.into());
            identify_expression(index, lanes);
        }),
        Expression::Unary(operation, operand) => group(lanes, unary_name(*operation), &[operand]),
        Expression::Binary(operation, left, right) => {
            group(lanes, binary_name(*operation), &[left, right]);
        }
        Expression::Compare(comparison, left, right) => {
            group(lanes, comparison_name(*comparison), &[left, right]);
        }
        Expression::Select(condition, yes, no) => group(lanes, "select", &[condition, yes, no]),
        Expression::FusedMultiplyAdd(a, b, c) => group(lanes, "fused-multiply-add", &[a, b, c]),
        Expression::Cast(to, operand) => lanes.record("cast", |lanes| {
            lanes.str(type_name(*to));
            identify_expression(operand, lanes);
        }),
    }
}

const fn type_name(kind: Type) -> &'static str {
    match kind {
        Type::F32 => "f32",
        Type::U32 => "u32",
        Type::I32 => "i32",
        Type::Bool => "bool",
    }
}

const fn axis_name(axis: Axis) -> &'static str {
    match axis {
        Axis::X => "x",
        Axis::Y => "y",
        Axis::Z => "z",
    }
}

const fn unary_name(operation: Unary) -> &'static str {
    match operation {
        Unary::Negate => "negate",
        Unary::Not => "not",
        Unary::SquareRoot => "square-root",
        Unary::Exponential => "exponential",
    }
}

const fn binary_name(operation: Binary) -> &'static str {
    match operation {
        Binary::Add => "add",
        Binary::Subtract => "subtract",
        Binary::Multiply => "multiply",
        Binary::Divide => "divide",
        Binary::Remainder => "remainder",
        Binary::Minimum => "minimum",
        Binary::Maximum => "maximum",
        Binary::And => "and",
        Binary::Or => "or",
        Binary::ExclusiveOr => "exclusive-or",
        Binary::ShiftLeft => "shift-left",
        Binary::ShiftRight => "shift-right",
    }
}

const fn comparison_name(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Equal => "equal",
        Comparison::NotEqual => "not-equal",
        Comparison::Less => "less",
        Comparison::LessOrEqual => "less-or-equal",
    }
}
