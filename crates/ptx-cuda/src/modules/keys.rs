//! The keys under which a store may have machine code for a device.

use ptx_key::{Assembler, ComputeCapability, Digest, JitConfiguration, ModuleKey};

/// The keys under which a store may have a module for one context, best first: the module's own,
/// then those of cubins that were shipped (see
/// [`Context::with_shipped`](crate::Context::with_shipped)) or that another device of the same
/// major compute capability made.
///
/// A device runs cubins of its own major number and of no higher minor. Where none is stored, a
/// cache falls back to the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleKeys {
    own: ModuleKey,
    others: Box<[ModuleKey]>,
}

/// The module's own key alone.
impl From<ModuleKey> for ModuleKeys {
    fn from(own: ModuleKey) -> Self {
        Self { own, others: Box::default() }
    }
}

impl ModuleKeys {
    pub(crate) fn new(
        jit: &JitConfiguration,
        shipped: &[Digest],
        key: impl Fn(&JitConfiguration) -> ModuleKey,
    ) -> Self {
        let ComputeCapability { major, minor } = jit.compute_capability;
        let own = key(jit);
        let tools = shipped.iter().map(|tool| Assembler::Tool { fingerprint: *tool });
        let assemblers: Vec<_> = std::iter::once(jit.assembler).chain(tools).collect();
        let minors = (0..=minor).rev();
        let others = minors
            .flat_map(|minor| assemblers.iter().map(move |assembler| (minor, *assembler)))
            .filter(|(_, assembler)| assembler.is_exact())
            .map(|(minor, assembler)| {
                let compute_capability = ComputeCapability { major, minor };
                key(&JitConfiguration { compute_capability, assembler, ..jit.clone() })
            });
        Self { own, others: others.filter(|other| *other != own).collect() }
    }

    /// The module's own key: of this device, driver and options.
    pub(crate) fn own(&self) -> &ModuleKey {
        &self.own
    }

    /// The keys of other cubins that this device may run, best first.
    pub(crate) fn others(&self) -> &[ModuleKey] {
        &self.others
    }
}

#[cfg(test)]
mod tests {
    use ptx_key::JitOptions;

    use super::*;

    #[test]
    fn the_order_is_own_then_shipped_then_lower_minors() {
        let tool = Digest::of_bytes(b"ptxas");
        let driver =
            Assembler::Driver { version: 13_000, build: Some(Digest::of_bytes(b"580.95.05")) };
        let jit = |minor, assembler| JitConfiguration {
            compute_capability: ComputeCapability { major: 8, minor },
            assembler,
            options: JitOptions::default(),
        };
        let key = |jit: &JitConfiguration| jit.key_of_text("text");
        let keys = ModuleKeys::new(&jit(1, driver), &[tool], key);
        assert_eq!(*keys.own(), key(&jit(1, driver)));
        let tool = Assembler::Tool { fingerprint: tool };
        let expected = [jit(1, tool), jit(0, driver), jit(0, tool)];
        assert_eq!(keys.others(), expected.each_ref().map(key));
        // Cubins of a driver of an unknown build are not looked for.
        let unknown = Assembler::Driver { version: 13_000, build: None };
        assert!(ModuleKeys::new(&jit(9, unknown), &[], key).others().is_empty());
    }
}
