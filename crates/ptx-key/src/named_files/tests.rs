use super::{EXTENSIONS, PREFIXES, WORDS, names_files};

/// The options that read files by the documentation of each tool, with every way to pass a value.
#[test]
fn documented_options_that_read_files_are_found() {
    let nvcc = "-include --pre-include -l --library -I --include-path -isystem --system-include \
                -L --library-path -ccbin --compiler-bindir -arbin --archiver-binary -ldir \
                --libdevice-directory -target-dir --target-directory -apply-controls \
                --apply-controls -qpp-config --qpp-config -optf --options-file";
    let nvrtc = "-I --include-path -include --pre-include --pch -pch --create-pch -create-pch \
                 --use-pch -use-pch --pch-dir -pch-dir";
    let clang = "-B --prefix -F -I --include-directory --include-directory-after --include-prefix \
                 --include-with-prefix -idirafter -iframework -iframeworkwithsysroot -imacros \
                 --imacros -include --include -include-pch -iprefix -iquote -isysroot --sysroot \
                 -isystem -isystem-after -ivfsoverlay -iwithprefix -iwithprefixbefore \
                 -iwithsysroot -cxx-isystem -stdlib++-isystem --cuda-path --ptxas-path \
                 --libomptarget-nvptx-bc-path -resource-dir -working-directory --gcc-toolchain \
                 --gcc-install-dir --config --config-user-dir --config-system-dir --embed-dir \
                 -fmodule-file -fmodule-map-file -fmodules-cache-path -fprebuilt-module-path \
                 -fbuild-session-file -fplugin -fpass-plugin -load -mlink-builtin-bitcode \
                 -mlink-bitcode-file -fembed-offload-object -fopenmp-host-ir-file-path \
                 -fprofile-use -fprofile-instr-use -fprofile-sample-use -fprofile-list \
                 -fprofile-remapping-file -fauto-profile -fsanitize-ignorelist \
                 -fsanitize-blacklist -fsanitize-coverage-allowlist -fxray-attr-list \
                 -fxray-always-instrument -fthinlto-index -frandomize-layout-seed-file \
                 -vfsoverlay --warning-suppression-mappings";
    let gcc = "-specs --specs -fbranch-probabilities -fmodule-mapper -T";
    for option in [nvcc, nvrtc, clang, gcc].iter().flat_map(|tool| tool.split_whitespace()) {
        for word in [option.to_owned(), format!("{option}=name"), format!("{option},name")] {
            assert!(names_files(&word), "{word}");
        }
        for prefix in ["-Xcompiler=", "--compiler-options=-O2,", "-Wp,", "-O2 ", "-X '"] {
            let word = format!("{prefix}{option}");
            assert!(names_files(&word), "{word}");
        }
    }
}

#[test]
fn a_value_may_follow_without_a_space() {
    for word in ["-Iname", "-Lname", "-Bname", "-Fname", "-lname", "-isystemname", "-includename"] {
        assert!(names_files(word), "{word}");
    }
}

#[test]
fn paths_and_file_names_are_found_after_any_option() {
    for path in [
        "/abs",
        "/",
        "./here",
        "../up",
        "sub/name",
        "~/home",
        "~",
        "~user/x",
        ".",
        "..",
        "C:\\x",
        "C:/x",
        "c:name",
        "\\\\host\\x",
        ".\\x",
        "sub\\name",
        "file:x",
        "a.h",
        "a.b.CUH",
        "libx.so",
    ] {
        for word in [
            path.to_owned(),
            format!("--x={path}"),
            format!("-x {path}"),
            format!("-x=a,{path}"),
            format!("-DX=\"{path}\""),
            format!("a;'{path}'"),
        ] {
            assert!(names_files(&word), "{word}");
        }
    }
    assert!(names_files("@options") && names_files("-Xptxas=@options"));
}

/// Every option of `nvcc 13 --help` and of NVRTC that changes PTX and reads no file.
#[test]
fn options_that_read_no_files_are_accepted() {
    let options = "-O3 --optimize=3 --Ofast-compile=min -G -g -lineinfo --generate-line-info \
        --source-in-ptx --dopt=on --dlink-time-opt -lto -ltoir --gen-opt-lto -ptx --device-c \
        --ftemplate-depth=64 --no-exceptions --x=cu --std=c++17 -std=c++20 --stdlib=libc++ \
        --no-host-device-initializer-list --no-host-device-move-forward \
        --expt-relaxed-constexpr --extended-lambda -m64 --machine=64 \
        --static-global-template-stub=true --device-entity-has-hidden-visibility=true \
        --forward-unknown-opts --dont-use-profile -noprof --split-compile=2 \
        --gpu-architecture=sm_90a -arch=sm_100f --gpu-code=sm_90 -rdc=true --entries=a,b \
        -gencode=arch=compute_90,code=[sm_90,compute_90] -maxrregcount=64 --use_fast_math \
        --ftz=true --prec-div=false --prec-sqrt=false --fmad=false \
        --extra-device-vectorization --default-stream=per-thread --keep-device-functions \
        --restrict --diag-suppress=177,20012 --extensible-whole-program --relocatable-ptx \
        --jump-table-density=101 --device-stack-protector=true --frandom-seed=7 --utf-8 \
        --fdevice-sanitize=memcheck --no-source-include --builtin-move-forward=false \
        --builtin-initializer-list=false --minimal --device-as-default-execution-space \
        --pch-verbose=false --instantiate-templates-in-pch=true --no-cache -DN=4 -D_X -UNDEBUG \
        -Xptxas=-v,-O3 --ptxas-options=--warn-on-spills -ffast-math -fno-exceptions \
        --cuda-gpu-arch=sm_90 -nocudalib -mllvm -nvptx-short-ptr -ffp-contract=fast 13.0.88 64";
    for word in options.split_whitespace() {
        assert!(!names_files(word), "{word}");
    }
}

#[test]
fn each_list_is_sorted_and_no_prefix_is_redundant() {
    assert!(PREFIXES.is_sorted() && WORDS.is_sorted() && EXTENSIONS.is_sorted());
    for pair in PREFIXES.windows(2) {
        assert!(!pair[1].starts_with(pair[0]), "{} is covered by {}", pair[1], pair[0]);
    }
}
