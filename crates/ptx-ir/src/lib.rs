//! A small reference kernel IR with a PTX emitter.
