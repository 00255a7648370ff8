//! One shard: a table behind an epoch pointer. Readers pin and probe; writers take the shard's
//! lock, and what they unlink is dropped once no reader can look at it.
//!
//! # Invariants
//!
//! - **Pinned.** A table is reached only through the epoch pointer, under a guard that was taken
//!   before the pointer was loaded. A replaced table is freed, and a value that was taken out is
//!   dropped, only through `Guard::defer*`, after every such guard is gone (Fraser, *Practical
//!   lock-freedom*, 2004, section 5.2.3).
//! - **Writer lock.** Every write to the current table, and every replacement of it, happens under
//!   `writer`. That is "One writer" of `table.rs`.

#![allow(unsafe_code, reason = "tables are reached through an epoch pointer, as written above")]

use std::marker::PhantomData;
use std::ptr::NonNull;

use crossbeam_epoch::{Atomic, Guard, Shared, unprotected};
use crossbeam_utils::CachePadded;

use super::hash_table::{Start, Table};
use super::slot::Slot;
use crate::sync::{Mutex, MutexGuard, Ordering, lock};

/// See the module's invariants.
pub(crate) struct Shard<K: 'static, V: 'static> {
    /// The current table's name: its address, tagged with its size.
    table: Atomic<Start>,
    /// Beside the pointer and not with it: a writer's lock changes no line that readers read.
    writer: Box<CachePadded<Mutex<Occupancy>>>,
    holds: PhantomData<Slot<K, V>>,
}

/// What the writer knows of the current table.
#[derive(Debug, Default)]
struct Occupancy {
    live: usize,
    /// Slots written, live and dead.
    used: usize,
}

