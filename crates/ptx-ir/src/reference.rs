//! Which kernels show what the emitter does? Each comes with inputs and the results it must give.

mod binding;
mod copy;
mod dense;
mod pointwise;
mod reductions;

pub use binding::{Binding, Reference, Work};

use crate::LowerError;

/// Returns every reference kernel, with its inputs and the results it must give.
///
/// # Errors
///
/// None in a correct build. The kernels are checked as all others are.
pub fn all() -> Result<Vec<Reference>, LowerError> {
    Ok(vec![
        pointwise::saxpy()?,
        pointwise::saxpy_half()?,
        dense::matmul()?,
        reductions::sum()?,
        reductions::softmax()?,
        pointwise::histogram()?,
        copy::pipeline()?,
    ])
}
