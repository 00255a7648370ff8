//! Does a refusal name what is wrong and say what to do?

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use ptx_ir::{
    Access, Buffer, BufferId, CONTRACT_VERSION, Element, Expression, Interface, Kernel,
    KernelParts, Reduction, Statement, Type, Unary, VariableId, lower, reference, x,
};
use ptx_key::{Configuration, Contract, DispatchPolicy, Feature, FeatureFlags, NamedValue, PtxIsa};

/// How deep statements may nest, and how deep expressions may.
const DEEPEST: usize = 64;

fn configuration(target: &str) -> Configuration {
    Configuration {
        contract: Contract::new("ptx-ir", CONTRACT_VERSION),
        target: target.parse().unwrap(),
        isa: PtxIsa::new(9, 0),
        subgroup_size: 32,
        policy: DispatchPolicy::default(),
        features: FeatureFlags::of([Feature::F16]),
        toolchain: None,
    }
}

fn parts() -> KernelParts {
    KernelParts {
        name: "kernel".to_owned(),
        workgroup: [64, 1, 1],
        fixed_workgroup: false,
        buffers: vec![
            Buffer { slot: 0, access: Access::Read, element: Element::F32, count: None },
            Buffer { slot: 1, access: Access::ReadWrite, element: Element::U32, count: None },
            Buffer { slot: 2, access: Access::Workgroup, element: Element::F32, count: Some(64) },
            Buffer { slot: 3, access: Access::ReadWrite, element: Element::F16, count: None },
        ],
        variables: vec![Type::F32, Type::U32, Type::Bool],
        body: Vec::new(),
    }
}

/// Returns the error of the kernel after this change.
fn refused(change: impl FnOnce(&mut KernelParts)) -> String {
    let mut parts = parts();
    change(&mut parts);
    let error = Kernel::new(&parts).expect_err("the kernel is invalid").to_string();
    // Dropping parts that nest without a bound overflows the stack.
    std::mem::forget(parts);
    error
}

fn says(error: &str, words: &[&str]) {
    for word in words {
        assert!(error.contains(word), "no `{word}` in: {error}");
    }
}

#[test]
fn an_invalid_declaration_is_named() {
    says(&refused(|it| it.name = "1st".into()), &["`1st`", "a letter first"]);
    says(&refused(|it| it.name = "a b\n".into()), &["letters, digits and underscores"]);
    says(&refused(|it| it.name = String::new()), &["does not allow this name"]);
    says(&refused(|it| it.name = "n".repeat(201)), &["at most 200"]);
    says(&refused(|it| it.buffers[1].slot = 0), &["slot 0", "use another slot"]);
    says(&refused(|it| it.buffers[2].count = None), &["slot 2", "48 KiB"]);
    says(&refused(|it| it.buffers[2].count = Some(20_000)), &["slot 2", "48 KiB"]);
    says(&refused(|it| it.buffers[2].count = Some(u32::MAX)), &["slot 2"]);
    says(&refused(|it| it.name = "WARP_SZ".into()), &["`WARP_SZ`", "does not allow this name"]);
    let many = |it: &mut KernelParts| {
        it.buffers = (0..257).map(|slot| Buffer { slot, ..it.buffers[0] }).collect();
    };
    says(&refused(many), &["more than 256 buffers", "merge some"]);
    for size in [[0, 1, 1], [1025, 1, 1], [64, 64, 1], [1, 1, 65], [u32::MAX; 3]] {
        says(&refused(|it| it.workgroup = size), &["workgroup of", "1024"]);
    }
}

#[test]
fn an_invalid_use_is_named() {
    let statement = |statement: Statement| refused(|it| it.body.push(statement));
    let store = |buffer, index: Expression, value: Expression| {
        statement(Statement::Store { buffer: BufferId(buffer), index, value })
    };
    says(&store(0, 0.into(), 1.0.into()), &["a store to a read-only buffer", "read-write"]);
    says(&store(9, 0.into(), 1.0.into()), &["no buffer 9", "declare it"]);
    says(&store(2, 0.5.into(), 1.0.into()), &["index of a store", "a u32", "an f32"]);
    says(&store(2, 0.into(), 1.into()), &["stored value", "an f32", "a u32", "cast it"]);
    let assign = |variable, value| statement(Statement::Assign(VariableId(variable), value));
    says(&assign(1, BufferId(2).length()), &["a length", "its count"]);
    says(&assign(7, 1.0.into()), &["no variable 7", "declare it"]);
    says(&assign(0, Expression::F32(1.0) + 1), &["second operand", "an f32", "a u32"]);
    says(&assign(0, Expression::F32(1.0) % 1.0), &["a u32 or an i32", "not an f32"]);
    let exponential = Expression::Unary(Unary::Exponential, Box::new(1.into()));
    says(&assign(1, exponential), &["an f32", "not a u32"]);
    let numbers = "an f32 or a u32 or an i32";
    says(&assign(2, x().less(1).less(x().less(2))), &["a comparison", numbers, "not a bool"]);
    let cast = Expression::Cast(Type::F32, Box::new(x().less(1)));
    says(&assign(0, cast), &["a cast", numbers, "not a bool"]);
    let [condition, yes, no] = [x(), 1.0.into(), 2.0.into()].map(Box::new);
    let select = Expression::Select(condition, yes, no);
    says(&assign(0, select), &["condition of a selection", "a bool"]);
    let atomic = |buffer, value| {
        statement(Statement::AtomicAdd { buffer: BufferId(buffer), index: 0.into(), value })
    };
    says(&atomic(0, 1.0.into()), &["an atomic addition to a read-only buffer", "read-write"]);
    says(
        &statement(Statement::For {
            variable: VariableId(1),
            from: 0.into(),
            to: 9.into(),
            step: 0,
            body: Vec::new(),
        }),
        &["a step of zero never ends"],
    );
    says(
        &statement(Statement::AsyncCopy {
            destination: BufferId(1),
            destination_index: 0.into(),
            source: BufferId(0),
            source_index: 0.into(),
        }),
        &["from storage to workgroup memory"],
    );
    says(
        &statement(Statement::If { condition: 1.into(), then: vec![], otherwise: vec![] }),
        &["a condition", "a bool"],
    );
}

