//! Fallbacks for texts that the driver cannot assemble, and cubins that were assembled elsewhere.

use ptx_key::{Assembler, ComputeCapability, Digest, JitConfiguration, PtxKey};

use super::*;
#[cfg(unix)]
use crate::assemble::ptxas_tests::Tool;

#[test]
fn where_the_linker_fails_the_driver_loads_the_text() {
    let process = Process::new(&Arc::default());
    process.driver.fail_next(Operation::Assemble, judged(DriverCode::UNKNOWN));
    assert_eq!(process.load().unwrap(), Source::Computed);
    assert_eq!((process.counts().given, process.counts().assembled), (1, 0));
}

#[test]
fn a_text_that_is_too_new_is_lowered_again_for_what_the_driver_knows() {
    let store = Arc::<MapStore>::default();
    let late = || TEXT.replace("9.0", "9.9");
    for expected in [Source::Computed, Source::Tier("map".into())] {
        let process = Process::new(&store);
        let key = process.context.module_key_of_text(&late());
        let mut asked = Vec::new();
        let served = process.modules.get_or_lower(&process.context, &key, |isa| {
            asked.push(isa);
            Ptx::new(isa.map_or_else(late, |isa| late().replace("9.9", &isa.to_string())))
        });
        let served = served.unwrap();
        assert_eq!(served.source, expected);
        served.function("a").unwrap();
        if expected == Source::Computed {
            assert_eq!(asked, [None, Some(PtxIsa::new(9, 0))]);
            assert_eq!(process.counts().rescued, 1);
        }
    }
}

#[test]
fn a_text_that_stays_too_new_is_refused_with_the_cure() {
    let process = Process::new(&Arc::default());
    let late = TEXT.replace("9.0", "9.9");
    let key = process.context.module_key_of_text(&late);
    let mut asked = 0;
    for _ in 0..2 {
        let error = process.modules.get_or_lower(&process.context, &key, |_| {
            asked += 1;
            Ptx::new(late.as_str())
        });
        let error = error.unwrap_err().to_string();
        assert!(error.contains("line 1") && error.contains("lower for PTX ISA 9.0"), "{error}");
    }
    assert_eq!(asked, 2, "it is remembered");
    assert_eq!(process.counts().rescued, 0);
}

#[cfg(unix)]
#[test]
fn a_passing_failure_of_ptxas_is_not_remembered() {
    let tool = Tool::that("exit 1");
    let driver = RecordingDriver::new();
    let context = Context::primary(&driver, 0).unwrap();
    let modules = ModuleCache::new(Config::default()).with_ptxas(Arc::new(tool.ptxas()));
    let late = TEXT.replace("9.0", "9.9");
    let key = context.module_key_of_text(&late);
    let mut asked = 0;
    for _ in 0..2 {
        let give = || {
            asked += 1;
            Ptx::new(late.as_str())
        };
        let error = modules.get_or_load(&context, &key, give).unwrap_err();
        assert_eq!(error.refused().unwrap().assembler, "ptxas 13.5", "{error}");
    }
    assert_eq!(asked, 2);
    // Nor is a refusal of the text that was lowered again for lack of it.
    for _ in 0..2 {
        let lower = |isa: Option<PtxIsa>| {
            asked += 1;
            Ptx::new(match isa {
                Some(_) => TEXT.replace("sm_90", "sm_100a"),
                None => late.clone(),
            })
        };
        modules.get_or_lower(&context, &key, lower).unwrap_err();
    }
    assert_eq!(asked, 6);
}

/// A remembered refusal of the driver would outlast the passing failure of `ptxas`.
#[cfg(unix)]
#[test]
fn a_passing_failure_of_the_contexts_assembler_is_not_remembered() {
    let tool = Tool::that("exit 1");
    let driver = RecordingDriver::new();
    let context = Context::primary(&driver, 0).unwrap().assembled_by(&Arc::new(tool.ptxas()));
    let modules = ModuleCache::new(Config::default());
    let late = TEXT.replace("9.0", "9.9");
    let key = context.module_key_of_text(&late);
    let load = || modules.get_or_load(&context, &key, || Ptx::new(late.as_str()));
    let error = load().unwrap_err();
    assert_eq!(error.refused().unwrap().assembler, "ptxas 13.5", "{error}");
    let served = modules.get_or_lower(&context, &key, |isa| {
        Ptx::new(late.replace("9.9", if isa.is_some() { "9.0" } else { "9.9" }))
    });
    assert_eq!(served.unwrap().source, Source::Computed);
    assert_eq!(modules.snapshot().cubins.given, 1);
    modules.clear();
    assert!(load().unwrap_err().refused().is_some());
}

