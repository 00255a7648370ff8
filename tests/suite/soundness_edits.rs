//! A kernel in which just one thing was edited, wherever it stands, has another key. Generated
//! pairs hardly ever differ in so little, so they would not notice an `Identity` that leaves out
//! the step of a loop.

use std::cell::Cell;

use proptest::prelude::*;
use proptest::sample::Index as Choice;
use ptx_ir::{
    Access, Axis, Binary, Comparison, Element, Expression, Index, Kernel, KernelParts, Reduction,
    Statement, Type, Unary, lower,
};

use crate::soundness::{cases, configuration, key, runner};

/// Walks a kernel and edits the thing that is met after `left` others.
struct Edit {
    left: usize,
    met: usize,
}

impl Edit {
    fn at(&mut self, edit: impl FnOnce()) {
        if self.met == self.left {
            edit();
        }
        self.met += 1;
    }

    fn number(&mut self, number: &mut u32) {
        self.at(|| *number = number.wrapping_add(1));
    }

    /// Puts the next of `all` in the place of `one`.
    fn next<T: Copy + PartialEq>(&mut self, one: &mut T, all: &[T]) {
        self.at(|| {
            let place = all.iter().position(|it| it == one).unwrap();
            *one = all[(place + 1) % all.len()];
        });
    }

    fn kernel(&mut self, parts: &mut KernelParts) {
        self.at(|| parts.name.push('2'));
        for extent in &mut parts.workgroup {
            self.at(|| *extent *= 2);
        }
        self.at(|| parts.fixed_workgroup ^= true);
        for buffer in &mut parts.buffers {
            self.at(|| buffer.slot += 100);
            if buffer.access != Access::Workgroup {
                self.next(&mut buffer.access, &[Access::Read, Access::ReadWrite]);
            }
            let elements = [Element::F32, Element::U32, Element::I32, Element::F16, Element::Bf16];
            self.next(&mut buffer.element, &elements);
            self.at(|| buffer.count = Some(buffer.count.unwrap_or(0) + 1));
        }
        for kind in &mut parts.variables {
            self.next(kind, &[Type::F32, Type::U32, Type::I32, Type::Bool]);
        }
        self.at(|| parts.variables.push(Type::F32));
        self.block(&mut parts.body);
    }

    fn block(&mut self, body: &mut Vec<Statement>) {
        for statement in &mut *body {
            self.statement(statement);
        }
        self.at(|| body.push(Statement::Barrier));
    }

    fn statement(&mut self, statement: &mut Statement) {
        match statement {
            Statement::Assign(variable, value) => {
                self.number(&mut variable.0);
                self.expression(value);
            }
            Statement::Store { buffer, index, value }
            | Statement::AtomicAdd { buffer, index, value } => {
                self.number(&mut buffer.0);
                self.expression(index);
                self.expression(value);
            }
            Statement::If { condition, then, otherwise } => {
                self.at(|| std::mem::swap(then, otherwise));
                self.expression(condition);
                self.block(then);
                self.block(otherwise);
            }
            Statement::For { variable, from, to, step, body } => {
                self.number(&mut variable.0);
                self.number(step);
                self.at(|| std::mem::swap(from, to));
                self.expression(from);
                self.expression(to);
                self.block(body);
            }
            Statement::Reduce { variable, reduction, value } => {
                self.number(&mut variable.0);
                self.next(reduction, &[Reduction::Sum, Reduction::Maximum]);
                self.expression(value);
            }
            Statement::AsyncCopy { destination, destination_index, source, source_index } => {
                self.number(&mut destination.0);
                self.number(&mut source.0);
                self.at(|| std::mem::swap(destination_index, source_index));
                self.expression(destination_index);
                self.expression(source_index);
            }
            Statement::AsyncWait(groups) => self.number(groups),
            Statement::Barrier => self.at(|| *statement = Statement::AsyncCommit),
            Statement::AsyncCommit => self.at(|| *statement = Statement::Barrier),
        }
    }