#[test]
fn nesting_is_bounded() {
    let deep = (0..=DEEPEST).fold(x(), |inner, _| inner + 1);
    says(
        &refused(|it| it.body.push(Statement::Assign(VariableId(1), deep))),
        &["nested", "variables"],
    );
    let mut block = vec![Statement::Barrier];
    for _ in 0..=DEEPEST {
        let condition = x().less(1);
        block = vec![Statement::If { condition, then: block, otherwise: Vec::new() }];
    }
    says(&refused(|it| it.body = block), &["nested", "64"]);
}

#[test]
fn an_invalid_statement_is_named_by_its_path() {
    let wrong = || Statement::Assign(VariableId(0), 1.into());
    let condition = || x().less(1);
    let count = |body| Statement::For {
        variable: VariableId(1),
        from: 0.into(),
        to: 1.into(),
        step: 1,
        body,
    };
    let otherwise = vec![Statement::Barrier, count(vec![wrong()])];
    let outer = Statement::If { condition: condition(), then: Vec::new(), otherwise };
    says(
        &refused(|it| it.body = vec![Statement::Barrier, Statement::Barrier, outer]),
        &["`kernel`: body[2].otherwise[1].body[0]: an assignment"],
    );
    let then = Statement::If { condition: condition(), then: vec![wrong()], otherwise: vec![] };
    says(&refused(|it| it.body = vec![then]), &["body[0].then[0]: an assignment"]);
}

#[test]
fn unbounded_nesting_is_refused_without_a_stack_overflow() {
    const LEVELS: u32 = 1_000_000;
    let deep = (0..LEVELS).fold(x(), |inner, _| inner + 1);
    says(&refused(|it| it.body.push(Statement::Assign(VariableId(1), deep))), &["body[0]: nested"]);
    let block = (0..LEVELS).fold(Vec::new(), |inner, level| {
        let (then, otherwise) = if level % 2 == 0 { (inner, vec![]) } else { (vec![], inner) };
        vec![Statement::If { condition: x().less(1), then, otherwise }]
    });
    says(&refused(|it| it.body = block), &["nested more than 64"]);
}

/// Returns the error of lowering after this change of the configuration.
fn not_lowered(kernel: &Kernel, change: impl FnOnce(&mut Configuration)) -> String {
    let mut asked = configuration("sm_90");
    change(&mut asked);
    lower(kernel, &asked).expect_err("the configuration does not fit").to_string()
}

fn named(name: &str) -> Kernel {
    let all = reference::all().unwrap();
    all.into_iter().find(|it| it.kernel.name == name).unwrap().kernel
}

#[test]
fn an_invalid_configuration_is_named() {
    let saxpy = named("saxpy");
    says(&not_lowered(&saxpy, |it| it.target = "sm_95".parse().unwrap()), &["sm_95", "sm_90[a]"]);
    says(&not_lowered(&saxpy, |it| it.target = "sm_80a".parse().unwrap()), &["sm_80a"]);
    says(&not_lowered(&saxpy, |it| it.isa = PtxIsa::new(7, 0)), &["sm_90", "7.8", "7.0"]);
    for size in [0, 3, 33, 64] {
        says(&not_lowered(&saxpy, |it| it.subgroup_size = size), &[&size.to_string(), "32"]);
    }
    let unroll = |it: &mut Configuration| {
        it.policy.named.insert("unroll".to_owned(), NamedValue::Unsigned(4));
    };
    says(&not_lowered(&saxpy, unroll), &["unroll", "true or false"]);
    let workgroup = |it: &mut Configuration| it.policy.workgroup_override = Some([2048, 1, 1]);
    says(&not_lowered(&saxpy, workgroup), &["2048"]);

    let half = named("saxpy_half");
    says(
        &not_lowered(&half, |it| it.features = FeatureFlags::default()),
        &["feature f16", "add it"],
    );
    let matmul = named("matmul");
    let fixed = |it: &mut Configuration| it.policy.workgroup_override = Some([8, 8, 1]);
    says(&not_lowered(&matmul, fixed), &["matmul", "[16, 16, 1]", "remove the override"]);
    let softmax = named("softmax");
    for (budget, words) in [(0, "ULP budget of 0"), (127, "ULP budget of 127")] {
        let exact = |it: &mut Configuration| it.policy.ulp_budget = Some(budget);
        says(&not_lowered(&softmax, exact), &[words, "at least 128"]);
    }
    let wide = |it: &mut Configuration| {
        it.features = FeatureFlags::of([Feature::SubgroupOps]);
        it.policy.workgroup_override = Some([48, 1, 1]);
    };
    says(&not_lowered(&softmax, wide), &["whole warps", "48"]);
    let odd = |it: &mut Configuration| it.policy.workgroup_override = Some([96, 1, 1]);
    says(&not_lowered(&softmax, odd), &["power of two", "96"]);
    let pipeline = named("pipeline");
    let old = |it: &mut Configuration| {
        it.target = "sm_75".parse().unwrap();
        it.features = FeatureFlags::of([Feature::AsyncCompute]);
    };
    says(&not_lowered(&pipeline, old), &["sm_80", "sm_75", "async-compute"]);
}

