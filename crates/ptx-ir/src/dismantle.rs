//! Dropping what nests without a bound. A kernel that is refused may nest so deeply that dropping it
//! level by level would overflow the stack.

use crate::{Expression, KernelParts, Statement};

/// Drops the parts with no recursion.
pub(crate) fn dismantle(parts: KernelParts) {
    let (mut statements, mut expressions) = (parts.body, Vec::new());
    while let Some(statement) = statements.pop() {
        match statement {
            Statement::Assign(_, value) | Statement::Reduce { value, .. } => {
                expressions.push(value);
            }
            Statement::Store { index, value, .. } | Statement::AtomicAdd { index, value, .. } => {
                expressions.extend([index, value]);
            }
            Statement::If { condition, then, otherwise } => {
                expressions.push(condition);
                statements.extend(then);
                statements.extend(otherwise);
            }
            Statement::For { from, to, body, .. } => {
                expressions.extend([from, to]);
                statements.extend(body);
            }
            Statement::AsyncCopy { destination_index, source_index, .. } => {
                expressions.extend([destination_index, source_index]);
            }
            Statement::Barrier | Statement::AsyncCommit | Statement::AsyncWait(_) => {}
        }
    }
    while let Some(expression) = expressions.pop() {
        match expression {
            Expression::Load(_, inner)
            | Expression::Unary(_, inner)
            | Expression::Cast(_, inner) => expressions.push(*inner),
            Expression::Binary(_, left, right) | Expression::Compare(_, left, right) => {
                expressions.extend([*left, *right]);
            }
            Expression::Select(a, b, c) | Expression::FusedMultiplyAdd(a, b, c) => {
                expressions.extend([*a, *b, *c]);
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
}
