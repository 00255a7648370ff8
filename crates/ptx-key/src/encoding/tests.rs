use proptest::prelude::*;

use super::{Domain, hash};
use crate::{Digest, Lanes};

const SPECIFICATION: &str = include_str!("../../ENCODING.md");

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Bool(bool),
    U64(u64),
    I64(i64),
    /// The bits, so that each NaN equals itself.
    F64(u64),
    Str(String),
    Bytes(Vec<u8>),
    Digest([u8; 32]),
    Absent,
    Record(String, Vec<Token>),
}

fn tokens() -> impl Strategy<Value = Vec<Token>> {
    // The alphabets are small and consist of tag bytes, so that streams that a careless encoding
    // confuses are frequent.
    let leaf = prop_oneof![
        any::<bool>().prop_map(Token::Bool),
        prop_oneof![0_u64..4, any::<u64>()].prop_map(Token::U64),
        prop_oneof![-2_i64..3, any::<i64>()].prop_map(Token::I64),
        prop_oneof![0_u64..4, any::<u64>()].prop_map(Token::F64),
        "[()nsbé]{0,3}".prop_map(Token::Str),
        prop::collection::vec(prop::sample::select(b"()ns\0".to_vec()), 0..3)
            .prop_map(Token::Bytes),
        any::<[u8; 32]>().prop_map(Token::Digest),
        Just(Token::Absent),
    ];
    let token = leaf.prop_recursive(3, 12, 3, |inner| {
        ("[()n]{0,2}", prop::collection::vec(inner, 0..3))
            .prop_map(|(name, content)| Token::Record(name, content))
    });
    prop::collection::vec(token, 0..4)
}

fn write(tokens: &[Token], lanes: &mut Lanes) {
    for token in tokens {
        match token {
            Token::Bool(value) => lanes.bool(*value),
            Token::U64(value) => lanes.u64(*value),
            Token::I64(value) => lanes.i64(*value),
            Token::F64(bits) => lanes.f64(f64::from_bits(*bits)),
            Token::Str(text) => lanes.str(text),
            Token::Bytes(bytes) => lanes.bytes(bytes),
            Token::Digest(bytes) => lanes.digest(&Digest::from_bytes(*bytes)),
            Token::Absent => lanes.absent(),
            Token::Record(name, content) => lanes.record(name, |lanes| write(content, lanes)),
        }
    }
}

fn digest(tokens: &[Token]) -> Digest {
    hash(Domain::Field, |lanes| write(tokens, lanes))
}

/// Encodes tokens as the specification says.
fn specified(tokens: &[Token]) -> Vec<u8> {
    let sized = |tag: u8, bytes: &[u8]| {
        [&[tag], (bytes.len() as u64).to_le_bytes().as_slice(), bytes].concat()
    };
    let one = |token: &Token| match token {
        Token::Bool(value) => vec![b'b', u8::from(*value)],
        Token::U64(value) => [b"u".as_slice(), &value.to_le_bytes()].concat(),
        Token::I64(value) => [b"i".as_slice(), &value.to_le_bytes()].concat(),
        Token::F64(bits) => [b"f".as_slice(), &bits.to_le_bytes()].concat(),
        Token::Str(text) => sized(b's', text.as_bytes()),
        Token::Bytes(bytes) => sized(b'y', bytes),
        Token::Digest(bytes) => [b"d".as_slice(), bytes].concat(),
        Token::Absent => vec![b'n'],
        Token::Record(name, content) => {
            [sized(b'(', name.as_bytes()), specified(content), vec![b')']].concat()
        }
    };
    tokens.iter().flat_map(one).collect()
}

/// Decodes tokens until the end of the bytes or of the record that contains them.
fn parsed(rest: &mut &[u8]) -> Vec<Token> {
    fn take<'a>(rest: &mut &'a [u8], count: usize) -> &'a [u8] {
        let (taken, tail) = rest.split_at(count);
        *rest = tail;
        taken
    }
    fn number(rest: &mut &[u8]) -> u64 {
        u64::from_le_bytes(take(rest, 8).try_into().unwrap())
    }
    fn sized(rest: &mut &[u8]) -> Vec<u8> {
        let length = number(rest);
        take(rest, length.try_into().unwrap()).to_vec()
    }
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let mut tokens = Vec::new();
    while !rest.is_empty() {
        tokens.push(match take(rest, 1)[0] {
            b'b' => Token::Bool(take(rest, 1)[0] == 1),
            b'u' => Token::U64(number(rest)),
            b'i' => Token::I64(number(rest).cast_signed()),
            b'f' => Token::F64(number(rest)),
            b's' => Token::Str(text(sized(rest))),
            b'y' => Token::Bytes(sized(rest)),
            b'd' => Token::Digest(take(rest, 32).try_into().unwrap()),
            b'n' => Token::Absent,
            b'(' => Token::Record(text(sized(rest)), parsed(rest)),
            b')' => return tokens,
            other => panic!("no token starts with {other}"),
        });
    }
    tokens
}

