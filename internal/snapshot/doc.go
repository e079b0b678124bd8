// Package snapshot writes what a fold holds as bytes and reads them back, by the types of it. The package that has the fold
// lists the fields of its own types that are not all exported.
package snapshot