    fn expression(&mut self, expression: &mut Expression) {
        match expression {
            Expression::F32(value) => self.at(|| *value += 1.0),
            Expression::U32(value) => self.number(value),
            Expression::I32(value) => self.at(|| *value += 1),
            Expression::Variable(variable) => self.number(&mut variable.0),
            Expression::Position(index, axis) => {
                self.next(index, &[Index::Global, Index::Local, Index::Workgroup]);
                self.next(axis, &[Axis::X, Axis::Y, Axis::Z]);
            }
            Expression::WorkgroupSize(axis) => self.next(axis, &[Axis::X, Axis::Y, Axis::Z]),
            Expression::Length(buffer) => self.number(&mut buffer.0),
            Expression::Load(buffer, index) => {
                self.number(&mut buffer.0);
                self.expression(index);
            }
            Expression::Unary(operation, operand) => {
                if *operation != Unary::Not {
                    self.next(operation, &[Unary::Negate, Unary::Exponential]);
                }
                self.expression(operand);
            }
            Expression::Binary(operation, left, right) => {
                self.next(operation, &BINARY);
                self.at(|| std::mem::swap(left, right));
                self.expression(left);
                self.expression(right);
            }
            Expression::Compare(comparison, left, right) => {
                self.next(comparison, &COMPARISONS);
                self.at(|| std::mem::swap(left, right));
                self.expression(left);
                self.expression(right);
            }
            Expression::Select(first, second, third)
            | Expression::FusedMultiplyAdd(first, second, third) => {
                self.at(|| std::mem::swap(second, third));
                self.expression(first);
                self.expression(second);
                self.expression(third);
            }
            Expression::Cast(to, operand) => {
                self.next(to, &[Type::F32, Type::U32, Type::I32]);
                self.expression(operand);
            }
        }
    }
}

const BINARY: [Binary; 12] = [
    Binary::Add,
    Binary::Subtract,
    Binary::Multiply,
    Binary::Divide,
    Binary::Remainder,
    Binary::Minimum,
    Binary::Maximum,
    Binary::And,
    Binary::Or,
    Binary::ExclusiveOr,
    Binary::ShiftLeft,
    Binary::ShiftRight,
];

const COMPARISONS: [Comparison; 4] =
    [Comparison::Equal, Comparison::NotEqual, Comparison::Less, Comparison::LessOrEqual];

/// The kernel with one edit, or `None` where it changes nothing or makes no kernel.
fn edited(kernel: &Kernel, choice: Choice) -> Option<Kernel> {
    let mut count = Edit { left: usize::MAX, met: 0 };
    count.kernel(&mut KernelParts::clone(kernel));
    let mut parts = KernelParts::clone(kernel);
    Edit { left: choice.index(count.met), met: 0 }.kernel(&mut parts);
    let changed = parts != **kernel;
    Kernel::new(&parts).ok().filter(|_| changed)
}

#[test]
fn soundness_every_edit_of_a_kernel_changes_the_key() {
    let (kernels, texts) = (Cell::new(0_u32), Cell::new(0_u32));
    let choices = proptest::collection::vec(any::<Choice>(), 16);
    let generated = (ptx_ir::arbitrary::kernel(), configuration(), choices);
    let run = runner(cases() / 2).run(&generated, |(kernel, asked, choices)| {
        let (whole, text) = (key(&kernel, &asked), lower(&kernel, &asked));
        for other in choices.into_iter().filter_map(|choice| edited(&kernel, choice)) {
            kernels.set(kernels.get() + 1);
            texts.set(texts.get() + u32::from(text != lower(&other, &asked)));
            prop_assert_ne!(whole, key(&other, &asked), "not in the key: {:?}", other);
        }
        Ok(())
    });
    run.unwrap();
    println!("edits: {}; the PTX differed: {}", kernels.get(), texts.get());
    assert!(kernels.get() > cases() / 2 && texts.get() > cases() / 20, "too few edits to prove it");
}
