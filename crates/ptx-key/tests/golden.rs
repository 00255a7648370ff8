//! The public API computes the digests of the committed vectors.
//!
//! `golden/recompute.py` computed them from `ENCODING.md`, without this crate.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use ptx_key::{
    Assembler, CompilerOption, ComputeCapability, Configuration, Contract, Digest, DispatchPolicy,
    Feature, FeatureFlags, Identity, JitConfiguration, JitOptions, KeyBuilder, KeyTrace, Lanes,
    NamedValue, ProgramDigests, Toolchain,
};
use serde_json::Value;

/// A program as the vectors write it.
struct Tokens<'v>(&'v [Value]);

impl Identity for Tokens<'_> {
    fn identify(&self, lanes: &mut Lanes) {
        for token in self.0 {
            let content = &token[1];
            match text(&token[0]) {
                "bool" => lanes.bool(content.as_bool().unwrap()),
                "u64" => lanes.u64(text(content).parse().unwrap()),
                "i64" => lanes.i64(text(content).parse().unwrap()),
                "f64" => lanes.f64(f64::from_bits(u64::from_str_radix(text(content), 16).unwrap())),
                "str" => lanes.str(text(content)),
                "bytes" => lanes.bytes(&bytes(content)),
                "digest" => lanes.digest(&digest(content)),
                "absent" => lanes.absent(),
                "record" => {
                    lanes.record(text(content), |lanes| Tokens(list(&token[2])).identify(lanes));
                }
                "exact_only" => lanes.exact_only(|exact| Tokens(list(content)).identify(exact)),
                other => panic!("unknown token {other}"),
            }
        }
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

fn number(value: &Value) -> u32 {
    value.as_u64().unwrap().try_into().unwrap()
}

fn digest(value: &Value) -> Digest {
    text(value).parse().unwrap()
}

fn bytes(value: &Value) -> Vec<u8> {
    let digits = text(value).as_bytes().chunks(2);
    digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn named(value: &Value) -> Vec<(String, NamedValue)> {
    let value_of = |value: &Value| {
        let (kind, content) = value.as_object().unwrap().iter().next().unwrap();
        match kind.as_str() {
            "bool" => NamedValue::Bool(content.as_bool().unwrap()),
            "u64" => NamedValue::Unsigned(text(content).parse().unwrap()),
            "i64" => NamedValue::Signed(text(content).parse().unwrap()),
            _ => NamedValue::Text(text(content).to_owned()),
        }
    };
    value.as_object().unwrap().iter().map(|(name, value)| (name.clone(), value_of(value))).collect()
}

fn option(entry: &Value) -> CompilerOption {
    let name = text(&entry["name"]);
    match (entry.get("content"), entry.get("value")) {
        (Some(content), _) => CompilerOption::reading(name, digest(content)),
        (None, Some(value)) => CompilerOption::with_value(name, text(value)).unwrap(),
        (None, None) => CompilerOption::flag(name).unwrap(),
    }
}

fn toolchain(value: &Value) -> Option<Toolchain> {
    value.as_object()?;
    let mut toolchain = Toolchain::new(
        text(&value["name"]),
        text(&value["version"]),
        digest(&value["fingerprint"]),
    );
    for entry in list(&value["options"]) {
        toolchain = toolchain.option(option(entry));
    }
    for entry in list(&value["options_in_any_order"]) {
        toolchain = toolchain.option_in_any_order(option(entry));
    }
    for (name, content) in value["contents"].as_object().unwrap() {
        toolchain = toolchain.content(name, digest(content));
    }
    Some(toolchain)
}

fn configuration(value: &Value) -> Configuration {
    let policy = &value["policy"];
    let extents = policy["workgroup_override"].as_array();
    let known = list(&value["features"]["known"])
        .iter()
        .map(|name| Feature::ALL.into_iter().find(|feature| feature.name() == text(name)).unwrap());
    let named_features =
        list(&value["features"]["named"]).iter().map(|name| text(name).to_owned()).collect();
    Configuration {
        contract: Contract::new(
            text(&value["contract"]["name"]),
            number(&value["contract"]["version"]),
        ),
        target: text(&value["target"]).parse().unwrap(),
        isa: text(&value["ptx_isa"]).parse().unwrap(),
        subgroup_size: number(&value["subgroup_size"]),
        policy: DispatchPolicy {
            ulp_budget: policy["ulp_budget"].as_u64().map(|ulp| ulp.try_into().unwrap()),
            workgroup_override: extents.map(|it| [number(&it[0]), number(&it[1]), number(&it[2])]),
            named: named(&policy["named"]).into_iter().collect(),
        },
        features: FeatureFlags { named: named_features, ..FeatureFlags::of(known) },
        toolchain: toolchain(&value["toolchain"]),
    }
}

fn jit(value: &Value) -> JitConfiguration {
    let capability = &value["compute_capability"];
    let assembler = match value["assembler"].get("driver") {
        Some(version) => Assembler::Driver {
            version: number(version),
            build: value["assembler"].get("build").map(digest),
        },
        None => Assembler::Tool { fingerprint: digest(&value["assembler"]["tool"]) },
    };
    JitConfiguration {
        compute_capability: ComputeCapability {
            major: number(&capability[0]).try_into().unwrap(),
            minor: number(&capability[1]).try_into().unwrap(),
        },
        assembler,
        options: JitOptions {
            optimization_level: value["optimization_level"]
                .as_u64()
                .map(|it| it.try_into().unwrap()),
            max_registers: value["max_registers"].as_u64().map(|it| it.try_into().unwrap()),
            debug_info: value["debug_info"].as_bool().unwrap(),
            line_info: value["line_info"].as_bool().unwrap(),
            named: named(&value["named"]).into_iter().collect(),
        },
    }
}

fn vectors() -> Value {
    serde_json::from_str(include_str!("../golden/vectors.json")).unwrap()
}

#[test]
fn the_lowerings_have_their_committed_keys() {
    let vectors = vectors();
    let lowerings = list(&vectors["lowerings"]);
    assert!(lowerings.len() >= 10);
    for vector in lowerings {
        let (name, expected) = (&vector["name"], &vector["expected"]);
        let program = Tokens(list(&vector["program"]));
        let digests = if vector["normalized_only"].as_bool().unwrap() {
            ProgramDigests::normalized_of(&program)
        } else {
            ProgramDigests::from(&program)
        };
        assert_eq!(digests.normalized.to_string(), text(&expected["normalized"]), "{name}");
        assert_eq!(
            digests.exact,
            expected["exact"].as_str().map(|it| it.parse().unwrap()),
            "{name}"
        );
        let builder = KeyBuilder::new(&configuration(&vector["configuration"])).unwrap();
        let trace = builder.trace(digests);
        let fields = expected["fields"].as_object().unwrap();
        assert_eq!(trace.configuration().len(), fields.len(), "{name}");
        for (field, digest) in trace.configuration() {
            assert_eq!(digest.to_string(), text(&fields[field]), "{name}: {field}");
        }
        let key = builder.key(digests);
        assert_eq!(key.to_string(), text(&expected["ptx_key"]), "{name}");
        assert_eq!(trace.key(), key);
        let stored = bytes(&expected["trace"]);
        assert_eq!(trace.to_bytes(), stored, "{name}");
        assert_eq!(KeyTrace::from_bytes(&stored).unwrap(), trace, "{name}");
        let jit = jit(&vector["jit"]);
        let of_lowering = jit.key_of_lowering(&key).to_string();
        assert_eq!(of_lowering, text(&expected["module_of_lowering"]), "{name}");
        let of_text = jit.key_of_text(text(&vector["text"])).to_string();
        assert_eq!(of_text, text(&expected["module_of_text"]), "{name}");
    }
}

#[test]
fn the_directories_have_their_committed_digests() {
    let vectors = vectors();
    let directories = list(&vectors["folders"]);
    assert!(directories.len() >= 2);
    for vector in directories {
        let directory = tempfile::tempdir().unwrap();
        for (name, content) in vector["files"].as_object().unwrap() {
            let path = directory.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes(content)).unwrap();
        }
        let digest = Digest::of_directory(directory.path()).unwrap().to_string();
        assert_eq!(digest, text(&vector["expected"]["digest"]), "{}", vector["name"]);
    }
}
