// Package sentence says what a record, a message or an amount is in one sentence for people.
package sentence
