// Package record is what the journals of a team hold: a Go type for the body of every
// kind of record, the identities of teams, memberships and requests, and what binds an
// answer to exactly what was asked (docs/trust.md). Package journal stores records and
// does not read their bodies; package control folds them.
//
// A body is decoded by the kind of its record:
//
//	case record.KindAsked:
//		asked, err := record.Body[record.Asked](r)
//
// The zero value of a field that a program of before did not write means what that
// program did. Nothing here reads a clock or a file.
package record
