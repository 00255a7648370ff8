//! How is an entry's header written and read?

use ptx_key::{DIGEST_BYTES, Digest};
use ptx_store::{Attributes, EntryKey, Kind};

use crate::Damage;

/// The version of the format that this release writes.
pub const FORMAT_VERSION: u16 = 1;
/// The first bytes of every entry. They catch a transfer that took the file for text.
pub const MAGIC: [u8; 8] = *b"\x89PTX\r\n\x1a\n";
/// The longest header, its digest included, in bytes.
pub const LONGEST_HEADER: usize = 1 << 20;
/// The longest stored payload and the longest content that any reader accepts, in bytes.
pub const LONGEST_PAYLOAD: u64 = 1 << 30;
/// The longest producer and the longest attribute name, in bytes.
pub const LONGEST_NAME: usize = 255;
/// The most attributes of one entry.
pub const MOST_ATTRIBUTES: usize = 256;

/// Bytes before the producer.
const FIXED: usize = 156;
/// Bytes that begin every version of the format: magic, version, kind, encoding, length.
const ENVELOPE: usize = 16;

/// How the stored bytes encode the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// They are the content.
    Plain,
    /// One zstd frame.
    Zstd,
    /// One zstd frame that needs the dictionary with this number.
    ZstdDictionary(u32),
    /// One LZ4 block.
    Lz4,
}

/// A stored entry's header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The key, with the kind of the payload.
    pub key: EntryKey,
    /// How the payload is stored.
    pub encoding: Encoding,
    /// SHA-256 of the stored bytes.
    pub stored_digest: Digest,
    /// SHA-256 of the content, which tells whether two entries hold the same.
    pub content_digest: Digest,
    /// Bytes of the stored payload.
    pub stored_bytes: u64,
    /// Bytes of the content.
    pub content_bytes: u64,
    /// The cost of computing the content, in nanoseconds.
    pub cost_nanos: u64,
    /// When it was computed, in nanoseconds since 1970.
    pub created_nanos: u64,
    /// The level at which the content was last compressed, also if that gained nothing, or 0. It
    /// tells whether a higher level is worth trying, and nothing about decoding.
    pub level: i32,
    /// The program that computed it.
    pub producer: String,
    /// All other attributes.
    pub attributes: Attributes,
}

/// Why bytes are not a header that this release reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// They are whole, and use what only a newer release knows.
    Newer,
    /// No release wrote them.
    Damaged(Damage),
}

impl From<Damage> for Unreadable {
    fn from(damage: Damage) -> Self {
        Self::Damaged(damage)
    }
}

impl Header {
    /// The header as bytes, its digest included. Cuts a producer that is too long at a character.
    /// Returns `None` if an attribute or the whole is too long for the format.
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        let longest = LONGEST_NAME.min(self.producer.len());
        let producer = (0..=longest).rev().find_map(|end| self.producer.get(..end))?;
        if self.attributes.len() > MOST_ATTRIBUTES {
            return None;
        }
        let mut attributes = Vec::new();
        for (name, value) in self.attributes.iter() {
            if name.is_empty() || name.len() > LONGEST_NAME || value.len() > LONGEST_HEADER {
                return None;
            }
            attributes.extend(u16::try_from(name.len()).ok()?.to_le_bytes());
            attributes.extend(u32::try_from(value.len()).ok()?.to_le_bytes());
            attributes.extend(name.as_bytes());
            attributes.extend(value);
        }
        let length = FIXED + producer.len() + attributes.len() + DIGEST_BYTES;
        if length > LONGEST_HEADER {
            return None;
        }
        let (encoding, dictionary) = match self.encoding {
            Encoding::Plain => (0, 0),
            Encoding::Zstd => (1, 0),
            Encoding::ZstdDictionary(number) => (2, number),
            Encoding::Lz4 => (3, 0),
        };
        let kind = match self.key.kind() {
            Kind::Ptx => 1,
            Kind::Cubin => 2,
        };
        let mut bytes = Vec::with_capacity(length);
        bytes.extend(MAGIC);
        bytes.extend(FORMAT_VERSION.to_le_bytes());
        bytes.extend([kind, encoding]);
        bytes.extend(u32::try_from(length).ok()?.to_le_bytes());
        bytes.extend(self.key.as_bytes());
        bytes.extend(self.stored_digest.as_bytes());
        bytes.extend(self.content_digest.as_bytes());
        bytes.extend(self.stored_bytes.to_le_bytes());
        bytes.extend(self.content_bytes.to_le_bytes());
        bytes.extend(self.cost_nanos.to_le_bytes());
        bytes.extend(self.created_nanos.to_le_bytes());
        bytes.extend(dictionary.to_le_bytes());
        bytes.extend(self.level.to_le_bytes());
        bytes.extend(u16::try_from(producer.len()).ok()?.to_le_bytes());
        bytes.extend(u16::try_from(self.attributes.len()).ok()?.to_le_bytes());
        bytes.extend(producer.as_bytes());
        bytes.extend(attributes);
        bytes.extend(Digest::of_bytes(&bytes).as_bytes());
        Some(bytes)
    }

    /// The digest that variants of one program share.
    pub fn family(&self) -> Option<Digest> {
        self.attributes.get("family")?.try_into().ok().map(Digest::from_bytes)
    }

    /// Reads the header at the front of `bytes`. Returns it and the bytes behind it. Checks the
    /// digest first, so that it believes nothing else of damaged bytes.
    ///
    /// # Errors
    ///
    /// Why there is none.
    pub fn read(bytes: &[u8]) -> Result<(Self, &[u8]), Unreadable> {
        let (header, payload) = split(bytes)?;
        let mut rest = header;
        let _magic: &[u8; 8] = take(&mut rest)?;
        if u16::from_le_bytes(*take(&mut rest)?) != FORMAT_VERSION {
            return Err(Unreadable::Newer);
        }
        let [kind, encoding] = *take(&mut rest)?;
        let _length: &[u8; 4] = take(&mut rest)?;
        let kind = match kind {
            1 => Kind::Ptx,
            2 => Kind::Cubin,
            _ => return Err(Unreadable::Newer),
        };
        let key = EntryKey::from_bytes(kind, *take(&mut rest)?);
        let stored_digest = Digest::from_bytes(*take(&mut rest)?);
        let content_digest = Digest::from_bytes(*take(&mut rest)?);
        let stored_bytes = take_u64(&mut rest)?;
        let content_bytes = take_u64(&mut rest)?;
        let cost_nanos = take_u64(&mut rest)?;
        let created_nanos = take_u64(&mut rest)?;
        let dictionary = u32::from_le_bytes(*take(&mut rest)?);
        let level = i32::from_le_bytes(*take(&mut rest)?);
        let encoding = match (encoding, dictionary) {
            (0, 0) => Encoding::Plain,
            (1, 0) => Encoding::Zstd,
            (2, number) => Encoding::ZstdDictionary(number),
            (3, 0) => Encoding::Lz4,
            (0 | 1 | 3, _) => return Err(Damage::Header.into()),
            _ => return Err(Unreadable::Newer),
        };
        let producer_length = usize::from(u16::from_le_bytes(*take(&mut rest)?));
        let attribute_count = usize::from(u16::from_le_bytes(*take(&mut rest)?));
        let producer = take_text(&mut rest, producer_length)?.to_owned();
        let attributes = read_attributes(&mut rest, attribute_count)?;
        if !rest.is_empty() || stored_bytes.max(content_bytes) > LONGEST_PAYLOAD {
            return Err(Damage::Header.into());
        }
        let header = Self {
            key,
            encoding,
            stored_digest,
            content_digest,
            stored_bytes,
            content_bytes,
            cost_nanos,
            created_nanos,
            level,
            producer,
            attributes,
        };
        Ok((header, payload))
    }
}

