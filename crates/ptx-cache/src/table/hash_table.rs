//! One table of slots: open addressing over groups of eight, readable while it is written.
//!
//! # Why not `hashbrown`'s table
//!
//! `hashbrown` moves entries within its table on insertion after removals and reuses the slots of
//! removed entries at once. A reader with no lock would see a slot change under it. Here a slot is
//! written once in a table's life; removal only changes its tag. What removals leave behind goes
//! when the table is replaced.
//!
//! # Layout
//!
//! One allocation on a cache line's boundary: the slots, and behind them the tag words, one a
//! group. A table is named by its address and by the logarithm of its number of
//! groups, which fits the six bits that such an address leaves free: so a reader that has loaded
//! one pointer knows all it needs, and reads no header.
//!
//! # Invariants
//!
//! - **Allocated.** A `Table<'t>` names an allocation of `allocate` with the same number of groups,
//!   which stays for `'t`; `free` ends it.
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
//!   after `take`, the caller. A table never drops a value. While readers may look at other bits
//!   of it, a value is moved as `MaybeUninit` alone: moving a `Box` as such would claim that nobody
//!   else reads what it points to.

#![allow(
    unsafe_code,
    reason = "slots are shared between readers without a lock and one writer, by the protocol above"
)]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};

use super::slot::Slot;
use super::tags::{self, DEAD, GROUP};
use crate::sync::cell::UnsafeCell;
use crate::sync::{AtomicU64, Ordering};

type Cell<K, V> = UnsafeCell<MaybeUninit<Slot<K, V>>>;

/// The first cache line of a table. Its alignment leaves six bits of its address free.
#[repr(C, align(64))]
pub(crate) struct Start([u8; LINE]);

const LINE: usize = 64;

/// A table, by its address and size. See the module's invariants.
pub(crate) struct Table<'t, K, V> {
    start: NonNull<Start>,
    /// The logarithm of the number of groups to base two.
    log_groups: u32,
    lives: PhantomData<&'t Slot<K, V>>,
}

impl<K, V> Clone for Table<'_, K, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K, V> Copy for Table<'_, K, V> {}

/// A value that was taken out of its slot, which readers may still look at. Dropping this drops the
/// value: only when none does any more.
pub(crate) struct Taken<V>(MaybeUninit<V>);

impl<V> Drop for Taken<V> {
    fn drop(&mut self) {
        // SAFETY: `take` made this of a value that it owned ("One owner"), and a drop runs once.
        unsafe { self.0.assume_init_drop() }
    }
}

/// Where a slot is in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(usize);

impl<'t, K, V> Table<'t, K, V> {
    /// A new, empty table with at least `groups` groups, which stays until it is freed.
    pub(crate) fn allocate(groups: usize) -> Self {
        let log_groups = groups.max(1).next_power_of_two().trailing_zeros();
        let layout = Self::layout(log_groups);
        // SAFETY: the layout holds a cache line at least, so its size is not zero.
        let memory = unsafe { alloc(layout) };
        let Some(start) = NonNull::new(memory.cast()) else { handle_alloc_error(layout) };
        let table = Self { start, log_groups, lives: PhantomData };
        for group in 0..table.groups() {
            // SAFETY: the allocation has room for this word, and nobody else knows of it.
            unsafe { table.word_at(group).write(AtomicU64::new(tags::EMPTY_WORD)) };
        }
        for place in 0..table.groups() * GROUP {
            // SAFETY: the allocation has room for this cell, and nobody else knows of it.
            unsafe { table.cell_at(place).write(Cell::new(MaybeUninit::uninit())) };
        }
        table
    }

