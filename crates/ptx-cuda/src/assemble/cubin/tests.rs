//! Whole, damaged and foreign cubins.

use super::*;

#[test]
fn the_architecture_is_read() {
    let cubin = Cubin::new(smallest_cubin(90, b"")).unwrap();
    assert_eq!(cubin.architecture(), "sm_90");
    assert_eq!(cubin.device_bytes(), HEADER_BYTES as u64);
}

#[test]
fn what_is_not_a_cubin_is_refused() {
    let mut other = smallest_cubin(90, b"");
    other[18] = 62;
    for (image, reason) in [(vec![], ""), (b"hello".to_vec(), ""), (other, "machine 62")] {
        let error = Cubin::new(image).unwrap_err().to_string();
        assert!(error.contains(reason) && error.contains("assemble again"), "{error}");
    }
}

const SECTION_BYTES: usize = 64;

/// A section header, of which only what is looked at is filled in.
pub(crate) fn section(
    name: u32,
    kind: u32,
    flags: u64,
    offset: u64,
    size: u64,
) -> [u8; SECTION_BYTES] {
    let mut header = [0_u8; SECTION_BYTES];
    header[..4].copy_from_slice(&name.to_le_bytes());
    header[4..8].copy_from_slice(&kind.to_le_bytes());
    header[8..16].copy_from_slice(&flags.to_le_bytes());
    header[24..32].copy_from_slice(&offset.to_le_bytes());
    header[32..40].copy_from_slice(&size.to_le_bytes());
    header
}

/// A cubin with these sections, whose names lie in the first one.
pub(crate) fn with_sections(names: &[u8], sections: &[[u8; SECTION_BYTES]]) -> Vec<u8> {
    let names_at = (HEADER_BYTES + (sections.len() + 2) * SECTION_BYTES) as u64;
    let mut table = [0; SECTION_BYTES].to_vec();
    table.extend(section(0, 3, 0, names_at, names.len() as u64));
    table.extend(sections.iter().flatten());
    let mut image = smallest_cubin(90, &table);
    image.extend_from_slice(names);
    image[0x28] = 64;
    image[0x3a] = 64;
    image[0x3c] = u8::try_from(sections.len() + 2).unwrap();
    image[0x3e] = 1;
    image
}

#[test]
fn device_bytes_are_code_and_variables_but_not_shared_memory() {
    const PROGBITS: u32 = 1;
    let alloc = u64::from(SHF_ALLOC);
    let image = with_sections(
        b".text\0.nv.shared.k\0.nv.global\0.debug\0",
        &[
            section(0, PROGBITS, alloc, 0, 100),
            section(6, SHT_NOBITS, alloc, 0, 20_000),
            section(19, SHT_NOBITS, alloc, 0, 1 << 20),
            section(30, PROGBITS, 0, 0, 50),
        ],
    );
    assert_eq!(Cubin::new(image).unwrap().device_bytes(), 100 + (1 << 20));
}

#[test]
fn kernels_are_those_with_parameters() {
    let names = b".text.f\0.nv.constant0.k\0.nv.constant3\0";
    let sections = [0, 8, 24].map(|name| section(name, 1, 0, 0, 0));
    let image = with_sections(names, &sections);
    assert_eq!(Cubin::new(image).unwrap().kernels(), ["k"]);
    assert_eq!(Cubin::new(smallest_cubin(90, b"")).unwrap().kernels(), [""; 0]);
}

#[test]
fn what_reaches_past_the_end_is_refused() {
    for (offset, size) in [(0, 100_000), (100_000, 1), (u64::MAX, 1), (1, u64::MAX)] {
        let image = with_sections(b".text\0", &[section(0, 1, 0, offset, size)]);
        let error = Cubin::new(image).unwrap_err().to_string();
        assert!(error.contains("`.text` reaches past the end"), "{error}");

        // One program header, in the place of the names.
        let mut image = with_sections(&[0; 56], &[]);
        let at = image.len() - 56;
        image[at + 8..at + 16].copy_from_slice(&u64::to_le_bytes(offset));
        image[at + 32..at + 40].copy_from_slice(&u64::to_le_bytes(size));
        image[0x20] = u8::try_from(at).unwrap();
        image[0x36] = 56;
        image[0x38] = 1;
        let error = Cubin::new(image).unwrap_err().to_string();
        assert!(error.contains("a segment reaches past the end"), "{error}");
    }
}

proptest::proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(
        mut image in proptest::collection::vec(proptest::num::u8::ANY, 0..400),
        at in 0_usize..64,
        byte in proptest::num::u8::ANY,
    ) {
        let _ = Cubin::new(image.clone());
        image = smallest_cubin(90, &image);
        image[at] = byte;
        image[40] = 64;
        let _ = Cubin::new(image);
    }
}
