// Package jsontext reads and writes the strings of JSON as JavaScript programs do, lone
// surrogates included, takes objects and arrays apart, and names the types of values.
package jsontext
