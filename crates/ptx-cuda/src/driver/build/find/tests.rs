//! The build is found by mapped libraries, or by the kernel module.

use std::fs;

use super::*;

/// A process's `/proc` and a directory of libraries.
struct Machine(tempfile::TempDir);

impl Machine {
    fn new(libraries: &[(&str, &str)], mapped: &str, kernel_module: Option<&str>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        for name in ["lib", "proc/self", "proc/driver/nvidia"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        for (name, content) in libraries {
            fs::write(at("lib").join(name), content).unwrap();
        }
        let lib = at("lib");
        let lib = lib.display();
        let maps = format!(
            "00400000-00500000 r-xp 00000000 08:01 1  {lib}/libcudart.so.13\n\
             7f00-7f10 r--p 00000000 08:01 2                   {lib}/{mapped}\n\
             7fff-8000 rw-p 00000000 00:00 0  [stack]\n"
        );
        fs::write(at("proc/self/maps"), maps).unwrap();
        if let Some(said) = kernel_module {
            fs::write(at("proc/driver/nvidia/version"), said).unwrap();
        }
        Self(directory)
    }

    fn build(&self) -> Option<String> {
        find_in(&self.0.path().join("proc"))
    }
}

#[test]
fn the_mapped_librarys_name_takes_precedence_over_the_kernel_module() {
    for mapped in ["libcuda.so.580.95.05", "libcuda.so.580.95.05 (deleted)"] {
        let machine = Machine::new(&[], mapped, Some("NVRM version: 570.10\n"));
        assert_eq!(machine.build().as_deref(), Some("libcuda.so.580.95.05"));
    }
}

#[cfg(unix)]
#[test]
fn the_compiler_beside_it_counts() {
    let compiler = "libnvidia-ptxjitcompiler.so.580.65.06";
    let machine = Machine::new(&[(compiler, "")], "libcuda.so.580.95.05", None);
    let link = machine.0.path().join("lib").join(COMPILER);
    std::os::unix::fs::symlink(compiler, link).unwrap();
    let expected = format!("libcuda.so.580.95.05 {compiler}");
    assert_eq!(machine.build(), Some(expected));
}

#[test]
fn a_name_without_a_version_counts_by_content() {
    let build = |content: &str, compiler: &str| {
        let libraries = [("libcuda.so.1.1", content), (COMPILER, compiler)];
        Machine::new(&libraries, "libcuda.so.1.1", None).build().unwrap()
    };
    let builds = [build("a", "x"), build("b", "x"), build("a", "y")];
    assert!(builds[0] != builds[1] && builds[0] != builds[2] && builds[1] != builds[2]);
    assert_eq!(build("a", "x"), builds[0]);
}

/// The process has the old file mapped; the path now leads to the new one.
#[test]
fn the_content_of_a_replaced_library_is_not_used() {
    let libraries = [("libcuda.so.1.1", "new")];
    let machine = Machine::new(&libraries, "libcuda.so.1.1 (deleted)", Some("NVRM 570.10\n"));
    assert_eq!(machine.build().as_deref(), Some("NVRM 570.10"));
}

#[test]
fn the_kernel_module_counts_where_the_library_is_unknown() {
    let said = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05\nGCC version: 12\n";
    let machine = Machine::new(&[], "libcuda.so.1", Some(said));
    assert_eq!(machine.build().as_deref(), said.lines().next());
    assert_eq!(Machine::new(&[], "nothing.so", Some("\n")).build(), None);
    assert_eq!(Machine::new(&[], "nothing.so", None).build(), None);
}

#[test]
fn versions_differ_from_numbers_of_the_interface() {
    for (name, expected) in [
        ("libcuda.so.580.95.05", true),
        ("libcuda.so.390.48", true),
        ("libcuda.so.1", false),
        ("libcuda.so.1.1", false),
        ("libcuda.so.580", false),
        ("libcuda.so.580.x", false),
        ("libcuda.so", false),
    ] {
        assert_eq!(has_version(name), expected, "{name}");
    }
}
