//! How much a further variant of a family adds.

/// How the value of a family grows with the worth that is kept of it.
///
/// With the curve `φ`, a family whose most valuable entry is worth `s` and of which entries of
/// total worth `w` stay has the value `s · φ(w / s)`. Each `φ` is concave and never falls, and
/// `φ(0) = 0`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub enum Curve {
    /// `φ(x) = √x`: four times the worth has twice the value.
    #[default]
    SquareRoot,
    /// `φ(x) = ln(1 + x)`: variants count for still less.
    ///
    /// It uses the platform's `ln_1p`, whose last bit may differ between platforms.
    Log1p,
    /// `φ(x) = min(x, at)`: the full worth up to `at`, nothing beyond.
    Saturating {
        /// Where the curve becomes flat; finite and not negative.
        at: f64,
    },
}

impl Curve {
    /// What `worth` more adds to a family that has `kept` worth already: `s·φ((k + w)/s) − s·φ(k/s)`.
    ///
    /// It is finite and not negative where `scale` is at least `worth`.
    ///
    /// It never grows with `kept`, not even by rounding: it subtracts no large values, and every
    /// operation is monotone when it is correctly rounded. Lazy evaluation relies on that.
    #[inline]
    pub(crate) fn gain(self, kept: f64, worth: f64, scale: f64) -> f64 {
        if worth == 0.0 || scale == 0.0 {
            return 0.0;
        }
        let gain = match self {
            Self::SquareRoot => scale.sqrt() * (worth / ((kept + worth).sqrt() + kept.sqrt())),
            Self::Log1p => scale * (worth / (scale + kept)).ln_1p(),
            Self::Saturating { at } => worth.min((at * scale - kept).max(0.0)),
        };
        // Adding zero makes a negative zero positive: gains are compared by their bits.
        gain + 0.0
    }
}

#[cfg(test)]
mod tests;