#[test]
fn an_override_must_not_repeat_the_work() {
    for size in [[16, 16, 1], [16, 1, 2]] {
        let square = |it: &mut Configuration| it.policy.workgroup_override = Some(size);
        says(&not_lowered(&named("histogram"), square), &["histogram", "[256, 1, 1]", "stay 1"]);
    }
    let mut plane = KernelParts::new("plane", [8, 8, 1]);
    let values = plane.buffer(0, Access::ReadWrite, Element::F32, None);
    plane.store(values, x(), 1.0);
    let plane = Kernel::new(&plane).unwrap();
    let mut asked = configuration("sm_90");
    asked.policy.workgroup_override = Some([32, 4, 1]);
    assert!(lower(&plane, &asked).unwrap().contains(".reqntid 32, 4, 1"));
}

#[test]
fn reductions_count_against_workgroup_memory() {
    let reducing = |elements| {
        let mut kernel = KernelParts::new("full", [256, 1, 1]);
        kernel.buffer(0, Access::Workgroup, Element::F32, Some(elements));
        let values = kernel.buffer(1, Access::ReadWrite, Element::F32, None);
        let sum = kernel.reduce(Reduction::Sum, 1.0);
        kernel.store(values, 0, sum);
        Kernel::new(&kernel).unwrap()
    };
    // 48 KiB less a float for each of 256 threads.
    let most = (48 * 1024 - 1024) / 4;
    assert!(lower(&reducing(most), &configuration("sm_90")).is_ok());
    says(&not_lowered(&reducing(most + 1), |_| {}), &["full", "1024 bytes", "49152", "smaller"]);
    // Shuffles need one for each of 8 warps.
    let shuffled = |it: &mut Configuration| it.features = FeatureFlags::of([Feature::SubgroupOps]);
    let mut asked = configuration("sm_90");
    shuffled(&mut asked);
    assert!(lower(&reducing((48 * 1024 - 32) / 4), &asked).is_ok());
    says(&not_lowered(&reducing(48 * 1024 / 4), shuffled), &["32 bytes"]);
}

#[test]
fn a_brain_float_needs_its_feature_and_a_target() {
    let mut kernel = KernelParts::new("brain", [32, 1, 1]);
    let values = kernel.buffer(0, Access::ReadWrite, Element::Bf16, None);
    kernel.store(values, x(), values.at(x()) * 2.0);
    let sum = kernel.reduce(Reduction::Sum, 1.0);
    kernel.store(values, x(), sum);
    let kernel = Kernel::new(&kernel).unwrap();
    says(&not_lowered(&kernel, |_| {}), &["bf16", "add it"]);
    let old = |it: &mut Configuration| {
        it.target = "sm_75".parse().unwrap();
        it.features = FeatureFlags::of([Feature::Bf16]);
    };
    says(&not_lowered(&kernel, old), &["bf16", "sm_80", "sm_75"]);
}

#[test]
fn a_contract_name_cannot_break_out_of_its_comment() {
    let mut asked = configuration("sm_90");
    asked.contract.name = "evil\n.version 1.0".to_owned();
    let text = lower(&named("saxpy"), &asked).unwrap();
    assert_eq!(text.lines().filter(|line| line.starts_with(".version")).count(), 1, "{text}");
}

#[test]
fn parameters_are_in_the_order_of_slots() {
    let interface = Interface::of(&named("saxpy"), &configuration("sm_90")).unwrap();
    let text = lower(&named("saxpy"), &configuration("sm_90")).unwrap();
    assert_eq!(interface.parameters.len(), 6);
    let places: Vec<usize> = ["address_0", "address_1", "address_2", "length_0", "length_2"]
        .iter()
        .map(|name| text.find(name).unwrap())
        .collect();
    assert!(places.is_sorted(), "{text}");
}
