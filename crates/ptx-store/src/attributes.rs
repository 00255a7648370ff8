//! What is known of an artifact beside its bytes.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::time::{Duration, SystemTime};

/// Named values beside a payload, sorted by name.
///
/// The names that this project uses have accessors and constants here. A back end adds its own
/// with [`set`](Self::set): a prefix, such as `my-back-end/`, keeps them apart. Every tier and
/// every bundle keeps them; a value that another program wrote is untrusted, so an accessor
/// returns `None` for bytes that it cannot read.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Attributes(BTreeMap<String, Vec<u8>>);

/// The name of a kernel: as the caller asks for it, and as the compiler emitted it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryName {
    /// The name that the caller knows, such as `add<float>`.
    pub asked: String,
    /// The name of the function in the module, such as `_Z3addIfEvv`.
    pub emitted: String,
}

/// The shape of the launch that a kernel was compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchShape {
    /// Blocks along x, y and z. Zero means that only the launch knows the number.
    pub grid: [u32; 3],
    /// Threads of a block along x, y and z.
    pub block: [u32; 3],
}

const ENTRY_NAMES: &str = "entry-names";
const LAUNCH_SHAPE: &str = "launch-shape";
const SHARED_BYTES: &str = "shared-bytes";
const CREATED: &str = "created";

impl Attributes {
    /// The kernel's name, as text.
    pub const KERNEL: &'static str = "kernel";
    /// The target, such as `sm_90a`, as text.
    pub const TARGET: &'static str = "target";
    /// The compiler's log, as text.
    pub const LOG: &'static str = "log";
    /// The program that computed the artifact, such as `my-back-end 1.4`, as text.
    pub const PRODUCER: &'static str = "producer";
    /// Where an imported artifact came from, as text. An artifact computed here has none.
    pub const ORIGIN: &'static str = "origin";

    /// Sets a value. Each tier has its limits, and refuses an artifact that exceeds them.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<Vec<u8>>) {
        self.0.insert(name.into(), value.into());
    }

    /// Removes a value and returns it.
    pub fn remove(&mut self, name: &str) -> Option<Vec<u8>> {
        self.0.remove(name)
    }

    /// The bytes of a value.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.0.get(name).map(Vec::as_slice)
    }

    /// A value that is text.
    pub fn text(&self, name: &str) -> Option<&str> {
        std::str::from_utf8(self.get(name)?).ok()
    }

    /// The kernels of the module.
    pub fn entry_names(&self) -> Option<Vec<EntryName>> {
        let mut rest = self.get(ENTRY_NAMES)?;
        let mut names = Vec::new();
        while !rest.is_empty() {
            let (asked, emitted) = (take_text(&mut rest)?, take_text(&mut rest)?);
            names.push(EntryName { asked, emitted });
        }
        Some(names)
    }

    /// Sets the kernels of the module.
    pub fn set_entry_names(&mut self, names: &[EntryName]) {
        let mut bytes = Vec::new();
        for text in names.iter().flat_map(|name| [&name.asked, &name.emitted]) {
            bytes.extend((text.len() as u64).to_le_bytes());
            bytes.extend(text.as_bytes());
        }
        self.set(ENTRY_NAMES, bytes);
    }

    /// The shape of the launch that the kernel was compiled for.
    pub fn launch_shape(&self) -> Option<LaunchShape> {
        let bytes: &[u8; 24] = self.get(LAUNCH_SHAPE)?.try_into().ok()?;
        let (words, _) = bytes.as_chunks();
        let number = |at: usize| words.get(at).map_or(0, |word| u32::from_le_bytes(*word));
        let [grid, block] = [0, 3].map(|at| [number(at), number(at + 1), number(at + 2)]);
        Some(LaunchShape { grid, block })
    }

    /// Sets the shape of the launch.
    pub fn set_launch_shape(&mut self, shape: LaunchShape) {
        let numbers = shape.grid.into_iter().chain(shape.block);
        self.set(LAUNCH_SHAPE, numbers.flat_map(u32::to_le_bytes).collect::<Vec<u8>>());
    }

    /// The bytes of dynamic shared memory that a launch needs.
    pub fn shared_bytes(&self) -> Option<u32> {
        Some(u32::from_le_bytes(self.get(SHARED_BYTES)?.try_into().ok()?))
    }

    /// Sets the bytes of dynamic shared memory.
    pub fn set_shared_bytes(&mut self, bytes: u32) {
        self.set(SHARED_BYTES, bytes.to_le_bytes());
    }

    /// When the artifact was computed. A tier fills this in where the artifact has none.
    pub fn created(&self) -> Option<SystemTime> {
        let nanoseconds = u64::from_le_bytes(self.get(CREATED)?.try_into().ok()?);
        SystemTime::UNIX_EPOCH.checked_add(Duration::from_nanos(nanoseconds))
    }

    /// Removes when the artifact was computed, and returns it. A tier does this if its format has
    /// a place of its own for the time.
    pub fn take_created(&mut self) -> Option<SystemTime> {
        let created = self.created();
        self.remove(CREATED);
        created
    }

    /// Sets the time of the computation. A `u64` of nanoseconds since 1970 keeps it. A time out of
    /// range becomes the nearest in range.
    pub fn set_created(&mut self, created: SystemTime) {
        let since = created.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let nanoseconds = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
        self.set(CREATED, nanoseconds.to_le_bytes());
    }

    /// The bytes of all names and values.
    pub fn bytes(&self) -> u64 {
        self.0.iter().map(|(name, value)| (name.len() + value.len()) as u64).sum()
    }
}

/// Read access to all values, by name.
impl Deref for Attributes {
    type Target = BTreeMap<String, Vec<u8>>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl fmt::Debug for Attributes {
    /// Shows values that are short text as text, and all others by their length.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LONGEST: usize = 64;
        let mut map = f.debug_map();
        for (name, value) in &self.0 {
            match std::str::from_utf8(value) {
                Ok(text) if text.len() <= LONGEST => map.entry(name, &text),
                _ => map.entry(name, &format_args!("{} bytes", value.len())),
            };
        }
        map.finish()
    }
}

/// Takes a text with its length before it off the front of `bytes`.
fn take_text(bytes: &mut &[u8]) -> Option<String> {
    let (length, rest) = bytes.split_first_chunk()?;
    let (text, rest) = rest.split_at_checked(u64::from_le_bytes(*length).try_into().ok()?)?;
    *bytes = rest;
    Some(std::str::from_utf8(text).ok()?.to_owned())
}

#[cfg(test)]
mod tests;
