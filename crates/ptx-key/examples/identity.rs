//! How does a backend's own IR get a key?
//!
//! `cargo run -p ptx-key --example identity` prints which changes change the key.

use ptx_key::{
    Configuration, Contract, DispatchPolicy, FeatureFlags, Identity, KeyBuilder, KeyError, Lanes,
    ProgramDigests,
};

/// The backend's IR: `output[i] = expression(input[i])`.
enum Expression {
    Input,
    Constant(f32),
    Multiply(Box<Self>, Box<Self>),
}

struct Kernel {
    body: Expression,
    /// The emitter reads the length at run time, so it never reaches the PTX.
    elements: u64,
}

impl Identity for Expression {
    fn identify(&self, lanes: &mut Lanes) {
        match self {
            Self::Input => lanes.str("input"),
            Self::Constant(value) => lanes.record("constant", |lanes| lanes.f32(*value)),
            Self::Multiply(left, right) => lanes.record("multiply", |lanes| {
                left.identify(lanes);
                right.identify(lanes);
            }),
        }
    }
}

impl Identity for Kernel {
    fn identify(&self, lanes: &mut Lanes) {
        // Without `..`: a new field that is not written does not compile.
        let Self { body, elements } = self;
        body.identify(lanes);
        lanes.exact_only(|exact| exact.u64(*elements));
    }
}

fn scale(factor: f32, elements: u64) -> Kernel {
    let factor = Box::new(Expression::Constant(factor));
    Kernel { body: Expression::Multiply(Box::new(Expression::Input), factor), elements }
}

fn main() -> Result<(), KeyError> {
    let mut configuration = Configuration {
        contract: Contract::new("example-backend", 1),
        target: "sm_90".parse()?,
        isa: "8.0".parse()?,
        subgroup_size: 32,
        policy: DispatchPolicy::default(),
        features: FeatureFlags::default(),
        toolchain: None,
    };
    let keys = KeyBuilder::new(&configuration)?;
    let [program, other_factor, other_length] = [scale(2.0, 16), scale(3.0, 16), scale(2.0, 4096)];

    println!("factor 2, length 16    {:.16}", keys.key(&program));
    println!("factor 3               {:.16}", keys.key(&other_factor));
    println!("length 4096            {:.16}", keys.key(&other_length));
    assert_ne!(keys.key(&program), keys.key(&other_factor));
    assert_ne!(keys.key(&program), keys.key(&other_length));

    // A run-time length is in the exact lane alone: all lengths are one family. A backend that
    // vouches for its normalized lane gives them one key, and lowers once for all lengths.
    println!("\nThe normalized lane alone:");
    let normalized = |kernel| keys.key(ProgramDigests::normalized_of(kernel));
    println!("factor 2, length 16    {:.16}", normalized(&program));
    println!("factor 3               {:.16}", normalized(&other_factor));
    println!("length 4096            {:.16}", normalized(&other_length));
    assert_ne!(normalized(&program), normalized(&other_factor));
    assert_eq!(normalized(&program), normalized(&other_length));

    // The trace of a stored artifact explains why another request misses.
    let stored = keys.trace(&program);
    configuration.target = "sm_80".parse()?;
    let requested = KeyBuilder::new(&configuration)?.trace(&other_length);
    println!("\nWhy a request for sm_80 and length 4096 misses:");
    for difference in stored.differences(&requested) {
        println!("{difference}");
    }
    Ok(())
}