/// The lowering of the tests of shipped cubins.
const LOWERING: PtxKey = PtxKey::from_bytes([3; 32]);

/// A context on a device, for which the cubins of one `ptxas` are shipped.
fn shipped_to(major: u16, minor: u16) -> (Context<RecordingDriver>, JitConfiguration) {
    let (tool, capability) =
        (Digest::of_bytes(b"a ptxas elsewhere"), ComputeCapability { major, minor });
    let driver = RecordingDriver::with_devices(DriverVersion(13_000), &[capability]);
    let context = Context::primary(&driver, 0).unwrap().with_shipped(&[tool]);
    let assembler = Assembler::Tool { fingerprint: tool };
    let jit = JitConfiguration { assembler, ..context.jit().clone() };
    (context, jit)
}

#[test]
fn a_shipped_cubin_for_the_device_or_a_lower_minor_takes_precedence_over_the_text() {
    let text = |kernel: &str| format!(".version 8.0\n.target sm_80\n.entry {kernel}() {{}}\n");
    let store = Arc::<MapStore>::default();
    let ship = |minor, number, kernel: &str| {
        let key = shipped_to(8, minor).1.key_of_lowering(&LOWERING);
        store.put(key, &crate::assemble::smallest_cubin(number, text(kernel).as_bytes()));
    };
    ship(0, 80, "for_80");
    ship(6, 86, "for_86");
    let serve = |major, minor, kernel: &str| {
        let (context, _) = shipped_to(major, minor);
        let cubins: Arc<dyn Store<ModuleKey>> = Arc::<MapStore>::clone(&store);
        let modules = ModuleCache::new(Config::default()).with_cubins(cubins);
        let keys = context.module_keys(&LOWERING);
        let served = modules.get_or_load_any(&context, &keys, || Ptx::new(text("own"))).unwrap();
        served.function(kernel).unwrap();
        served.source
    };
    for (minor, kernel) in [(0, "for_80"), (5, "for_80"), (6, "for_86"), (9, "for_86")] {
        assert_eq!(serve(8, minor, kernel), Source::Tier("map".into()), "8.{minor}");
    }
    // Where one is refused the next is loaded, and another device's stays in the store.
    store.put(shipped_to(8, 6).1.key_of_lowering(&LOWERING), b"no cubin");
    assert_eq!(serve(8, 6, "for_80"), Source::Tier("map".into()));
    assert_eq!(store.kept.lock().unwrap().len(), 2);
    // Nothing that was shipped runs on another major.
    assert_eq!(serve(9, 0, "own"), Source::Computed);
    // A warm-up looks for shipped cubins too.
    let (context, _) = shipped_to(8, 9);
    let cubins: Arc<dyn Store<ModuleKey>> = Arc::<MapStore>::clone(&store);
    let modules = ModuleCache::new(Config::default()).with_cubins(cubins);
    let wanted = [(context.module_keys(&LOWERING), || Ptx::new(text("own")))];
    let warmed = modules.warm(&context, wanted, None, |_| {});
    assert_eq!((warmed.already_there, warmed.computed), (1, 0), "{warmed:?}");
}

#[test]
fn a_cubin_keeps_the_attributes_of_its_text() {
    let store = Arc::<MapStore>::default();
    let process = Process::new(&store);
    let mut artifact = ptx_cache::PtxArtifact::from(TEXT);
    artifact.attributes.set_shared_bytes(1024);
    artifact.attributes.set("back-end/own", "kept");
    let load = || Ptx::of(&artifact);
    process.modules.get_or_load(&process.context, &process.key(), load).unwrap();
    process.modules.flush();
    let kept = store.only().1.attributes;
    assert_eq!(kept.shared_bytes(), Some(1024));
    assert_eq!(kept.text("back-end/own"), Some("kept"));
}
