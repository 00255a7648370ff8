use super::Size;

#[test]
fn a_size_fits_only_if_both_counts_do() {
    let budget = Size { entries: 2, bytes: 10 };
    assert!(budget.fits(budget));
    assert!(!Size { entries: 3, bytes: 0 }.fits(budget));
    assert!(!Size { entries: 0, bytes: 11 }.fits(budget));
    assert!(Size::UNBOUNDED.fits(Size::UNBOUNDED));
}

#[test]
fn each_count_saturates_by_itself() {
    let one = Size { entries: 1, bytes: 1 };
    let nearly = Size { entries: u64::MAX, bytes: 5 };
    assert_eq!(nearly.saturating_add(one), Size { entries: u64::MAX, bytes: 6 });
    assert_eq!(one.saturating_sub(nearly), Size::default());
    assert_eq!(nearly.saturating_sub(one), Size { entries: u64::MAX - 1, bytes: 4 });
}
