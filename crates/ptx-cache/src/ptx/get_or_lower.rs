//! A request for a text, through memory, the tiers and the lowering.

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use ptx_key::PtxKey;

use crate::make::lowering_error;
use crate::ptx_cache::nanos;
use crate::tiers::{Claims, Found, Unwritten};
use crate::{
    Artifact, CacheError, Event, Lowered, Made, Origin, PtxCache, ServedPtx, Source, WritePolicy,
};

impl PtxCache {
    /// The text of `key`: from memory, from a tier, from another thread that is lowering it, or
    /// by `lower`.
    ///
    /// `lower` runs in this thread, outside every lock, and may ask for other keys. It gives a
    /// `String`, an `Arc<str>`, or a [`Lowered`] with the trace to keep beside the text.
    ///
    /// Others who wait for the same text get it as soon as it is there. This call then writes it
    /// to the tiers that lack it before it returns; where the [`WritePolicy`] makes a failed write an error, they
    /// wait for that too.
    ///
    /// # Errors
    ///
    /// See [`Cache::get_or_make`](crate::Cache::get_or_make); and [`CacheError::Store`] where a
    /// tier failed to keep a new artifact and the [`WritePolicy`] says that it must.
    ///
    /// # Panics
    ///
    /// Where `lower` does, in this thread alone.
    #[inline]
    pub fn get_or_lower<L, E>(
        &self,
        key: &PtxKey,
        lower: impl FnOnce() -> Result<L, E>,
    ) -> Result<Arc<str>, CacheError>
    where
        L: Into<Lowered>,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        self.serve(key, lower).map(|served| served.text)
    }

    /// [`get_or_lower`](Self::get_or_lower), saying where the text came from.
    ///
    /// # Errors
    ///
    /// The same.
    ///
    /// # Panics
    ///
    /// Where `lower` does, in this thread alone.
    #[inline]
    pub fn serve<L, E>(
        &self,
        key: &PtxKey,
        lower: impl FnOnce() -> Result<L, E>,
    ) -> Result<ServedPtx, CacheError>
    where
        L: Into<Lowered>,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        let Some(text) = self.memory().resident(key) else {
            return self.serve_missed(key, lower);
        };
        if self.verification.is_due() {
            self.verify(key, &text, lower);
        }
        Ok(ServedPtx { text, source: Source::Memory })
    }

    #[cold]
    fn serve_missed<L, E>(
        &self,
        key: &PtxKey,
        lower: impl FnOnce() -> Result<L, E>,
    ) -> Result<ServedPtx, CacheError>
    where
        L: Into<Lowered>,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        let mut lower = Some(lower);
        let mut source = Source::Lowered;
        let mut unwritten = None;
        let served = self.memory().get_or_try(*key, || match self.tiers.find(key) {
            Ok(found) => {
                let (made, tier) = self.loaded(key, &found);
                source = Source::Tier(tier);
                unwritten = Some(Unwritten::Found(found));
                Ok(made)
            }
            Err(claims) => {
                let started = Instant::now();
                let lowered = {
                    let _span = tracing::debug_span!("lowering", %key).entered();
                    // Taken here only, and a making runs once.
                    let lower = lower.take().ok_or(CacheError::Panicked)?;
                    lower().map_err(lowering_error)?.into()
                };
                let artifact = self.lowered(lowered, started);
                let made = made(&artifact, self.tiers.keeps(&artifact));
                unwritten = self.written_first(key, artifact, claims)?;
                Ok(made)
            }
        })?;
        if let Some(unwritten) = &unwritten {
            self.tiers.catch_up(key, unwritten);
        }
        if let (Source::Tier(_), Origin::Made) = (&source, served.origin)
            && self.verification.is_due()
            && let Some(lower) = lower
        {
            self.verify(key, &served.value, lower);
        }
        Ok(ServedPtx { text: served.value, source: source_of(served.origin, source) })
    }

    /// Lowers a request that has no key (see `KeyError::Unkeyable`): nothing is looked up,
    /// nothing is kept, the request is counted.
    ///
    /// # Errors
    ///
    /// `lower`'s own.
    pub fn lower_unkeyed<L, E>(
        &self,
        lower: impl FnOnce() -> Result<L, E>,
    ) -> Result<Arc<str>, CacheError>
    where
        L: Into<Lowered>,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        self.counts.unkeyed.add(1);
        lower().map(|lowered| lowered.into().text).map_err(lowering_error)
    }

    /// Counts a lowering that began at `started`, and gives what the tiers are to keep of it.
    pub(crate) fn lowered(&self, lowered: Lowered, started: Instant) -> Artifact {
        let cost = started.elapsed();
        self.counts.lowered.add(1);
        self.counts.paid_nanos.add(nanos(cost));
        let Lowered { text, family, trace } = lowered;
        Artifact { text, cost, family, trace }
    }

    /// Counts what a tier had, and gives what memory is to keep of it, with the tier's name.
    pub(crate) fn loaded(&self, key: &PtxKey, found: &Found) -> (Made<Arc<str>>, String) {
        let tier = self.tiers.name(found.tier).to_owned();
        self.counts.saved_nanos.add(nanos(found.artifact.cost));
        self.memory().tell(Event::Loaded { key, tier: &tier });
        if let Some(took) = found.took {
            self.memory().note_load(took);
        }
        (made(&found.artifact, true), tier)
    }

    /// Writes a new artifact to the tiers at once where a failure must reach all who wait, and
    /// otherwise gives it back, to be written when they have it.
    ///
    /// # Errors
    ///
    /// See [`Tiers::write`](crate::tiers::Tiers::write).
    pub(crate) fn written_first(
        &self,
        key: &PtxKey,
        artifact: Artifact,
        claims: Claims,
    ) -> Result<Option<Unwritten>, CacheError> {
        if self.tiers.policy().writes != WritePolicy::Ignore {
            self.tiers.write(key, &artifact)?;
            return Ok(None);
        }
        Ok(Some(Unwritten::New { artifact, _claims: claims }))
    }
}

/// What memory keeps of an artifact.
pub(crate) fn made(artifact: &Artifact, in_lower_tier: bool) -> Made<Arc<str>> {
    let Artifact { text, cost, family, .. } = artifact;
    Made { value: Arc::clone(text), cost: Some(*cost), in_lower_tier, family: *family }
}

/// Where a text came from, which this request would have had from `source`.
pub(crate) fn source_of(origin: Origin, source: Source) -> Source {
    match origin {
        Origin::Memory => Source::Memory,
        Origin::Coalesced => Source::Coalesced,
        Origin::Made => source,
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests;
