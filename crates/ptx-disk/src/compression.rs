//! How a payload becomes stored bytes, and back.

use std::borrow::Cow;
use std::cell::RefCell;

use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe::get_frame_content_size;

use crate::Damage;
use crate::format::Encoding;

/// How new entries are stored. Entries stored otherwise are read all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// As they are.
    Off,
    /// As zstd frames.
    Zstd {
        /// zstd's level: 1 is fast, 19 is small, negative ones are faster still. Levels out of
        /// zstd's range count as the nearest in it.
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
    // A zstd context is some hundred kilobytes that would be made for each entry.
    static COMPRESSOR: RefCell<Option<(i32, Compressor<'static>)>> = const { RefCell::new(None) };
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// The stored form of `content`: plain where compression is off, fails or gains nothing.
pub(crate) fn encode(content: &[u8], compression: Compression) -> (Encoding, Cow<'_, [u8]>) {
    let plain = (Encoding::Plain, Cow::Borrowed(content));
    let Compression::Zstd { level } = compression else { return plain };
    match compress(content, level) {
        Some(frame) if frame.len() < content.len() => (Encoding::Zstd, Cow::Owned(frame)),
        _ => plain,
    }
}

fn compress(content: &[u8], level: i32) -> Option<Vec<u8>> {
    COMPRESSOR.with_borrow_mut(|kept| {
        let kept = match kept {
            Some(kept) if kept.0 == level => kept,
            _ => kept.insert((level, Compressor::new(level).ok()?)),
        };
        kept.1.compress(content).ok()
    })
}

/// The content that `stored` stands for, exactly `content_bytes` long; `None` for an encoding
/// that needs what this release does not have.
pub(crate) fn decode(
    encoding: Encoding,
    stored: &[u8],
    content_bytes: u64,
) -> Result<Option<Cow<'_, [u8]>>, Damage> {
    let content = match encoding {
        Encoding::Plain if stored.len() as u64 == content_bytes => Some(Cow::Borrowed(stored)),
        Encoding::Plain => None,
        Encoding::Zstd => decompress(stored, content_bytes).map(Cow::Owned),
        Encoding::ZstdDictionary(_) => return Ok(None),
    };
    content.ok_or(Damage::Decoding).map(Some)
}

fn decompress(frame: &[u8], content_bytes: u64) -> Option<Vec<u8>> {
    // Checked before anything of that size is allocated.
    if get_frame_content_size(frame).ok()?? != content_bytes {
        return None;
    }
    let length = usize::try_from(content_bytes).ok()?;
    let content = DECOMPRESSOR.with_borrow_mut(|kept| {
        let decompressor = match kept {
            Some(decompressor) => decompressor,
            None => kept.insert(Decompressor::new().ok()?),
        };
        decompressor.decompress(frame, length).ok()
    })?;
    (content.len() == length).then_some(content)
}

#[cfg(test)]
mod tests;
