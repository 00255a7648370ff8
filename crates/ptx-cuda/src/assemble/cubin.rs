//! A device's machine code, checked far enough to be given to the driver.

use std::fmt;
use std::sync::Arc;

use elf::ElfBytes;
use elf::abi::{SHF_ALLOC, SHT_NOBITS};
use elf::endian::LittleEndian;
use ptx_key::ComputeCapability;

use crate::CudaError;

/// `EM_CUDA` of the ELF registry.
const MACHINE: u16 = 190;

/// The bytes of an ELF header.
pub(crate) const HEADER_BYTES: usize = 64;

/// From this ABI version on, the second byte of the flags is the architecture's number and no
/// longer the first (`readelf -h` over cubins of ptxas 12.9 and 13.5).
const ABI_WITH_SHIFTED_ARCHITECTURE: u8 = 8;

/// A cubin: an ELF image whose header, tables and sections all lie within it.
///
/// The driver takes an image without its length, and would read past the end of one that is cut
/// off. It judges itself what the sections contain.
#[derive(Clone, PartialEq, Eq)]
pub struct Cubin {
    image: Arc<[u8]>,
    architecture: u8,
    device_bytes: u64,
}

impl Cubin {
    /// Checks an image from an assembler or a store.
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

    /// The architecture of the code, such as `sm_90`. A cubin does not contain the variant letter.
    pub fn architecture(&self) -> String {
        format!("sm_{}", self.architecture)
    }

    /// Returns true if a device of this compute capability may run it: one of the same major number
    /// and at least the same minor. Code for one architecture alone (`sm_90a`) looks the same.
    pub(crate) fn runs_on(&self, device: ComputeCapability) -> bool {
        let (major, minor) = (u16::from(self.architecture) / 10, u16::from(self.architecture) % 10);
        major == device.major && minor <= device.minor
    }

    /// The names of its kernels, in the order of its sections.
    pub fn kernels(&self) -> Vec<String> {
        kernels(&self.image).unwrap_or_default()
    }

    /// The bytes that code, constants and global variables take on the device. An image without
    /// sections counts whole.
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

/// Each kernel has a section for its parameters; a function has none.
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
pub(crate) fn smallest_cubin(architecture: u8, content: &[u8]) -> Vec<u8> {
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
pub(crate) mod tests;
