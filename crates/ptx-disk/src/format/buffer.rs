//! Where is a payload decoded to? Fresh memory for each entry would cost more than decoding.

use std::cell::RefCell;

/// The largest buffer that a thread keeps for the next entry, in bytes.
const MOST_KEPT: usize = 4 << 20;

thread_local! {
    /// What was decoded last.
    static CONTENT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Has `decode` fill a buffer of `content_bytes`. Gives it to `take` if it is full.
pub(super) fn decoded<T>(
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