/// Checks what every version has in common, and splits the header without its digest from the
/// payload.
fn split(bytes: &[u8]) -> Result<(&[u8], &[u8]), Damage> {
    let envelope: &[u8; ENVELOPE] = bytes.first_chunk().ok_or(Damage::CutShort)?;
    let [.., l0, l1, l2, l3] = *envelope;
    if !envelope.starts_with(&MAGIC) {
        return Err(Damage::NotAnEntry);
    }
    let length = usize::try_from(u32::from_le_bytes([l0, l1, l2, l3])).unwrap_or(usize::MAX);
    if !(ENVELOPE + DIGEST_BYTES..=LONGEST_HEADER).contains(&length) {
        return Err(Damage::Header);
    }
    let (header, payload) = bytes.split_at_checked(length).ok_or(Damage::CutShort)?;
    let (header, digest) = header.split_last_chunk::<DIGEST_BYTES>().ok_or(Damage::CutShort)?;
    if Digest::of_bytes(header) != Digest::from_bytes(*digest) {
        return Err(Damage::Header);
    }
    Ok((header, payload))
}

fn read_attributes(rest: &mut &[u8], count: usize) -> Result<Attributes, Damage> {
    if count > MOST_ATTRIBUTES {
        return Err(Damage::Header);
    }
    let mut attributes = Attributes::default();
    let mut last = "";
    for _ in 0..count {
        let name_length = usize::from(u16::from_le_bytes(*take(rest)?));
        let value_length = u32::from_le_bytes(*take(rest)?);
        let name = take_text(rest, name_length)?;
        let value = take_slice(rest, usize::try_from(value_length).unwrap_or(usize::MAX))?;
        // One entry has one spelling: names in order, each once, none empty.
        if name <= last {
            return Err(Damage::Header);
        }
        last = name;
        attributes.set(name, value);
    }
    Ok(attributes)
}

fn take<'a, const N: usize>(rest: &mut &'a [u8]) -> Result<&'a [u8; N], Damage> {
    let (taken, behind) = rest.split_first_chunk().ok_or(Damage::Header)?;
    *rest = behind;
    Ok(taken)
}

fn take_u64(rest: &mut &[u8]) -> Result<u64, Damage> {
    take(rest).map(|bytes| u64::from_le_bytes(*bytes))
}

fn take_slice<'a>(rest: &mut &'a [u8], length: usize) -> Result<&'a [u8], Damage> {
    let (taken, behind) = rest.split_at_checked(length).ok_or(Damage::Header)?;
    *rest = behind;
    Ok(taken)
}

fn take_text<'a>(rest: &mut &'a [u8], length: usize) -> Result<&'a str, Damage> {
    if length > LONGEST_NAME {
        return Err(Damage::Header);
    }
    std::str::from_utf8(take_slice(rest, length)?).map_err(|_| Damage::Header)
}

#[cfg(test)]
mod tests;
