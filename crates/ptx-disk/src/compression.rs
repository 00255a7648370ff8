//! How a payload becomes stored bytes, and back.

mod lz4_block;

use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use ptx_store::Kind;
use zstd::bulk::{Compressor, Decompressor};
use zstd::dict::DecoderDictionary;
use zstd::zstd_safe::{CParameter, get_dict_id_from_dict, get_frame_content_size};

use crate::Damage;
use crate::format::Encoding;

/// The shortest match that the fast levels look for in PTX text, zstd's longest. Its own choice of
/// 5 and 6 gives no smaller frames there, and a fifth more sequences for every load to decode.
const SHORTEST_MATCH: u32 = 7;
/// The levels whose strategy takes the first match that it meets; the others weigh matches.
const FAST_LEVELS: RangeInclusive<i32> = 1..=2;
/// The largest buffer that a thread keeps for the next entry, in bytes.
const MOST_KEPT: usize = 4 << 20;

/// What PTX files have in common. See `dictionary/README.md`.
const DICTIONARY: &[u8] = include_bytes!("../dictionary/ptx-1.zdict");

/// The number that frames know it by.
static DICTIONARY_NUMBER: LazyLock<Option<u32>> =
    LazyLock::new(|| get_dict_id_from_dict(DICTIONARY).map(std::num::NonZeroU32::get));

/// The dictionary as decoders want it, shared by all threads.
static DECODER_DICTIONARY: LazyLock<Option<DecoderDictionary<'static>>> =
    LazyLock::new(|| DecoderDictionary::try_copy(DICTIONARY).ok());

/// How new entries are stored. Entries stored otherwise are read all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// As they are.
    Off,
    /// PTX text as zstd frames, with the dictionary that this crate ships; cubins as LZ4 blocks. A
    /// launch waits for a cubin; as zstd frames, cubins are three quarters of the bytes and take
    /// three to four times as long to decode.
    Zstd {
        /// zstd's level, for texts: 1 is fast, 19 is small, negative ones are faster still. Levels
        /// out of zstd's range count as the nearest in it.
        level: i32,
    },
}

impl Default for Compression {
    /// Level 1, which no caller waits for.
    fn default() -> Self {
        Self::Zstd { level: 1 }
    }
}

thread_local! {
    // A zstd context is some hundred kilobytes, and digesting the dictionary takes longer than
    // compressing a file: both are kept for the next entry.
    static COMPRESSOR: RefCell<Option<Kept>> = const { RefCell::new(None) };
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
    static DICTIONARY_DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> =
        const { RefCell::new(None) };
    /// What was decoded last.
    static CONTENT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

struct Kept {
    level: i32,
    compressor: Compressor<'static>,
}

/// The level that zstd takes 0 for.
const DEFAULT_LEVEL: i32 = zstd::DEFAULT_COMPRESSION_LEVEL;

impl Compression {
    /// What the header of an entry stored so says of its level: 0 where compression is off.
    pub(crate) const fn level(self) -> i32 {
        match self {
            Self::Off => 0,
            Self::Zstd { level: 0 } => DEFAULT_LEVEL,
            Self::Zstd { level } => level,
        }
    }

    /// The stored form of a content: plain where compression is off, fails or gains nothing.
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

    /// What it stores a payload of this kind as, if that gains anything.
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
        // Digested with the parameters that are set by now.
        compressor.set_dictionary(level, dictionary).ok()?;
        Some(Self { level, compressor })
    }
}

impl Encoding {
    /// The content that `stored` stands for, exactly `content_bytes` long; `None` for an encoding
    /// that needs a dictionary which this release does not have.
    ///
    /// # Errors
    ///
    /// [`Damage::Decoding`] where `stored` is no such encoding, or of another length.
    pub fn decode(self, stored: &[u8], content_bytes: u64) -> Result<Option<Vec<u8>>, Damage> {
        self.decode_with(stored, content_bytes, <[u8]>::to_vec)
    }

    /// Like [`decode`](Self::decode), and gives the content to `take` in a buffer that the next
    /// one uses again: fresh memory for each would cost more than decoding into it.
    pub(crate) fn decode_with<T>(
        self,
        stored: &[u8],
        content_bytes: u64,
        take: impl FnOnce(&[u8]) -> T,
    ) -> Result<Option<T>, Damage> {
        let taken = match self {
            Self::Plain => (stored.len() as u64 == content_bytes).then(|| take(stored)),
            Self::Zstd => DECOMPRESSOR.with_borrow_mut(|kept| {
                let new = || Decompressor::new().ok();
                decompress(kept, new, stored, content_bytes, take)
            }),
            Self::ZstdDictionary(number) if Some(number) == *DICTIONARY_NUMBER => {
                let new =
                    || Decompressor::with_prepared_dictionary(DECODER_DICTIONARY.as_ref()?).ok();
                DICTIONARY_DECOMPRESSOR
                    .with_borrow_mut(|kept| decompress(kept, new, stored, content_bytes, take))
            }
            Self::ZstdDictionary(_) => return Ok(None),
            Self::Lz4 => lz4_block::decompress(stored, content_bytes, take),
        };
        taken.ok_or(Damage::Decoding).map(Some)
    }
}

fn decompress<T>(
    kept: &mut Option<Decompressor<'static>>,
    new: impl FnOnce() -> Option<Decompressor<'static>>,
    frame: &[u8],
    content_bytes: u64,
    take: impl FnOnce(&[u8]) -> T,
) -> Option<T> {
    // Checked before anything of that size is allocated.
    if get_frame_content_size(frame).ok()?? != content_bytes {
        return None;
    }
    let decompressor = match kept {
        Some(decompressor) => decompressor,
        None => kept.insert(new()?),
    };
    let decode = |content: &mut [u8]| decompressor.decompress_to_buffer(frame, content).ok();
    decoded(content_bytes, decode, take)
}

/// Has `decode` fill a buffer of `content_bytes`, and gives them to `take` if they are as many.
fn decoded<T>(
    content_bytes: u64,
    decode: impl FnOnce(&mut [u8]) -> Option<usize>,
    take: impl FnOnce(&[u8]) -> T,
) -> Option<T> {
    let length = usize::try_from(content_bytes).ok()?;
    CONTENT.with_borrow_mut(|content| {
        if content.len() < length || content.len() > MOST_KEPT {
            *content = vec![0; length];
        }
        let content = content.get_mut(..length)?;
        (decode(content)? == length).then(|| take(content))
    })
}

#[cfg(test)]
mod tests;
