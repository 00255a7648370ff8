//! How is a cubin stored? As a block of the LZ4 Block Format, whose length is in the header.

use lz4::block::{CompressionMode, compress_bound, compress_to_buffer, decompress_to_buffer};

use super::buffer::decoded;

/// The first of LZ4's thorough levels. The next ones take two to ten times as long for 2 to 3 %
/// less.
const MODE: CompressionMode = CompressionMode::HIGHCOMPRESSION(3);

/// The most bytes that one byte of a block stands for: it lengthens a match by no more.
const MOST_TIMES: u64 = 255;

pub(super) fn compress(content: &[u8]) -> Option<Vec<u8>> {
    let mut block = vec![0; compress_bound(content.len()).ok()?];
    let length = compress_to_buffer(content, Some(MODE), false, &mut block).ok()?;
    block.truncate(length);
    Some(block)
}

/// Gives the content to `take`. Returns `None` if `block` does not decode to `content_bytes`.
pub(super) fn decompress<T>(
    block: &[u8],
    content_bytes: u64,
    take: impl FnOnce(&[u8]) -> T,
) -> Option<T> {
    // Checked before allocating so much.
    if content_bytes > (block.len() as u64).saturating_mul(MOST_TIMES) {
        return None;
    }
    let most = i32::try_from(content_bytes).ok()?;
    let decode = |content: &mut [u8]| decompress_to_buffer(block, Some(most), content).ok();
    decoded(content_bytes, decode, take)
}
