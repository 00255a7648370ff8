//! How do stored bytes become the content?

use std::cell::RefCell;

use zstd::bulk::Decompressor;
use zstd::zstd_safe::get_frame_content_size;

use super::buffer::decoded;
use super::dictionary::{DECODER_DICTIONARY, DICTIONARY_NUMBER};
use super::{Encoding, lz4_block};
use crate::Damage;

thread_local! {
    // A zstd context takes some hundred kilobytes, so a thread keeps it for the next entry.
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
    static DICTIONARY_DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> =
        const { RefCell::new(None) };
}

impl Encoding {
    /// Decodes `stored` to a content of exactly `content_bytes`. Returns `None` if that needs a
    /// dictionary that this release does not have.
    ///
    /// # Errors
    ///
    /// [`Damage::Decoding`] if `stored` has another encoding or length.
    pub fn decode(self, stored: &[u8], content_bytes: u64) -> Result<Option<Vec<u8>>, Damage> {
        self.decode_with(stored, content_bytes, <[u8]>::to_vec)
    }

    /// Like [`decode`](Self::decode), and gives the content to `take` in a buffer that the thread
    /// uses again.
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
    // Checked before allocating so much.
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