impl<K, V> Shard<K, V>
where
    K: Copy + Eq + Send + Sync + 'static,
    V: Send + Sync + 'static,
{
    pub(crate) fn new() -> Self {
        let table: Table<'_, K, V> = Table::allocate(1);
        Self { table: Atomic::from(named(table)), writer: Box::default(), holds: PhantomData }
    }

    /// The entry of `key`.
    #[inline]
    pub(crate) fn get<'g>(
        &'g self,
        hash: u64,
        key: &K,
        guard: &'g Guard,
    ) -> Option<&'g Slot<K, V>> {
        self.current(guard).find(hash, key).map(|(_, slot)| slot)
    }

    /// Every entry that stays from the call's start to its end, and perhaps some that do not.
    pub(crate) fn entries<'g>(&'g self, guard: &'g Guard) -> impl Iterator<Item = &'g Slot<K, V>> {
        self.current(guard).live().map(|(_, slot)| slot)
    }

    /// Publishes an entry, in place of the one of the same key if there is one, where `admits`
    /// that change; otherwise gives it back. `hash_of` must be the function that gave `hash`.
    ///
    /// `admits` runs under the writer lock, with the entry that would be replaced.
    pub(crate) fn insert(
        &self,
        hash: u64,
        mut slot: Slot<K, V>,
        hash_of: impl Fn(&K) -> u64,
        admits: impl FnOnce(Option<&Slot<K, V>>) -> bool,
        guard: &Guard,
    ) -> Result<(), Slot<K, V>> {
        let mut occupancy = lock(&self.writer);
        let mut table = self.current(guard);
        if occupancy.used >= table.room() {
            table = self.replace(table, &mut occupancy, hash_of, guard);
        }
        let replaced = table.find(hash, &slot.key);
        if !admits(replaced.map(|(_, before)| before)) {
            return Err(slot);
        }
        // From here on nothing of the caller's runs: what was admitted is published.
        if let Some((_, before)) = replaced {
            slot.succeed(before);
        }
        // SAFETY: the writer lock is held. There is room: the table was replaced if there was none.
        unsafe { table.publish(hash, slot) };
        occupancy.used += 1;
        occupancy.live += 1;
        if let Some((place, _)) = replaced {
            // The new slot is visible before the old one goes: a reader always finds one of them.
            // SAFETY: the writer lock is held, and `find` under it saw the place live.
            let value = unsafe { table.take(place) };
            occupancy.live -= 1;
            guard.defer(move || drop(value));
        }
        Ok(())
    }

    /// Takes out the entry of `key` if `condition` holds for it.
    pub(crate) fn remove_if<'g>(
        &'g self,
        hash: u64,
        key: &K,
        condition: impl FnOnce(&Slot<K, V>) -> bool,
        guard: &'g Guard,
    ) -> Option<&'g Slot<K, V>> {
        let mut occupancy = lock(&self.writer);
        let table = self.current(guard);
        let (place, slot) = table.find(hash, key)?;
        if !condition(slot) {
            return None;
        }
        // SAFETY: the writer lock is held, and `find` under it saw the place live.
        let value = unsafe { table.take(place) };
        occupancy.live -= 1;
        guard.defer(move || drop(value));
        Some(slot)
    }

    /// Takes out every entry and gives each to `taken`, under the writer lock.
    pub(crate) fn clear(&self, mut taken: impl FnMut(&Slot<K, V>), guard: &Guard) {
        let mut occupancy = lock(&self.writer);
        let table = self.current(guard);
        for (place, slot) in table.live() {
            taken(slot);
            // SAFETY: the writer lock is held, and `live` under it saw the place live.
            let value = unsafe { table.take(place) };
            guard.defer(move || drop(value));
        }
        *occupancy = Occupancy::default();
        self.publish_table(Table::allocate(1), &occupancy, guard);
    }

    /// Bytes of the index: the table without what values point to.
    pub(crate) fn index_size(&self, guard: &Guard) -> usize {
        self.current(guard).size() + size_of::<Self>() + size_of_val(&*self.writer)
    }

    /// Moves the live entries to a table that has room for as many again before it is replaced
    /// in turn, so that a replacement is paid for by the insertions it makes room for.
    fn replace<'g>(
        &'g self,
        old: Table<'g, K, V>,
        occupancy: &mut MutexGuard<'_, Occupancy>,
        hash_of: impl Fn(&K) -> u64,
        guard: &'g Guard,
    ) -> Table<'g, K, V> {
        let crowded = occupancy.live * 2 > old.room();
        let groups = if crowded { old.groups() * 2 } else { old.groups() };
        let new = Table::allocate(groups);
        // SAFETY: the writer lock makes this thread the one writer of the old table, the new one is
        // not shared yet and holds twice the live entries, and the old one is unlinked next.
        unsafe { new.move_from(old, hash_of) };
        occupancy.used = occupancy.live;
        self.publish_table(new, occupancy, guard)
    }

    /// Puts `table` in place of the current one, which owns no value.
    fn publish_table<'g>(
        &'g self,
        table: Table<'g, K, V>,
        _locked: &MutexGuard<'_, Occupancy>,
        guard: &'g Guard,
    ) -> Table<'g, K, V> {
        // Release publishes the table's slots to the Acquire load in `current`.
        let old = self.table.swap(named(table), Ordering::AcqRel, guard);
        // SAFETY: the pointer is a name, and its table is freed no earlier than below.
        let old: Table<'_, K, V> = unsafe { reach(old) };
        let free = move || {
            // SAFETY: the table was unlinked by the one thread that held the writer lock, so it is
            // retired once; and when this runs, no reader that reached it is pinned ("Pinned").
            unsafe { old.free() }
        };
        // SAFETY: the closure may run on any thread and at any later time: it touches no value, and
        // memory may be given back by any thread.
        unsafe { guard.defer_unchecked(free) };
        table
    }

    #[inline]
    fn current<'g>(&'g self, guard: &'g Guard) -> Table<'g, K, V> {
        // Acquire pairs with the AcqRel swap in `publish_table`.
        let shared = self.table.load(Ordering::Acquire, guard);
        // SAFETY: the pointer was loaded under `guard` ("Pinned") and is never null: `new` sets it
        // and `publish_table` swaps in another table.
        unsafe { reach(shared) }
    }
}

/// The table's name as the epoch pointer holds it.
fn named<K, V>(table: Table<'_, K, V>) -> Shared<'_, Start> {
    let (start, log_groups) = table.name();
    Shared::from(start.as_ptr().cast_const()).with_tag(log_groups)
}

/// # Safety
///
/// `shared` is a name that `named` gave, and its table is not freed during the lifetime.
#[inline]
unsafe fn reach<K, V>(shared: Shared<'_, Start>) -> Table<'_, K, V> {
    // SAFETY: `named` made it from a pointer that is not null.
    let start = unsafe { NonNull::new_unchecked(shared.as_raw().cast_mut()) };
    // SAFETY: as the caller says.
    unsafe { Table::named(start, shared.tag()) }
}

impl<K: 'static, V: 'static> Drop for Shard<K, V> {
    fn drop(&mut self) {
        // SAFETY: `&mut self` says that no reader or writer is left, so the table is this thread's.
        let guard = unsafe { unprotected() };
        let shared = self.table.load(Ordering::Relaxed, guard);
        // SAFETY: the pointer is never null, and the table is freed below.
        let table: Table<'_, K, V> = unsafe { reach(shared) };
        for (place, _) in table.live() {
            // SAFETY: the table is this thread's alone, and `live` saw the place live.
            drop(unsafe { table.take(place) });
        }
        // SAFETY: nobody else knows of it.
        unsafe { table.free() };
    }
}

#[cfg(test)]
#[cfg(loom)]
mod tests;
