// Package house has the tests of the repository itself: what imports what, what names and documents say, and which words
// are used. It has no code.
package house