    /// The table that [`name`](Self::name) named so.
    ///
    /// # Safety
    ///
    /// It is not freed during `'t`.
    #[inline]
    pub(crate) unsafe fn named(start: NonNull<Start>, log_groups: usize) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "it was a u32")]
        Self { start, log_groups: log_groups as u32, lives: PhantomData }
    }

    /// Its address and the logarithm of its number of groups, which is below 64.
    pub(crate) fn name(self) -> (NonNull<Start>, usize) {
        (self.start, self.log_groups as usize)
    }

    /// Gives the memory back. Drops no value.
    ///
    /// # Safety
    ///
    /// Nobody uses the table, under this or another copy of its name, now or later.
    pub(crate) unsafe fn free(self) {
        // For the standard library's types the loops do nothing; loom's keep accounts.
        for group in 0..self.groups() {
            // SAFETY: `allocate` wrote it, and nobody uses it any more.
            unsafe { ptr::drop_in_place(self.word_at(group)) };
        }
        for place in 0..self.groups() * GROUP {
            // SAFETY: `allocate` wrote it, and nobody uses it any more.
            unsafe { ptr::drop_in_place(self.cell_at(place)) };
        }
        // SAFETY: "Allocated", with the same layout since the number of groups is the same.
        unsafe { dealloc(self.start.as_ptr().cast(), Self::layout(self.log_groups)) }
    }

    pub(crate) fn groups(self) -> usize {
        1 << self.log_groups
    }

    /// Slots that may be written before the table has to be replaced: seven eighths, so that each
    /// probe soon meets an empty one.
    pub(crate) fn room(self) -> usize {
        self.groups() * (GROUP - 1)
    }

    /// Bytes that the table takes.
    pub(crate) fn size(self) -> usize {
        Self::layout(self.log_groups).size()
    }

    /// The live slot of `key`.
    #[inline]
    pub(crate) fn find(self, hash: u64, key: &K) -> Option<(Place, &'t Slot<K, V>)>
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
    pub(crate) fn live(self) -> impl Iterator<Item = (Place, &'t Slot<K, V>)> {
        (0..self.groups()).flat_map(move |group| {
            tags::live(self.word(group).load(Ordering::Acquire)).map(move |position| {
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
    pub(crate) unsafe fn publish(self, hash: u64, slot: Slot<K, V>) {
        // SAFETY: as the caller says, and the value is one.
        unsafe { self.publish_bits(hash, slot.map(MaybeUninit::new)) }
    }

    /// # Safety
    ///
    /// As for [`publish`](Self::publish), and the slot's value is initialised.
    unsafe fn publish_bits(self, hash: u64, slot: Slot<K, MaybeUninit<V>>) {
        const {
            assert!(size_of::<Slot<K, MaybeUninit<V>>>() == size_of::<Slot<K, V>>());
        }
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
            // writer. A slot is `repr(C)`, so it lies the same with its value as `MaybeUninit`.
            unsafe { cell.cast::<Slot<K, MaybeUninit<V>>>().write(slot) }
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
    pub(crate) unsafe fn take(self, place: Place) -> Taken<V> {
        let (group, position) = (place.0 / GROUP, place.0 % GROUP);
        let word = self.word(group).load(Ordering::Relaxed);
        // Release keeps this word's earlier publications visible to who sees the new value.
        self.word(group).store(tags::with_tag(word, position, DEAD), Ordering::Release);
        // SAFETY: the place was live, and the one writer is this thread.
        let slot = unsafe { self.slot(place) };
        // SAFETY: the slot owned the value ("One owner"), and being dead now it does no more.
        Taken(unsafe { ptr::read((&raw const slot.value).cast()) })
    }

    /// Publishes into `self` every live slot of `old`, which owns no value from then on.
    ///
    /// # Safety
    ///
    /// The caller is the one writer of both tables, `self` has room for all, and nobody takes
    /// a value out of `old` afterwards.
    pub(crate) unsafe fn move_from(self, old: Table<'_, K, V>, hash_of: impl Fn(&K) -> u64)
    where
        K: Copy,
    {
        for (_, slot) in old.live() {
            // First: if it panics, the value still has one owner.
            let hash = hash_of(&slot.key);
            // SAFETY: `old` is not used as an owner again, so this is the value's one owner.
            let value = unsafe { ptr::read((&raw const slot.value).cast()) };
            // SAFETY: the caller is the one writer of `self`, which has room; the value is one.
            unsafe { self.publish_bits(hash, slot.around(value)) };
        }
    }

    /// # Safety
    ///
    /// The slot at `place` was written, and the thread knows it by an Acquire load of its tag or
    /// because it is the one writer.
    #[inline]
    unsafe fn slot(self, place: Place) -> &'t Slot<K, V> {
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
    fn first_group(self, hash: u64) -> usize {
        hash as usize & (self.groups() - 1)
    }

    /// Where it goes on: over all groups in turn.
    #[inline]
    fn next_group(self, group: usize) -> usize {
        (group + 1) & (self.groups() - 1)
    }

    #[inline]
    fn word(self, group: usize) -> &'t AtomicU64 {
        debug_assert!(group < self.groups());
        // SAFETY: "In range" and "Allocated".
        unsafe { &*self.word_at(group) }
    }

    #[inline]
    fn cell(self, place: Place) -> &'t Cell<K, V> {
        debug_assert!(place.0 < self.groups() * GROUP);
        // SAFETY: "In range" and "Allocated".
        unsafe { &*self.cell_at(place.0) }
    }

    /// Where the cell at `place` lies, for places that there are.
    #[inline]
    fn cell_at(self, place: usize) -> *mut Cell<K, V> {
        self.start.as_ptr().cast::<Cell<K, V>>().wrapping_add(place)
    }

    /// Where the word of `group` lies, for groups that there are: behind the cells, whose sizes
    /// are multiples of a word's alignment.
    #[inline]
    fn word_at(self, group: usize) -> *mut AtomicU64 {
        self.cell_at(self.groups() * GROUP).cast::<AtomicU64>().wrapping_add(group)
    }

    fn layout(log_groups: u32) -> Layout {
        const { assert!(align_of::<Cell<K, V>>() == LINE, "cells begin at a boundary of a line") }
        let group = GROUP * size_of::<Cell<K, V>>() + size_of::<AtomicU64>();
        let layout = Layout::from_size_align(group.saturating_mul(1 << log_groups), LINE);
        layout.unwrap_or_else(|_| handle_alloc_error(Layout::new::<Start>()))
    }
}
