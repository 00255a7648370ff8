use super::*;

#[test]
fn the_margin_shrinks_when_the_refused_come_back_and_incumbents_are_not_used() {
    let mut refusals = Refusals::default();
    let mut last = refusals.margin();
    for _ in 0..10 {
        refusals.refused(7, "idle", |_| false);
        refusals.is_back(7, |_| false);
        assert!(refusals.margin() < last);
        last = refusals.margin();
    }
    (0..100).for_each(|_| {
        refusals.refused(7, "idle", |_| false);
        refusals.is_back(7, |_| false);
    });
    assert!((refusals.margin() - MARGINS[0]).abs() < 1e-9);
}

#[test]
fn the_margin_grows_when_incumbents_are_used_first() {
    let mut refusals = Refusals::default();
    refusals.refused(7, "used", |_| true);
    refusals.is_back(7, |incumbent| *incumbent == "used");
    let once = refusals.margin();
    assert!(once > FIRST_MARGIN);
    // Never seen again: as many as are awaited, and one more.
    (0..=MOST_AWAITED as u64).for_each(|hash| refusals.refused(hash, "used", |_| true));
    assert!(refusals.margin() > once);
    (0..100).for_each(|hash| refusals.refused(hash, "used", |_| true));
    assert!((refusals.margin() - MARGINS[1]).abs() < 1e-9);
}

#[test]
fn what_was_never_refused_teaches_nothing() {
    let mut refusals = Refusals::<&str>::default();
    refusals.is_back(7, |_| true);
    (0..20).for_each(|hash| refusals.refused(hash, "idle", |_| false));
    assert!((refusals.margin() - FIRST_MARGIN).abs() < 1e-9);
    assert_eq!(refusals.awaited.len(), MOST_AWAITED);
}
