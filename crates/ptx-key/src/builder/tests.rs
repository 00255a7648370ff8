use crate::{
    CompilerOption, Configuration, Contract, Digest, DispatchPolicy, Feature, FeatureFlags,
    Identity, KeyBuilder, KeyError, Lanes, NamedValue, ProgramDigests, PtxIsa, PtxKey, Toolchain,
};

struct Program(&'static str, u64);

impl Identity for Program {
    fn identify(&self, lanes: &mut Lanes) {
        lanes.str(self.0);
        lanes.exact_only(|exact| exact.u64(self.1));
    }
}

const PROGRAM: Program = Program("saxpy", 16);

fn toolchain() -> Toolchain {
    Toolchain::new("nvcc", "13.0", Digest::of_bytes(b"tool"))
        .option(CompilerOption::flag("-O3").unwrap())
        .option(CompilerOption::flag("-O2").unwrap())
        .option_in_any_order(CompilerOption::flag("-lineinfo").unwrap())
        .content("a.h", Digest::of_bytes(b"a"))
}

fn features(known: &[Feature], named: &[&str]) -> FeatureFlags {
    let named = named.iter().map(|name| (*name).to_owned()).collect();
    FeatureFlags { named, ..FeatureFlags::of(known.iter().copied()) }
}

fn base() -> Configuration {
    Configuration {
        contract: Contract::new("back-end", 1),
        target: "sm_90".parse().unwrap(),
        isa: "8.0".parse().unwrap(),
        subgroup_size: 32,
        policy: DispatchPolicy {
            ulp_budget: Some(1),
            workgroup_override: Some([64, 1, 1]),
            named: [("tile".to_owned(), NamedValue::Unsigned(32))].into(),
        },
        features: features(&[Feature::F16], &["own"]),
        toolchain: Some(toolchain()),
    }
}

fn key(configuration: &Configuration) -> PtxKey {
    KeyBuilder::new(configuration).unwrap().key(&PROGRAM)
}

/// The field that a change to a configuration changes, and the change.
type Changed = (&'static str, fn(&mut Configuration));

const CHANGES: [Changed; 36] = [
    ("contract/name", |it| it.contract.name.push('x')),
    ("contract/version", |it| it.contract.version += 1),
    ("target", |it| it.target = "sm_91".parse().unwrap()),
    ("target", |it| it.target = "sm_90a".parse().unwrap()),
    ("ptx_isa", |it| it.isa = PtxIsa::new(8, 1)),
    ("ptx_isa", |it| it.isa = PtxIsa::new(9, 0)),
    ("subgroup_size", |it| it.subgroup_size += 1),
    ("policy/ulp_budget", |it| it.policy.ulp_budget = None),
    ("policy/ulp_budget", |it| it.policy.ulp_budget = Some(0)),
    ("policy/workgroup_override", |it| it.policy.workgroup_override = None),
    ("policy/workgroup_override", |it| it.policy.workgroup_override = Some([1, 64, 1])),
    ("policy/workgroup_override", |it| it.policy.workgroup_override = Some([65, 1, 1])),
    ("policy/workgroup_override", |it| it.policy.workgroup_override = Some([64, 2, 1])),
    ("policy/workgroup_override", |it| it.policy.workgroup_override = Some([64, 1, 2])),
    ("policy/named/tile", |it| drop(it.policy.named.insert("tile".into(), 33_u64.into()))),
    ("policy/named/tile", |it| drop(it.policy.named.insert("tile".into(), 32_i64.into()))),
    ("policy/named/tile", |it| drop(it.policy.named.insert("tile".into(), "32".into()))),
    ("policy/named/tile", |it| it.policy.named.clear()),
    ("policy/named/other", |it| drop(it.policy.named.insert("other".into(), true.into()))),
    ("feature/bf16", |it| it.features.known.extend([Feature::Bf16])),
    ("feature/f16", |it| it.features.known.clear()),
    ("feature/named/own", |it| it.features.named.clear()),
    ("feature/named/f16", |it| it.features.named.extend(["f16".to_owned()])),
    ("toolchain/name", |it| edit(it, |tool| tool.name.push('x'))),
    ("toolchain/version", |it| edit(it, |tool| tool.version.push('x'))),
    ("toolchain/fingerprint", |it| {
        edit(it, |tool| tool.fingerprint = Ok(Digest::of_bytes(b"new")));
    }),
    ("toolchain/options", |it| edit(it, |tool| tool.ordered.reverse())),
    ("toolchain/options", |it| {
        edit(it, |tool| tool.ordered.push(CompilerOption::flag("-G").unwrap()));
    }),
    ("toolchain/options", |it| {
        edit(it, |tool| tool.ordered[1] = CompilerOption::with_value("-O2", "x").unwrap());
    }),
    ("toolchain/options", |it| {
        edit(it, |tool| {
            tool.ordered[1] = CompilerOption::reading("-O2", Digest::of_bytes(b"x"));
        });
    }),
    ("toolchain/options", |it| edit(it, |tool| tool.ordered.clear())),
    ("toolchain/option/-lineinfo", |it| edit(it, |tool| tool.unordered.clear())),
    ("toolchain/option/-lineinfo", |it| {
        edit(it, |tool| {
            *tool = tool.clone().option_in_any_order(CompilerOption::flag("-lineinfo").unwrap());
        });
    }),
    ("toolchain/option/-G", |it| {
        edit(it, |tool| {
            *tool = tool.clone().option_in_any_order(CompilerOption::flag("-G").unwrap());
        });
    }),
    ("toolchain/content/a.h", |it| {
        edit(it, |tool| *tool = tool.clone().content("a.h", Digest::of_bytes(b"b")));
    }),
    ("toolchain/content/b.h", |it| {
        edit(it, |tool| *tool = tool.clone().content("b.h", Digest::of_bytes(b"a")));
    }),
];

fn edit(configuration: &mut Configuration, change: impl FnOnce(&mut Toolchain)) {
    change(configuration.toolchain.as_mut().unwrap());
}

#[test]
fn every_change_of_one_field_changes_the_key_and_the_trace_names_that_field_alone() {
    let trace = KeyBuilder::new(&base()).unwrap().trace(&PROGRAM);
    let mut keys = std::collections::BTreeSet::from([key(&base())]);
    for (field, change) in CHANGES {
        let mut changed = base();
        change(&mut changed);
        assert!(keys.insert(key(&changed)), "{field}: two configurations share a key");
        let differences = trace.differences(&KeyBuilder::new(&changed).unwrap().trace(&PROGRAM));
        let named: Vec<&str> = differences.iter().map(|it| it.field.as_str()).collect();
        assert_eq!(named, [field]);
    }
    assert_eq!(keys.len(), CHANGES.len() + 1);
}

#[test]
fn both_lanes_of_the_program_reach_the_key() {
    let keys = KeyBuilder::new(&base()).unwrap();
    let of = |program: Program| (keys.key(&program), keys.trace(&program).program.normalized);
    let (key, family) = of(Program("saxpy", 16));
    let (resized_key, resized_family) = of(Program("saxpy", 17));
    let (other_key, other_family) = of(Program("sdot", 16));
    assert!(key != resized_key && family == resized_family);
    assert!(key != other_key && family != other_family);
    let alone = ProgramDigests::normalized_of(&PROGRAM);
    assert_ne!(keys.key(alone), key, "a key without the exact lane differs");
    assert_eq!(keys.key(alone), keys.key(ProgramDigests::normalized_of(&Program("saxpy", 9))));
}

#[test]
fn a_program_and_its_digests_have_the_same_key_and_trace() {
    let keys = KeyBuilder::new(&base()).unwrap();
    let digests = ProgramDigests::from(&PROGRAM);
    assert_eq!(keys.key(digests), keys.key(&PROGRAM));
    assert_eq!(keys.trace(digests), keys.trace(&PROGRAM));
    assert_eq!(keys.trace(&PROGRAM).key(), keys.key(&PROGRAM));
}

#[test]
fn a_toolchain_without_options_differs_from_none() {
    let none = Configuration { toolchain: None, ..base() };
    let empty = Toolchain::new("", "", Digest::from_bytes([0; 32]));
    let empty = Configuration { toolchain: Some(empty), ..base() };
    let keys = [key(&none), key(&empty), key(&base())];
    assert_eq!(std::collections::BTreeSet::from(keys).len(), 3);
}

#[test]
fn the_order_of_features_and_unordered_options_does_not_count() {
    let with_features = |known, named| Configuration { features: features(known, named), ..base() };
    assert_eq!(
        key(&with_features(&[Feature::F16, Feature::Bf16], &["a", "b"])),
        key(&with_features(&[Feature::Bf16, Feature::F16], &["b", "a"]))
    );

    let flag = |name| CompilerOption::flag(name).unwrap();
    let tool = || Toolchain::new("nvcc", "13", Digest::of_bytes(b"tool"));
    let with = |tool| Configuration { toolchain: Some(tool), ..base() };
    let any = |a, b| tool().option_in_any_order(flag(a)).option_in_any_order(flag(b));
    assert_eq!(key(&with(any("-a", "-b"))), key(&with(any("-b", "-a"))));
    let ordered = |a, b| tool().option(flag(a)).option(flag(b));
    assert_ne!(key(&with(ordered("-a", "-b"))), key(&with(any("-a", "-b"))));
}

#[test]
fn the_order_of_options_counts() {
    let keyed = |words: &[&str]| {
        let tool = Toolchain::new("nvcc", "13", Digest::of_bytes(b"tool"));
        let tool =
            words.iter().fold(tool, |tool, word| tool.option(CompilerOption::flag(word).unwrap()));
        key(&Configuration { toolchain: Some(tool), ..base() })
    };
    for [first, second] in [["-O3", "-O2"], ["-DX", "-UX"], ["--ftz=true", "--ftz=false"]] {
        assert_ne!(keyed(&[first, second]), keyed(&[second, first]));
        assert_ne!(keyed(&[first, second]), keyed(&[second]));
    }
    assert_ne!(keyed(&["-O3"]), keyed(&["-O3", "-O3"]));
}

#[test]
fn a_character_cannot_move_between_a_name_and_its_value() {
    let with = |name: &str, value: &str| {
        let option = CompilerOption::with_value(name, value).unwrap();
        let tool = Toolchain::new("nvcc", "13", Digest::of_bytes(b"tool")).option(option);
        key(&Configuration { toolchain: Some(tool), ..base() })
    };
    assert_ne!(with("-DA", "B=1"), with("-DAB", "=1"));
    let named = |name: &str, value: &str| {
        let mut changed = base();
        changed.policy.named = [(name.to_owned(), value.into())].into();
        key(&changed)
    };
    assert_ne!(named("ab", "c"), named("a", "bc"));
}

#[test]
fn a_tool_that_cannot_be_read_has_no_key() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("no-such-tool");
    let toolchain = Toolchain::of_tool("nvcc", "13.0", &missing);
    let result = KeyBuilder::new(&Configuration { toolchain: Some(toolchain), ..base() });
    let error = result.unwrap_err();
    assert!(matches!(&error, KeyError::Unkeyable { tool, .. } if tool == "nvcc"), "{error}");
    let said = error.to_string();
    assert!(said.contains("`nvcc`") && said.contains("lower without the cache"), "{said}");
    assert!(said.contains("no-such-tool"), "{said}");
}

#[test]
fn a_tool_is_its_bytes_and_not_its_path() {
    let directory = tempfile::tempdir().unwrap();
    let keyed = |name: &str, bytes: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        key(&Configuration { toolchain: Some(Toolchain::of_tool("nvcc", "13", &path)), ..base() })
    };
    assert_eq!(keyed("one", "build 1"), keyed("two", "build 1"));
    assert_ne!(keyed("one", "build 1"), keyed("one", "build 2"));
}
