//! Does a hit equal what lowering gives now? A difference shows that the key leaves something out.

use std::error::Error;
#[cfg(feature = "async")]
use std::future::poll_fn;
#[cfg(feature = "async")]
use std::pin::pin;

use ptx_key::PtxKey;
#[cfg(feature = "async")]
use tracing::Instrument;

use super::ptx_cache::PtxCache;
use crate::flight::Computation;
use crate::sync::lock;
use crate::{CacheError, Event, PtxArtifact};

impl PtxCache {
    /// Sets the share of hits that are lowered again and compared, in memory and in tiers. 0, the
    /// default, costs nothing; 1 is every hit. NaN counts as 0. Hits inside a lowering are skipped.
    ///
    /// The requesting thread or task runs the lowering after its waiters were served. The request
    /// returns the hit, whatever the comparison says. A difference is counted, traced as an error
    /// and told to the listener as [`Event::Disagreed`]: the key leaves out something that the
    /// lowering depends on. A failure is told as [`Event::NotVerified`].
    pub fn set_verified_share(&self, share: f64) {
        self.verified_share.set(share);
    }

    /// Lowers `key` again and compares with the artifact that is served.
    #[cold]
    pub(super) fn verify<L, E>(
        &self,
        key: &PtxKey,
        served: &PtxArtifact,
        lower: impl FnOnce() -> Result<L, E>,
    ) where
        L: Into<PtxArtifact>,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        let _span = tracing::debug_span!("lowering", %key, verifies = true).entered();
        let computation = Computation::begin();
        let _running = computation.run();
        self.compare(key, served, lower());
    }

    /// [`verify`](Self::verify) for tasks.
    #[cfg(feature = "async")]
    pub(super) async fn verify_async<L, E>(
        &self,
        key: &PtxKey,
        served: &PtxArtifact,
        lowering: impl Future<Output = Result<L, E>>,
    ) where
        L: Into<PtxArtifact>,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        let span = tracing::debug_span!("lowering", %key, verifies = true);
        let computation = Computation::begin();
        let mut lowering = pin!(lowering.instrument(span));
        let lowered = poll_fn(|context| {
            let _running = computation.run();
            lowering.as_mut().poll(context)
        });
        let lowered = lowered.await;
        self.compare(key, served, lowered);
    }

    /// Counts the comparison, and reports a difference.
    fn compare<L, E>(&self, key: &PtxKey, served: &PtxArtifact, lowered: Result<L, E>)
    where
        L: Into<PtxArtifact>,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        match lowered {
            Ok(lowered) => {
                lock(&self.counts).verified += 1;
                let lowered = lowered.into();
                let difference = first_difference(&served.payload, &lowered.payload);
                let Some((line, served, lowered)) = difference else { return };
                lock(&self.counts).disagreed += 1;
                tracing::error!(%key, line, served, lowered, "a key stands for two texts");
                self.memory().notify(Event::Disagreed { key, line, served, lowered });
            }
            Err(error) => {
                let error = CacheError::of_lowering(error);
                self.memory().notify(Event::NotVerified { key, error: &error });
            }
        }
    }
}

/// The first line that differs, counted from one, as it is in each of the two texts.
fn first_difference<'t>(one: &'t str, other: &'t str) -> Option<(usize, &'t str, &'t str)> {
    if one == other {
        return None;
    }
    let (mut ones, mut others) = (one.split('\n'), other.split('\n'));
    let mut line = 0;
    loop {
        line += 1;
        match (ones.next(), others.next()) {
            (Some(one), Some(other)) if one == other => {}
            (one, other) => {
                return Some((line, one.unwrap_or_default(), other.unwrap_or_default()));
            }
        }
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests;
