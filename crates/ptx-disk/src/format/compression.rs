//! How does a payload become stored bytes?

use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::RangeInclusive;

use ptx_store::Kind;
use zstd::bulk::Compressor;
use zstd::zstd_safe::CParameter;

use super::dictionary::{DICTIONARY, DICTIONARY_NUMBER};
use super::{Encoding, lz4_block};

/// The shortest match that the fast levels look for in PTX text, zstd's longest. Its own choice of
/// 5 and 6 gives no smaller frames, and a fifth more sequences to decode.
const SHORTEST_MATCH: u32 = 7;
/// The levels whose strategy takes the first match that it meets; the others weigh matches.
const FAST_LEVELS: RangeInclusive<i32> = 1..=2;
/// How new entries are stored. A store reads all entries, however they are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Not compressed.
    Off,
    /// PTX text as zstd frames, with the dictionary that this crate ships, and cubins as LZ4
    /// blocks. A launch waits for a cubin. As zstd frames, cubins take three quarters of the bytes
    /// and three to four times as long to decode.
    Zstd {
        /// zstd's level for texts: 1 is fast, 19 is small, negative ones are faster still. zstd
        /// takes the nearest that it has.
        level: i32,
    },
}

impl Default for Compression {
    /// Level 1, which is fast enough that no caller notices.
    fn default() -> Self {
        Self::Zstd { level: 1 }
    }
}

thread_local! {
    // A zstd context takes some hundred kilobytes, and digesting the dictionary takes longer than
    // compressing a file, so a thread keeps both.
    static COMPRESSOR: RefCell<Option<Kept>> = const { RefCell::new(None) };
}

struct Kept {
    level: i32,
    compressor: Compressor<'static>,
}

/// The level that zstd takes 0 for.
const DEFAULT_LEVEL: i32 = zstd::DEFAULT_COMPRESSION_LEVEL;

impl Compression {
    /// The level in the header of an entry stored so. It is 0 if compression is off.
    pub(crate) const fn level(self) -> i32 {
        match self {
            Self::Off => 0,
            Self::Zstd { level: 0 } => DEFAULT_LEVEL,
            Self::Zstd { level } => level,
        }
    }

    /// Encodes a content. It is plain if compression is off, fails or gains nothing.
    pub fn encode(self, kind: Kind, content: &[u8]) -> (Encoding, Cow<'_, [u8]>) {
        let plain = (Encoding::Plain, Cow::Borrowed(content));
        let Self::Zstd { level } = self else { return plain };
        let stored = match kind {
            Kind::Ptx => compress(content, level),
            Kind::Cubin => lz4_block::compress(content),
        };
        match stored {
            Some(stored) if stored.len() < content.len() => {
                (self.encoding(kind), Cow::Owned(stored))
            }
            _ => plain,
        }
    }

    /// The encoding of a payload of this kind, if that gains anything.
    pub(crate) fn encoding(self, kind: Kind) -> Encoding {
        match (self, kind, *DICTIONARY_NUMBER) {
            (Self::Off, ..) => Encoding::Plain,
            (_, Kind::Ptx, Some(number)) => Encoding::ZstdDictionary(number),
            (_, Kind::Ptx, None) => Encoding::Zstd,
            (_, Kind::Cubin, _) => Encoding::Lz4,
        }
    }
}

fn compress(content: &[u8], level: i32) -> Option<Vec<u8>> {
    COMPRESSOR.with_borrow_mut(|kept| {
        let kept = match kept {
            Some(kept) if kept.level == level => kept,
            _ => kept.insert(Kept::new(level)?),
        };
        kept.compressor.compress(content).ok()
    })
}

impl Kept {
    fn new(level: i32) -> Option<Self> {
        let dictionary = if DICTIONARY_NUMBER.is_some() { DICTIONARY } else { &[] };
        let mut compressor = Compressor::new(level).ok()?;
        if FAST_LEVELS.contains(&level) {
            compressor.set_parameter(CParameter::MinMatch(SHORTEST_MATCH)).ok()?;
        }
        // This digests the dictionary with the parameters set above.
        compressor.set_dictionary(level, dictionary).ok()?;
        Some(Self { level, compressor })
    }
}
