//! One table of slots: open addressing over groups of eight, readable while it is written.
//!
//! # Why not `hashbrown`'s table
//!
//! `hashbrown` moves entries within its table on insertion after removals and reuses the slots of
//! removed entries at once. A reader with no lock would see a slot change under it. Here a slot is
//! written once in a table's life; removal only changes its tag. What removals leave behind goes
//! when the table is replaced.
//!
//! # Invariants
//!
//! - **One writer.** Tags and slots are written only by a thread that holds the writer lock of
//!   the shard that the table belongs to, or that has the table to itself.
//! - **Written once.** A slot is written before its tag turns live, and never again in this table.
//!   The tag's store (Release, in `publish`) pairs with its load (Acquire, in `find`): who sees the
//!   tag live sees the whole slot. A tag goes from empty to live to dead and never back.
//! - **In range.** Group numbers come from a mask of one less than their power of two, or from
//!   walking the words; places from such a group and a position below eight; there are eight cells
//!   to a word. Places never go from one table to another.
//! - **One owner of each value.** The bits of a value may lie in several places (a dead slot, a
//!   replaced table), but one place owns it: the live slot of the shard's current table, or,
//!   after `take`, the caller. A table never drops a value.

#![allow(
    unsafe_code,
    reason = "slots are shared between readers without a lock and one writer, by the protocol above"
)]

use std::mem::MaybeUninit;
use std::ptr;

use crate::slot::Slot;
use crate::sync::cell::UnsafeCell;
use crate::sync::{AtomicU64, Ordering};
use crate::tags::{self, DEAD, GROUP};

type Cell<K, V> = UnsafeCell<MaybeUninit<Slot<K, V>>>;

/// See the module's invariants.
pub(crate) struct Table<K, V> {
    /// One tag word a group; a power of two.
    words: Box<[AtomicU64]>,
    cells: Box<[Cell<K, V>]>,
}

// SAFETY: a table hands out `&Slot` to several threads (so slots must be `Sync`) and values taken
// out of it are dropped on any thread (so they must be `Send`). Unsynchronised access to a cell is
// ruled out by "One writer" and "Written once".
unsafe impl<K: Send + Sync, V: Send + Sync> Sync for Table<K, V> {}
// SAFETY: the same; nothing in a table is tied to the thread that made it.
unsafe impl<K: Send + Sync, V: Send + Sync> Send for Table<K, V> {}

/// Where a slot is in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(usize);

impl<K, V> Table<K, V> {
    /// An empty table with at least `groups` groups.
    pub(crate) fn with_groups(groups: usize) -> Self {
        let groups = groups.max(1).next_power_of_two();
        Self {
            words: (0..groups).map(|_| AtomicU64::new(tags::EMPTY_WORD)).collect(),
            cells: (0..groups * GROUP).map(|_| Cell::new(MaybeUninit::uninit())).collect(),
        }
    }

    pub(crate) fn groups(&self) -> usize {
        self.words.len()
    }

    /// Slots that may be written before the table has to be replaced: seven eighths, so that each
    /// probe soon meets an empty one.
    pub(crate) fn room(&self) -> usize {
        self.cells.len() / 8 * 7
    }

    /// Bytes that the table takes.
    pub(crate) fn size(&self) -> usize {
        size_of_val(&*self.words) + size_of_val(&*self.cells) + size_of::<Self>()
    }

    /// The live slot of `key`.
    #[inline]
    pub(crate) fn find(&self, hash: u64, key: &K) -> Option<(Place, &Slot<K, V>)>
    where
        K: Eq,
    {
        let tag = tags::live_tag(hash);
        let mut group = self.first_group(hash);
        // Ends: `room` leaves an empty slot in some group.
        loop {
            let word = self.word(group).load(Ordering::Acquire);
            for position in tags::matches(word, tag) {
                let place = Place(group * GROUP + position);
                // SAFETY: the tag was seen live with an Acquire load ("Written once").
                let slot = unsafe { self.slot(place) };
                if slot.key == *key {
                    return Some((place, slot));
                }
            }
            if tags::has_empty(word) {
                return None;
            }
            group = self.next_group(group);
        }
    }

