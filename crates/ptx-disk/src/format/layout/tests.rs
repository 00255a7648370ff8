use super::*;

#[test]
fn processes_that_share_their_random_numbers_give_other_names() {
    let name = |process| {
        fastrand::seed(7);
        new_name(process)
    };
    let names: std::collections::HashSet<String> = (1..1000).map(name).collect();
    assert_eq!(names.len(), 999);
}
