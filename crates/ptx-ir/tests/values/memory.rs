//! Is an access to memory allowed? Memory here remembers which thread used which place.

use std::collections::BTreeSet;

/// Buffers at addresses far from each other.
pub(crate) struct GlobalMemory {
    pub(crate) buffers: Vec<Vec<u8>>,
}

impl GlobalMemory {
    pub(crate) fn address(buffer: usize) -> u64 {
        (buffer as u64 + 1) << 40
    }

    fn place(&mut self, address: u64, bytes: usize) -> &mut [u8] {
        let buffer = (address >> 40) as usize - 1;
        let place = (address & ((1 << 40) - 1)) as usize;
        assert_eq!(place % bytes, 0, "not aligned");
        let length = self.buffers[buffer].len();
        let place = self.buffers[buffer].get_mut(place..place + bytes);
        place.unwrap_or_else(|| panic!("outside of the {length} bytes of buffer {buffer}"))
    }

    pub(crate) fn load(&mut self, address: u64, bytes: usize) -> u32 {
        number(self.place(address, bytes))
    }

    pub(crate) fn store(&mut self, address: u64, bytes: usize, value: u32) {
        self.place(address, bytes).copy_from_slice(&value.to_le_bytes()[..bytes]);
    }
}

fn number(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

/// Which threads used a place since the last barrier.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Used {
    #[default]
    Not,
    Read(usize),
    ReadByMany,
    Written(usize),
    Updated,
}

/// The memory that the threads of a workgroup share. Two threads at one place need a barrier between
/// them if one of them writes.
pub(crate) struct SharedMemory {
    bytes: Vec<u8>,
    used: Vec<Used>,
    written_ever: Vec<bool>,
    /// The destinations of unfinished copies.
    awaited: BTreeSet<u64>,
}

impl SharedMemory {
    pub(crate) fn new(bytes: usize) -> Self {
        Self {
            bytes: vec![0; bytes],
            used: vec![Used::Not; bytes],
            written_ever: vec![false; bytes],
            awaited: BTreeSet::new(),
        }
    }

    pub(crate) fn barrier(&mut self) {
        self.used.fill(Used::Not);
    }

    /// No other access to the destination of an unfinished copy is allowed.
    pub(crate) fn begin_copy(&mut self, address: u64) {
        assert!(self.awaited.insert(address), "two unfinished copies have one destination");
    }

    pub(crate) fn end_copy(&mut self, address: u64) {
        self.awaited.remove(&address);
    }

    pub(crate) fn load(&mut self, address: u64, bytes: usize, thread: usize) -> u32 {
        let place = self.place(address, bytes);
        assert!(self.written_ever[place], "read before anything was written");
        self.used[place] = match self.used[place] {
            Used::Not => Used::Read(thread),
            Used::Read(other) if other != thread => Used::ReadByMany,
            Used::Written(other) if other != thread => panic!("read while another writes"),
            Used::Updated => panic!("read while others update"),
            same => same,
        };
        number(&self.bytes[place..place + bytes])
    }

    pub(crate) fn store(&mut self, address: u64, bytes: usize, value: u32, thread: usize) {
        let place = self.place(address, bytes);
        let alone = match self.used[place] {
            Used::Not => true,
            Used::Read(other) | Used::Written(other) => other == thread,
            Used::ReadByMany | Used::Updated => false,
        };
        assert!(alone, "written while another reads or writes");
        self.used[place] = Used::Written(thread);
        self.written_ever[place] = true;
        self.bytes[place..place + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
    }

    pub(crate) fn update(&mut self, address: u64, value: u32, function: fn(u32, u32) -> u32) {
        let place = self.place(address, 4);
        let unshared = matches!(self.used[place], Used::Not | Used::Updated);
        assert!(unshared, "updated while another reads or writes");
        self.used[place] = Used::Updated;
        let after = function(number(&self.bytes[place..place + 4]), value);
        self.bytes[place..place + 4].copy_from_slice(&after.to_le_bytes());
    }

    fn place(&self, address: u64, bytes: usize) -> usize {
        let place = address as usize;
        assert_eq!(place % bytes, 0, "not aligned");
        assert!(place + bytes <= self.bytes.len(), "outside of workgroup memory");
        assert!(!self.awaited.contains(&address), "a copy to this place is not waited for");
        place
    }
}
