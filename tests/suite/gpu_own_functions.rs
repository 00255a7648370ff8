//! Functions that the driver itself defines are found, whoever assembles.

use std::sync::Arc;

use ptx_cuda::{Argument, Config, CustDriver, Function, ModuleCache, Ptx, Source};
use ptx_disk::DiskStore;

use crate::gpu_device::{Gpu, gpu};

/// Prints, allocates and frees, and could fail an assertion; leaves 42.
const TEXT: &str = "
.version 7.0
.target sm_70
.address_size 64
.extern .func (.param .b32 written) vprintf(.param .b64 format, .param .b64 arguments);
.extern .func (.param .b64 address) malloc(.param .b64 bytes);
.extern .func free(.param .b64 address);
.extern .func __assertfail(
    .param .b64 message, .param .b64 file, .param .b32 line, .param .b64 function, .param .b64 size
);
.global .align 1 .b8 message[15] =
    {102, 114, 111, 109, 32, 97, 32, 107, 101, 114, 110, 101, 108, 10, 0};
.visible .entry ask(.param .u64 out)
{
    .reg .pred %p;
    .reg .b32 %r<3>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [out];
    cvta.to.global.u64 %rd1, %rd1;
    mov.u64 %rd2, message;
    cvta.global.u64 %rd2, %rd2;
    {
        .param .b64 format;
        .param .b64 arguments;
        .param .b32 written;
        st.param.b64 [format], %rd2;
        st.param.b64 [arguments], 0;
        call.uni (written), vprintf, (format, arguments);
        ld.param.b32 %r1, [written];
    }
    {
        .param .b64 bytes;
        .param .b64 address;
        st.param.b64 [bytes], 64;
        call.uni (address), malloc, (bytes);
        ld.param.b64 %rd3, [address];
    }
    setp.ne.u64 %p, %rd3, 0;
    @%p bra allocated;
    {
        .param .b64 message_at;
        .param .b64 file;
        .param .b32 line;
        .param .b64 function;
        .param .b64 size;
        st.param.b64 [message_at], %rd2;
        st.param.b64 [file], %rd2;
        st.param.b32 [line], 1;
        st.param.b64 [function], %rd2;
        st.param.b64 [size], 1;
        call.uni __assertfail, (message_at, file, line, function, size);
    }
allocated:
    st.u32 [%rd3], 42;
    ld.u32 %r2, [%rd3];
    {
        .param .b64 address;
        st.param.b64 [address], %rd3;
        call.uni free, (address);
    }
    st.global.u32 [%rd1], %r2;
    ret;
}
";

fn check(function: &Function<CustDriver>) {
    let mut out = [0_u8; 4];
    function.run([1; 3], [1; 3], 0, &mut [Argument::Buffer(&mut out)]).unwrap();
    assert_eq!(u32::from_le_bytes(out), 42);
}

#[test]
fn a_kernel_prints_allocates_and_asserts() {
    let Some(Gpu { context, .. }) = gpu() else { return };
    let ptx = || Ptx::new(TEXT);
    check(&context.load(&ptx().unwrap().into()).unwrap().function("ask").unwrap());
    let folder = tempfile::tempdir().unwrap();
    let key = context.module_key_of_text(TEXT);
    for (is_kept, expected) in
        [(false, Source::Computed), (true, Source::Computed), (true, Source::Tier("disk".into()))]
    {
        let mut modules = ModuleCache::new(Config::default());
        if is_kept {
            let config = ptx_disk::Config::new(folder.path().join("store"));
            modules = modules.with_cubins(Arc::new(DiskStore::open(config).unwrap()));
        }
        let served = modules.get_or_load(&context, &key, ptx).unwrap();
        assert_eq!(served.source, expected);
        check(&served.value.function("ask").unwrap());
    }
}
