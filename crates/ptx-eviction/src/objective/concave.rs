use super::{Objective, check_weights};
use crate::Error;

/// A concave curve `φ` with `φ(0) = 0` that never falls: how a group's value grows with its mass.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub enum Curve {
    /// `φ(x) = √x`: four times the mass is worth twice as much.
    #[default]
    SquareRoot,
    /// `φ(x) = ln(1 + x)`: near zero the mass itself, later its order of magnitude.
    ///
    /// Uses the platform's `ln_1p`, whose last bit may differ between platforms.
    Log1p,
    /// `φ(x) = min(x, at)`: the mass itself up to `at`, nothing beyond.
    Saturating {
        /// Where the curve goes flat; finite and not negative.
        at: f64,
    },
}

impl Curve {
    /// `s·φ((m + w)/s) − s·φ(m/s)`, computed so that in floating point it never grows with `m`: no difference
    /// of large values, only operations whose correctly rounded results are monotone.
    #[inline]
    fn gain(self, mass: f64, weight: f64, scale: f64) -> f64 {
        if weight == 0.0 || scale == 0.0 {
            return 0.0;
        }
        match self {
            Self::SquareRoot => scale.sqrt() * (weight / ((mass + weight).sqrt() + mass.sqrt())),
            Self::Log1p => scale * (weight / (scale + mass)).ln_1p(),
            Self::Saturating { at } => weight.min((at * scale - mass).max(0.0)),
        }
    }
}

/// Families with diminishing returns: `f(S) = Σ_g s_g · φ(w(S ∩ g) / s_g)`, where `w(S ∩ g)` is the weight
/// that the set holds of group `g` and `s_g` the group's scale, 1 unless given.
///
/// Sums of concave functions of modular functions are monotone submodular (Lin and Bilmes, *A class of
/// submodular functions for document summarization*, ACL 2011, section 4). A gain costs O(1).
///
/// With the scale of each group set to its largest weight, a group of one is worth `φ(1)` times its weight, so
/// that elements without siblings keep their proportions whatever the curve, and only siblings are discounted.
#[derive(Debug, Clone, Copy)]
pub struct ConcaveOverGroups<'a> {
    weights: &'a [f64],
    groups: &'a [u32],
    scales: Option<&'a [f64]>,
    group_count: usize,
    curve: Curve,
}

impl<'a> ConcaveOverGroups<'a> {
    /// Element `e` has weight `weights[e]` and belongs to group `groups[e]`. Group ids are dense: each is below
    /// the number of elements.
    ///
    /// # Errors
    /// [`Error::Weight`] and [`Error::Overflow`] as for [`Modular::new`](super::Modular::new);
    /// [`Error::Length`] when the slices differ in length; [`Error::Group`] for an id that is not dense;
    /// [`Error::Parameter`] for a saturating curve whose `at` is NaN, infinite or negative.
    pub fn new(weights: &'a [f64], groups: &'a [u32], curve: Curve) -> Result<Self, Error> {
        check_weights(weights)?;
        if let Curve::Saturating { at } = curve
            && !(0.0..f64::INFINITY).contains(&at)
        {
            return Err(Error::Parameter {
                name: "at",
                value: at,
                range: "finite and not negative",
            });
        }
        if groups.len() != weights.len() {
            return Err(Error::Length {
                what: "groups",
                found: groups.len(),
                expected: weights.len(),
            });
        }
        let group_count = dense_group_count(groups, weights.len())?;
        Ok(Self { weights, groups, scales: None, group_count, curve })
    }

    /// Gives group `g` the scale `scales[g]`. A group of scale zero is worth nothing.
    ///
    /// # Errors
    /// [`Error::Scale`] for a scale that is NaN, infinite or negative; [`Error::Length`] when a group has none.
    pub fn with_scales(self, scales: &'a [f64]) -> Result<Self, Error> {
        if scales.len() < self.group_count {
            return Err(Error::Length {
                what: "scales",
                found: scales.len(),
                expected: self.group_count,
            });
        }
        for (group, &scale) in scales.iter().enumerate() {
            if !(0.0..f64::INFINITY).contains(&scale) {
                return Err(Error::Scale { group, scale });
            }
        }
        Ok(Self { scales: Some(scales), ..self })
    }
}

/// One more than the largest id, after checking that every id is below `limit`.
pub(crate) fn dense_group_count(groups: &[u32], limit: usize) -> Result<usize, Error> {
    let mut count = 0;
    for (element, &group) in groups.iter().enumerate() {
        if group as usize >= limit {
            return Err(Error::Group { element, group, limit });
        }
        count = count.max(group as usize + 1);
    }
    Ok(count)
}

/// The weight that a partial selection holds of each group: the state of [`ConcaveOverGroups`].
#[derive(Debug, Default)]
pub struct GroupMass(Vec<f64>);

impl Clone for GroupMass {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }

    fn clone_from(&mut self, source: &Self) {
        self.0.clone_from(&source.0);
    }
}

impl Objective for ConcaveOverGroups<'_> {
    type State = GroupMass;

    #[inline]
    fn element_count(&self) -> usize {
        self.weights.len()
    }

    fn clear(&self, state: &mut GroupMass) {
        state.0.clear();
        state.0.resize(self.group_count, 0.0);
    }

    #[inline]
    fn gain(&self, state: &GroupMass, element: usize) -> f64 {
        let group = self.groups[element] as usize;
        let scale = self.scales.map_or(1.0, |scales| scales[group]);
        self.curve.gain(state.0[group], self.weights[element], scale)
    }

    #[inline]
    fn add(&self, state: &mut GroupMass, element: usize) {
        state.0[self.groups[element] as usize] += self.weights[element];
    }
}
