//! A device's machine code, checked far enough to be handed over.

use std::fmt;
use std::sync::Arc;

use elf::ElfBytes;
use elf::abi::{SHF_ALLOC, SHT_NOBITS};
use elf::endian::LittleEndian;
use ptx_key::ComputeCapability;

use crate::CudaError;

/// `EM_CUDA` of the ELF registry.
pub(crate) const MACHINE: u16 = 190;

/// Bytes of an ELF header.
pub(crate) const HEADER_BYTES: usize = 64;

/// From this ABI version on, the architecture's number stands in the second byte of the flags
/// and no longer in the first (`readelf -h` over cubins of ptxas 12.9 and 13.5).
const ABI_WITH_SHIFTED_ARCHITECTURE: u8 = 8;

/// A cubin: an ELF image whose header, tables and sections all lie within it.
///
/// The driver is told no length: it believes the image. A stored image that was cut off would
/// make it read past the end, so this is checked here. What the sections hold is the driver's to
/// judge.
#[derive(Clone, PartialEq, Eq)]
pub struct Cubin {
    image: Arc<[u8]>,
    architecture: u8,
    device_bytes: u64,
}

impl Cubin {
    /// Takes an image from an assembler or a store.
    ///
    /// # Errors
    ///
    /// [`CudaError::NotCubin`] where it is not an ELF image for CUDA devices, or not a whole one.
    pub fn new(image: impl Into<Arc<[u8]>>) -> Result<Self, CudaError> {
        let image = image.into();
        let (architecture, device_bytes) =
            check(&image).map_err(|reason| CudaError::NotCubin { reason })?;
        Ok(Self { image, architecture, device_bytes })
    }

    /// The bytes.
    pub fn image(&self) -> &Arc<[u8]> {
        &self.image
    }

    /// The architecture that the code is for, such as `sm_90`. A cubin does not say with which
    /// variant letter it was made.
    pub fn architecture(&self) -> String {
        format!("sm_{}", self.architecture)
    }

    /// Whether a device of this compute capability may run it: one of the same major number and
    /// at least the same minor. Code for one architecture alone (`sm_90a`) is not told apart.
    pub fn runs_on(&self, device: ComputeCapability) -> bool {
        let (major, minor) = (u16::from(self.architecture) / 10, u16::from(self.architecture) % 10);
        major == device.major && minor <= device.minor
    }

    /// The names of its kernels, in the order of its sections.
    pub fn kernels(&self) -> Vec<String> {
        kernels(&self.image).unwrap_or_default()
    }

    /// Bytes that the code, its constants and its global variables take on the device. An image
    /// that shows no sections counts whole.
    pub fn device_bytes(&self) -> u64 {
        self.device_bytes
    }
}

impl fmt::Debug for Cubin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cubin({}, {} bytes)", self.architecture(), self.image.len())
    }
}

fn check(image: &[u8]) -> Result<(u8, u64), String> {
    let file = ElfBytes::<LittleEndian>::minimal_parse(image).map_err(|e| e.to_string())?;
    let header = file.ehdr;
    if header.e_machine != MACHINE || header.class != elf::file::Class::ELF64 {
        return Err(format!("an ELF image for machine {}, not CUDA's {MACHINE}", header.e_machine));
    }
    let (sections, names) = file.section_headers_with_strtab().map_err(|e| e.to_string())?;
    let mut device_bytes = if sections.is_some() { 0 } else { image.len() as u64 };
    for section in sections.into_iter().flatten() {
        let name = names
            .and_then(|names| names.get(usize::try_from(section.sh_name).ok()?).ok())
            .unwrap_or("");
        if section.sh_type != SHT_NOBITS {
            within(section.sh_offset, section.sh_size, image)
                .ok_or_else(|| format!("the section `{name}` reaches past the end"))?;
        }
        if section.sh_flags & u64::from(SHF_ALLOC) != 0 && !name.starts_with(".nv.shared") {
            device_bytes = device_bytes.saturating_add(section.sh_size);
        }
    }
    for segment in file.segments().into_iter().flatten() {
        within(segment.p_offset, segment.p_filesz, image)
            .ok_or_else(|| "a segment reaches past the end".to_owned())?;
    }
    let flags = header.e_flags.to_le_bytes();
    let architecture = usize::from(header.abiversion >= ABI_WITH_SHIFTED_ARCHITECTURE);
    Ok((flags[architecture], device_bytes))
}

/// Each kernel has a section for its parameters, in which functions have none.
fn kernels(image: &[u8]) -> Option<Vec<String>> {
    let file = ElfBytes::<LittleEndian>::minimal_parse(image).ok()?;
    let (sections, names) = file.section_headers_with_strtab().ok()?;
    let names = names?;
    let kernel = |section: elf::section::SectionHeader| {
        let name = names.get(usize::try_from(section.sh_name).ok()?).ok()?;
        Some(name.strip_prefix(".nv.constant0.")?.to_owned())
    };
    Some(sections?.iter().filter_map(kernel).collect())
}

fn within(offset: u64, size: u64, image: &[u8]) -> Option<()> {
    let end = offset.checked_add(size)?;
    (end <= u64::try_from(image.len()).ok()?).then_some(())
}

/// The smallest image that is a cubin: a header for `architecture`, then `content`.
pub(crate) fn smallest(architecture: u8, content: &[u8]) -> Vec<u8> {
    let mut image = vec![0_u8; HEADER_BYTES];
    image[..9].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1, 0x41, 8]);
    image[16] = 2;
    image[18..20].copy_from_slice(&MACHINE.to_le_bytes());
    image[20] = 1;
    image[49] = architecture;
    image[52] = 64;
    image.extend_from_slice(content);
    image
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    #[test]
    fn the_architecture_is_read() {
        let cubin = Cubin::new(smallest(90, b"")).unwrap();
        assert_eq!(cubin.architecture(), "sm_90");
        assert_eq!(cubin.device_bytes(), HEADER_BYTES as u64);
    }

    #[test]
    fn what_is_not_a_cubin_is_refused() {
        let mut other = smallest(90, b"");
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
        let mut image = smallest(90, &table);
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
        assert_eq!(Cubin::new(smallest(90, b"")).unwrap().kernels(), [""; 0]);
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
            image = smallest(90, &image);
            image[at] = byte;
            image[40] = 64;
            let _ = Cubin::new(image);
        }
    }
}
