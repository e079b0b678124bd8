// Package protocol is the protocol of teams of coding agents: the envelope that a
// mailbox stores, the typed payloads that travel in an envelope's text, and the
// rules for reading every dialect of them and writing exactly one.
//
// Two calls carry most programs:
//
//	d := protocol.Decode(env)                       // what does this entry say?
//	text, err := protocol.Encode(payload, protocol.DialectWire)
//
// Decode is tolerant: it knows all spellings that docs/protocol.md lists, says which dialect
// it saw and what it had to guess, keeps what it does not know, and never turns
// a contradictory or malformed decision into an approval. Encode is strict: one
// byte form per dialect.
//
// Around them: ParseEnvelope and Envelope.AppendJSON keep every byte of an entry
// that was not changed, TextForm shows messages to an agent, ParseTeam,
// ParseMember and ParseAddress check names, and Kinds lists what there is.
//
// The package does no I/O, starts no goroutine, and reads no clock, no
// environment and no randomness. Nothing here decides anything: who may send a
// kind is policy's table, what a kind does is control's machine.
package protocol

//go:generate go -C ../internal/repo run ./docgen
//go:generate go -C ../internal/repo run ./conformance/write