    /// Every live slot, in the order of the table.
    pub(crate) fn live(&self) -> impl Iterator<Item = (Place, &Slot<K, V>)> {
        self.words.iter().enumerate().flat_map(move |(group, word)| {
            tags::live(word.load(Ordering::Acquire)).map(move |position| {
                let place = Place(group * GROUP + position);
                // SAFETY: the tag was seen live with an Acquire load ("Written once").
                (place, unsafe { self.slot(place) })
            })
        })
    }

    /// Writes `slot` where a probe for `hash` first meets an empty place.
    ///
    /// # Safety
    ///
    /// The caller is the table's one writer, and fewer than [`room`](Self::room) slots were
    /// written.
    pub(crate) unsafe fn publish(&self, hash: u64, slot: Slot<K, V>) {
        let mut group = self.first_group(hash);
        let (word, position) = loop {
            let word = self.word(group).load(Ordering::Relaxed);
            if let Some(position) = tags::first_empty(word) {
                break (word, position);
            }
            group = self.next_group(group);
        };
        let place = Place(group * GROUP + position);
        self.cell(place).with_mut(|cell| {
            // SAFETY: the place is empty, so no reader looks at it, and the caller is the one
            // writer.
            unsafe { cell.write(MaybeUninit::new(slot)) }
        });
        // Pairs with the Acquire loads in `find` and `live`.
        let tagged = tags::with_tag(word, position, tags::live_tag(hash));
        self.word(group).store(tagged, Ordering::Release);
    }

    /// Marks the live slot at `place` dead. The value's ownership passes to the caller, who must
    /// not drop it while a reader may look at the slot.
    ///
    /// # Safety
    ///
    /// The caller is the table's one writer, and `place` is live.
    pub(crate) unsafe fn take(&self, place: Place) -> V {
        let (group, position) = (place.0 / GROUP, place.0 % GROUP);
        let word = self.word(group).load(Ordering::Relaxed);
        // Release keeps this word's earlier publications visible to who sees the new value.
        self.word(group).store(tags::with_tag(word, position, DEAD), Ordering::Release);
        // SAFETY: the place was live, and the one writer is this thread.
        let slot = unsafe { self.slot(place) };
        // SAFETY: the slot owned the value ("One owner"), and being dead now it does no more.
        unsafe { ptr::read(&raw const slot.value) }
    }

    /// Publishes into `self` every live slot of `old`, which owns no value from then on.
    ///
    /// # Safety
    ///
    /// The caller is the one writer of both tables, `self` has room for all, and nobody takes
    /// a value out of `old` afterwards.
    pub(crate) unsafe fn move_from(&self, old: &Self, hash_of: impl Fn(&K) -> u64)
    where
        K: Copy,
    {
        for (_, slot) in old.live() {
            // SAFETY: `old` is not used as an owner again, so this is the value's one owner.
            let value = unsafe { ptr::read(&raw const slot.value) };
            // SAFETY: the caller is the one writer of `self`, which has room.
            unsafe { self.publish(hash_of(&slot.key), slot.moved(value)) };
        }
    }

    /// # Safety
    ///
    /// The slot at `place` was written, and the thread knows it by an Acquire load of its tag or
    /// because it is the one writer.
    #[inline]
    unsafe fn slot(&self, place: Place) -> &Slot<K, V> {
        self.cell(place).with(|cell| {
            // SAFETY: the cell is inside this table, and after it was written nobody writes it
            // ("Written once"), so a shared reference may live as long as the table.
            let slot = unsafe { &*cell };
            // SAFETY: the caller knows that it was written.
            unsafe { slot.assume_init_ref() }
        })
    }

    /// Where a search for `hash` begins.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the low bits choose the group")]
    fn first_group(&self, hash: u64) -> usize {
        hash as usize & (self.words.len() - 1)
    }

    /// Where it goes on: over all groups in turn.
    #[inline]
    fn next_group(&self, group: usize) -> usize {
        (group + 1) & (self.words.len() - 1)
    }

    #[inline]
    fn word(&self, group: usize) -> &AtomicU64 {
        debug_assert!(group < self.words.len());
        // SAFETY: "In range".
        unsafe { self.words.get_unchecked(group) }
    }

    #[inline]
    fn cell(&self, place: Place) -> &Cell<K, V> {
        debug_assert!(place.0 < self.cells.len());
        // SAFETY: "In range".
        unsafe { self.cells.get_unchecked(place.0) }
    }
}
