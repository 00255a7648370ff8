//! Is every operation within the ULP budget when approximate instructions are off by as much as they
//! may be?

use ptx_ir::reference::Work;
use ptx_ir::{Access, Element, Expression, Kernel, KernelParts, Type, Unary, x};
use ptx_key::{Configuration, DispatchPolicy};

use crate::machine::Order;
use crate::{Launch, configuration};

/// Computes the operation on each input by running its text.
fn evaluate(
    operation: impl Fn(Expression) -> Expression,
    inputs: &[f32],
    ulp_budget: Option<u32>,
) -> Vec<f32> {
    let mut kernel = KernelParts::new("one_operation", [64, 1, 1]);
    let values = kernel.buffer(0, Access::ReadWrite, Element::F32, None);
    let i = kernel.variable(Type::U32, x());
    kernel.when(i.value().less(values.length()), |kernel| {
        kernel.store(values, i, operation(values.at(i)));
    });
    let length = u32::try_from(inputs.len()).unwrap();
    let policy = DispatchPolicy { ulp_budget, ..DispatchPolicy::default() };
    let launch = Launch {
        kernel: &Kernel::new(&kernel).unwrap(),
        configuration: &Configuration { policy, ..configuration(&[]) },
        work: Work::Threads(length),
        persistent: 1,
        order: Order::Forward,
    };
    let bytes = inputs.iter().flat_map(|input| input.to_le_bytes()).collect();
    let after = launch.run(&[(length, bytes)]).swap_remove(0);
    after.chunks_exact(4).map(|word| f32::from_le_bytes(word.try_into().unwrap())).collect()
}

/// Returns the distance of two numbers of any sign in units in the last place.
fn distance(a: f32, b: f32) -> u64 {
    let place = |value: f32| {
        let bits = value.to_bits().cast_signed();
        i64::from(if bits < 0 { i32::MIN.wrapping_sub(bits) } else { bits })
    };
    place(a).abs_diff(place(b))
}

/// Returns the largest error over the inputs. NaN must be NaN in both.
fn largest_error(found: &[f32], exact: impl Iterator<Item = f64>) -> u64 {
    let errors = found.iter().zip(exact).map(|(found, exact)| {
        let exact = exact as f32;
        assert_eq!(found.is_nan(), exact.is_nan(), "{found} where {exact} is exact");
        if exact.is_nan() { 0 } else { distance(*found, exact) }
    });
    errors.max().unwrap()
}

/// Returns numbers of every magnitude and sign, and the special ones.
fn inputs() -> Vec<f32> {
    let mut state = 0x9e37_79b9_u32;
    let random = std::iter::repeat_with(move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f32::from_bits(state.rotate_left(9))
    });
    let moderate = (-1_200..1_200_i16).map(|step| f32::from(step) * 0.087_3);
    let special = [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MIN_POSITIVE, 1e-45];
    random.take(4_000).chain(moderate).chain(special).collect()
}

#[test]
fn division() {
    let inputs = inputs();
    for budget in [Some(0), Some(1), Some(2), Some(3), Some(128), None] {
        let found = evaluate(|value| Expression::F32(1.7) / value, &inputs, budget);
        let exact = inputs.iter().map(|input| f64::from(1.7_f32) / f64::from(*input));
        let error = largest_error(&found, exact);
        assert!(error <= budget.unwrap_or(2).into(), "{error} with {budget:?}");
        assert_eq!(error == 0, budget.is_some_and(|budget| budget < 2), "approximate if allowed");
    }
}

#[test]
fn exponential() {
    let inputs = inputs();
    let exponential = |value| Expression::Unary(Unary::Exponential, Box::new(value));
    for budget in [Some(128), Some(u32::MAX), None] {
        let found = evaluate(exponential, &inputs, budget);
        let error = largest_error(&found, inputs.iter().map(|input| f64::from(*input).exp()));
        println!("exponential: {error} units with {budget:?}");
        assert!(error <= budget.unwrap_or(128).into(), "{error} with {budget:?}");
    }
}