/// Computes `H(domain, bytes)` as the specification says.
fn hashed(domain: Domain, bytes: &[u8]) -> Digest {
    let domain = specified(&[Token::Str(domain.text().to_owned())]);
    Digest::of_bytes(&[domain.as_slice(), bytes].concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    /// The hashed bytes are those of the specification, and they decode to the same tokens. So two
    /// different streams are two different byte strings.
    #[test]
    fn the_encoding_is_injective(tokens in tokens()) {
        let bytes = specified(&tokens);
        prop_assert_eq!(digest(&tokens), hashed(Domain::Field, &bytes));
        let mut rest = bytes.as_slice();
        prop_assert_eq!(parsed(&mut rest), tokens);
        prop_assert_eq!(rest, b"");
    }
}

#[test]
fn similar_tokens_have_different_digests() {
    let streams = [
        vec![],
        vec![Token::Absent],
        vec![Token::Str(String::new())],
        vec![Token::Bytes(vec![])],
        vec![Token::Str("ab".into())],
        vec![Token::Str("a".into()), Token::Str("b".into())],
        vec![Token::Bytes(b"ab".to_vec())],
        vec![Token::U64(0)],
        vec![Token::I64(0)],
        vec![Token::F64(0)],
        vec![Token::F64(1 << 63)],
        vec![Token::Bool(false)],
        vec![Token::Record(String::new(), vec![])],
        vec![Token::Record(String::new(), vec![Token::Absent])],
        vec![Token::Record(String::new(), vec![]), Token::Absent],
        vec![Token::Record("n".into(), vec![])],
    ];
    let digests: std::collections::BTreeSet<Digest> = streams.iter().map(|it| digest(it)).collect();
    assert_eq!(digests.len(), streams.len());
}

#[test]
fn domains_differ_and_are_specified() {
    let digests: std::collections::BTreeSet<Digest> =
        Domain::ALL.iter().map(|domain| hash(*domain, |_| ())).collect();
    assert_eq!(digests.len(), Domain::ALL.len());
    for domain in Domain::ALL {
        assert!(SPECIFICATION.contains(&format!("| `{}` |", domain.text())), "{domain:?}");
        assert_eq!(hash(*domain, |_| ()), hashed(*domain, b""));
    }
    let title = format!("# The encoding of keys, version {}\n", Domain::VERSION);
    assert!(SPECIFICATION.starts_with(&title));
}

#[test]
fn the_examples_of_the_specification_are_what_is_hashed() {
    let examples: Vec<Vec<u8>> = SPECIFICATION
        .split("```text\n")
        .skip(1)
        .map(|tail| {
            let digits = tail.split_once("```").unwrap().0.replace([' ', '\n'], "");
            base16ct::lower::decode_vec(digits).unwrap()
        })
        .collect();
    let [stream, field, field_digest] = examples.as_slice() else {
        panic!("{} examples", examples.len())
    };
    let tokens =
        [Token::Str("a".into()), Token::U64(5), Token::Record("r".into(), vec![Token::Absent])];
    assert_eq!(digest(&tokens), hashed(Domain::Field, stream));
    assert_eq!(Digest::of_bytes(field), digest(&[Token::U64(1)]));
    assert_eq!(digest(&[Token::U64(1)]).as_bytes().as_slice(), field_digest);
}

/// A signalling NaN becomes quiet when it is widened, so two constants would share a key.
#[test]
fn single_precision_numbers_with_different_bits_have_different_tokens() {
    let bits = [
        // Signalling and quiet NaNs that differ in the quiet bit alone, of both signs.
        0x7f80_0001,
        0x7fc0_0001,
        0xff80_0001,
        0xffc0_0001,
        // Zeros, the smallest subnormal number, one, and the largest number.
        0,
        0x8000_0000,
        1,
        0x3f80_0000,
        0x7f7f_ffff,
    ];
    let digests = bits.map(|bits| hash(Domain::Field, |lanes| lanes.f32(f32::from_bits(bits))));
    for (at, one) in digests.iter().enumerate() {
        assert!(!digests[at + 1..].contains(one), "{:#x}", bits[at]);
    }
    let wide = hash(Domain::Field, |lanes| lanes.f64(1.0));
    let integer = hash(Domain::Field, |lanes| lanes.u64(0x3f80_0000));
    assert!(!digests.contains(&wide) && !digests.contains(&integer));
}
