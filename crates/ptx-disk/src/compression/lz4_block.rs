//! Cubins as LZ4 blocks (LZ4 Block Format), whose length the header says.

use std::cell::RefCell;

use lz4::block::{CompressionMode, compress_bound, compress_to_buffer, decompress_to_buffer};

use super::MOST_KEPT;

/// The first of LZ4's thorough levels. The next ones take two to ten times as long for 2 to 3 % less.
const MODE: CompressionMode = CompressionMode::HIGHCOMPRESSION(3);

/// How many times its own length a block can stand for at most: a byte of it lengthens a match by no
/// more than this.
const MOST_TIMES: u64 = 255;

thread_local! {
    static CONTENT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

pub(super) fn compress(content: &[u8]) -> Option<Vec<u8>> {
    let mut block = vec![0; compress_bound(content.len()).ok()?];
    let length = compress_to_buffer(content, Some(MODE), false, &mut block).ok()?;
    block.truncate(length);
    Some(block)
}

/// Gives the content to `take` in a buffer that the next one uses again. `None` where `block` is none,
/// or of a content of another length.
pub(super) fn decompress_with<T>(
    block: &[u8],
    content_bytes: u64,
    take: impl FnOnce(&[u8]) -> T,
) -> Option<T> {
    // Checked before anything of that size is allocated.
    if content_bytes > (block.len() as u64).saturating_mul(MOST_TIMES) {
        return None;
    }
    let length = usize::try_from(content_bytes).ok()?;
    let most = i32::try_from(content_bytes).ok()?;
    CONTENT.with_borrow_mut(|content| {
        if content.len() > MOST_KEPT {
            *content = Vec::new();
        }
        if content.len() < length {
            content.resize(length, 0);
        }
        let content = content.get_mut(..length)?;
        let decoded = decompress_to_buffer(block, Some(most), content).ok()?;
        (decoded == length).then(|| take(content))
    })
}
