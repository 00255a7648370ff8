//! Says when two lowerings are the same: domain-separated SHA-256 keys over an injective encoding.
