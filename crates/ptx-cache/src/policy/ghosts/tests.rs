use super::*;

#[test]
fn what_was_remembered_is_recalled_for_the_same_hash_alone() {
    let (hash, ghosts) = (0x1234_5678_0000_0009, Ghosts::default());
    assert_eq!(ghosts.recall(hash, 7).word(), Usage::once(7).word());
    ghosts.remember(hash, Usage::once(3).word());
    assert_eq!(ghosts.recall(hash, 7).at(7).gaps, [4, 0]);
    let other = hash ^ 1 << 40;
    assert_eq!(ghosts.recall(other, 7).word(), Usage::once(7).word());
    ghosts.remember(other, Usage::once(5).word());
    assert_eq!(ghosts.recall(hash, 7).word(), Usage::once(7).word());
}
