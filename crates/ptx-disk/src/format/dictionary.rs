//! Which dictionary do texts share?

use std::sync::LazyLock;

use zstd::dict::DecoderDictionary;
use zstd::zstd_safe::get_dict_id_from_dict;

/// The dictionary. See `dictionary/README.md`.
pub(super) const DICTIONARY: &[u8] = include_bytes!("../../dictionary/ptx-1.zdict");

/// The dictionary's number in a frame.
pub(super) static DICTIONARY_NUMBER: LazyLock<Option<u32>> =
    LazyLock::new(|| get_dict_id_from_dict(DICTIONARY).map(std::num::NonZeroU32::get));

/// The dictionary, prepared for decoders of all threads.
pub(super) static DECODER_DICTIONARY: LazyLock<Option<DecoderDictionary<'static>>> =
    LazyLock::new(|| DecoderDictionary::try_copy(DICTIONARY).ok());
