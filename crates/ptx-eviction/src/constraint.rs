//! Which sets are feasible, and how much room a partial selection has left.

use crate::Error;
use crate::objective::dense_group_count;

/// Which sets are feasible: a count, a byte budget, a cap on each group, and elements that must stay. Each part
/// is optional; a set must satisfy all that are given.
///
/// ```
/// use ptx_eviction::Constraint;
///
/// let sizes = [4_096, 128, 70_000];
/// let constraint = Constraint::new().at_most(2).within_bytes(&sizes, 8_192).pinned(&[1]);
/// # let _ = constraint;
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Constraint<'a> {
    count: Option<usize>,
    bytes: Option<(&'a [u64], u64)>,
    groups: Option<(&'a [u32], usize)>,
    pinned: &'a [usize],
}

impl<'a> Constraint<'a> {
    /// Every set is feasible.
    pub fn new() -> Self {
        Self::default()
    }

    /// At most `count` elements (cardinality), pinned ones included.
    #[must_use]
    pub fn at_most(self, count: usize) -> Self {
        Self { count: Some(count), ..self }
    }

    /// At most `budget` bytes (knapsack), where element `e` takes `sizes[e]` bytes; pinned ones included.
    #[must_use]
    pub fn within_bytes(self, sizes: &'a [u64], budget: u64) -> Self {
        Self { bytes: Some((sizes, budget)), ..self }
    }

    /// At most `most` elements of each group (partition matroid), where element `e` is in group `groups[e]`;
    /// pinned ones included. Group ids are below the number of elements.
    #[must_use]
    pub fn at_most_per_group(self, groups: &'a [u32], most: usize) -> Self {
        Self { groups: Some((groups, most)), ..self }
    }

    /// Elements that must stay. They are taken first and count against every budget; if they break one on
    /// their own, no set is feasible and every solver returns [`Error::PinnedOverBudget`]. Their order and
    /// repetitions do not matter.
    #[must_use]
    pub fn pinned(self, elements: &'a [usize]) -> Self {
        Self { pinned: elements, ..self }
    }

    pub(crate) fn pinned_elements(&self) -> &'a [usize] {
        self.pinned
    }

    pub(crate) fn limits_bytes(&self) -> bool {
        self.bytes.is_some()
    }

    pub(crate) fn limits_groups(&self) -> bool {
        self.groups.is_some()
    }

    /// Bytes that `element` takes; 0 without a byte budget.
    pub(crate) fn size(&self, element: usize) -> u64 {
        self.bytes.map_or(0, |(sizes, _)| sizes[element])
    }

    fn group(&self, element: usize) -> Option<usize> {
        self.groups.map(|(groups, _)| groups[element] as usize)
    }

    /// Refuses columns that do not describe `element_count` elements.
    pub(crate) fn check(&self, element_count: usize) -> Result<(), Error> {
        if u32::try_from(element_count).is_err() {
            return Err(Error::TooManyElements { count: element_count });
        }
        let columns = [
            ("sizes", self.bytes.map(|(sizes, _)| sizes.len())),
            ("groups of the constraint", self.groups.map(|(groups, _)| groups.len())),
        ];
        for (what, found) in columns {
            if let Some(found) = found
                && found != element_count
            {
                return Err(Error::Length { what, found, expected: element_count });
            }
        }
        if let Some((groups, _)) = self.groups {
            dense_group_count(groups, element_count)?;
        }
        match self.pinned.iter().find(|&&element| element >= element_count) {
            Some(&element) => Err(Error::Element { element, count: element_count }),
            None => Ok(()),
        }
    }

    /// The error for pinned elements that do not fit, told by the first budget they break. `seen` is scratch,
    /// one mark for each element.
    pub(crate) fn pinned_over_budget(&self, seen: &mut [bool]) -> Error {
        seen.fill(false);
        let (mut needed_count, mut needed_bytes) = (0_usize, 0_u64);
        for &element in self.pinned {
            if !std::mem::replace(&mut seen[element], true) {
                needed_count += 1;
                needed_bytes = needed_bytes.saturating_add(self.size(element));
            }
        }
        let over = |budget, needed, allowed| Error::PinnedOverBudget { budget, needed, allowed };
        match (self.count, self.bytes, self.groups) {
            (Some(count), _, _) if needed_count > count => {
                over("elements", as_u64(needed_count), as_u64(count))
            }
            (_, Some((_, budget)), _) if needed_bytes > budget => {
                over("bytes", needed_bytes, budget)
            }
            (_, _, groups) => {
                let most = groups.map_or(usize::MAX, |(_, most)| most);
                over("elements in one group", as_u64(most).saturating_add(1), as_u64(most))
            }
        }
    }
}

pub(crate) fn as_u64(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// What a partial selection may still take.
///
/// It only shrinks, so an element that is not admitted now is not admitted later either: a solver may drop it.
#[derive(Debug, Default)]
pub(crate) struct Room {
    pub(crate) count: usize,
    pub(crate) bytes: u64,
    group_slots: Vec<usize>,
}

impl Room {
    /// The room of the empty selection. The constraint has been checked against `element_count`.
    pub(crate) fn reset(&mut self, constraint: &Constraint<'_>, element_count: usize) {
        self.count = constraint.count.unwrap_or(element_count);
        self.bytes = constraint.bytes.map_or(u64::MAX, |(_, budget)| budget);
        self.group_slots.clear();
        if let Some((_, most)) = constraint.groups {
            self.group_slots.resize(element_count, most);
        }
    }

    pub(crate) fn admits(&self, constraint: &Constraint<'_>, element: usize) -> bool {
        self.count > 0
            && constraint.size(element) <= self.bytes
            && constraint.group(element).is_none_or(|group| self.group_slots[group] > 0)
    }

    /// Takes the room of an element that was admitted.
    pub(crate) fn take(&mut self, constraint: &Constraint<'_>, element: usize) {
        self.count = self.count.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(constraint.size(element));
        if let Some(group) = constraint.group(element) {
            self.group_slots[group] = self.group_slots[group].saturating_sub(1);
        }
    }

    /// Becomes a copy of `source` in the memory that is there.
    pub(crate) fn copy_from(&mut self, source: &Self) {
        self.count = source.count;
        self.bytes = source.bytes;
        self.group_slots.clone_from(&source.group_slots);
    }
}
