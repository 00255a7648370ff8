//! What stands in for a text of an instruction set that the driver does not know.

use std::sync::atomic::Ordering;
use std::time::Instant;

use ptx_key::ModuleKey;

use super::{Attempt, Found, Loader, Lower};
use crate::{Context, CudaError, Driver, Image, Ptx};

impl<D: Driver> Loader<D> {
    /// Loads a text of an instruction set that the driver does not know: by an offline assembler
    /// that does, else lowered again for the latest that it knows.
    pub(super) fn rescue(
        &self,
        context: &Context<D>,
        key: &ModuleKey,
        ptx: &Ptx,
        error: CudaError,
        lower: &mut Lower<'_>,
        attempt: &mut Attempt,
    ) -> Result<Found<D>, CudaError> {
        let latest = error.refused().and_then(|refused| refused.supported_isa);
        let offline = self.assemble_offline(context, ptx, attempt).unwrap_or_else(|passing| {
            attempt.passing = Some(passing);
            None
        });
        let rescued = match offline {
            // Before the next request finds its cubin, it has the text lowered once more.
            Some(found) => Some(Found { is_held_below: false, ..found }),
            None => match latest {
                Some(latest) => match lower(Some(latest))? {
                    Some(Image::Ptx(ptx)) => Some(self.make(context, key, &ptx, attempt)?),
                    Some(image) => Some(self.load_given(context, &image)?),
                    None => None,
                },
                None => None,
            },
        };
        let found = rescued.ok_or(error)?;
        self.counts.rescued.fetch_add(1, Ordering::Relaxed);
        Ok(found)
    }

    /// A text by `ptxas`, kept under the key that `ptxas` gives it: the key of the request is that
    /// of a driver which cannot make it. `None` where there is no `ptxas` that can; an error where
    /// it may be able to the next time.
    fn assemble_offline(
        &self,
        context: &Context<D>,
        ptx: &Ptx,
        attempt: &mut Attempt,
    ) -> Result<Option<Found<D>>, CudaError> {
        let Some(ptxas) = self.ptxas.as_ref().filter(|_| context.driver_assembles()) else {
            return Ok(None);
        };
        let offline = context.assembled_by(ptxas);
        let key = offline.module_key_of_text(ptx.text());
        if let Some(cubins) = &self.cubins
            && let Some(found) = self.load_stored(cubins, &offline, &key, attempt)?
        {
            return Ok(Some(found));
        }
        let started = Instant::now();
        match offline.assemble(ptx) {
            Ok(assembled) => self.load_assembled(&offline, &key, assembled, started, attempt),
            Err(error) if error.is_permanent() => {
                tracing::debug!(%error, "ptxas makes no cubin of it either");
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}
