use super::Objective;

/// Facility location: `f(S) = Σ_j max_{e ∈ S} similarity(e, j)` over clients `j`. Each client is served by the
/// most similar element that was kept.
///
/// Monotone submodular for similarities that are not negative (Nemhauser, Wolsey and Fisher 1978, whose main
/// example it is). A gain costs one call of the similarity for each client.
#[derive(Debug, Clone, Copy)]
pub struct FacilityLocation<F> {
    element_count: usize,
    client_count: usize,
    similarity: F,
}

impl<F: Fn(usize, usize) -> f64> FacilityLocation<F> {
    /// `similarity(element, client)` is finite and not negative, and the same whenever it is asked. A value
    /// that is not makes the gain NaN, which every solver reports as [`Error::Gain`](crate::Error::Gain).
    ///
    /// Where the elements represent each other, both counts are the same.
    pub fn new(element_count: usize, client_count: usize, similarity: F) -> Self {
        Self { element_count, client_count, similarity }
    }
}

/// For each client the best similarity among the elements chosen so far: the state of [`FacilityLocation`].
#[derive(Debug, Default)]
pub struct BestSimilarity(Vec<f64>);

impl Clone for BestSimilarity {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }

    fn clone_from(&mut self, source: &Self) {
        self.0.clone_from(&source.0);
    }
}

impl<F: Fn(usize, usize) -> f64> Objective for FacilityLocation<F> {
    type State = BestSimilarity;

    #[inline]
    fn element_count(&self) -> usize {
        self.element_count
    }

    fn clear(&self, state: &mut BestSimilarity) {
        state.0.clear();
        state.0.resize(self.client_count, 0.0);
    }

    #[inline]
    fn gain(&self, state: &BestSimilarity, element: usize) -> f64 {
        let mut gain = 0.0;
        for (client, &best) in state.0.iter().enumerate() {
            let similarity = (self.similarity)(element, client);
            if similarity > best {
                gain += similarity - best;
            } else if similarity < 0.0 || similarity.is_nan() {
                return f64::NAN;
            }
        }
        gain
    }

    #[inline]
    fn add(&self, state: &mut BestSimilarity, element: usize) {
        for (client, best) in state.0.iter_mut().enumerate() {
            *best = best.max((self.similarity)(element, client));
        }
    }
}
