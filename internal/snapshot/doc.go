// Package snapshot writes what a fold holds as bytes and reads them back: the encoding, and
// the fields of what records hold (one function a type, which lists them once and does
// both). The fields of a fold itself are listed by the package that has the fold.
package snapshot
